//===- PlacementOps.h - Rearranged rows, and what windows need ------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_PLACEMENT_PLACEMENTOPS_H
#define HOVA_DIALECT_PLACEMENT_PLACEMENTOPS_H

#include "dialect/HovaDialect.h"

#define GET_OP_CLASSES
#include "dialect/placement/PlacementOps.h.inc"

#endif // HOVA_DIALECT_PLACEMENT_PLACEMENTOPS_H
