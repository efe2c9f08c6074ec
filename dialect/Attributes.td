//===- Attributes.td - All attributes of the dialect ----------------------===//
// SPDX-License-Identifier: Apache-2.0
// From which TableGen writes their classes at once.

#ifndef HOVA_DIALECT_ATTRIBUTES
#define HOVA_DIALECT_ATTRIBUTES

include "dialect/HovaDialect.td"
include "dialect/Placement.td"
include "dialect/Similarity.td"
include "dialect/WeightLayout.td"

#endif // HOVA_DIALECT_ATTRIBUTES
