//===- Similarity.h - What makes raw scores of queries and keys -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// hova.attention has a similarity, an attribute. Those of hova are in
// Similarity.td; a plugin defines its own with the same interface.

#ifndef HOVA_DIALECT_SIMILARITY_H
#define HOVA_DIALECT_SIMILARITY_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "dialect/SimilarityInterface.h.inc"

#endif // HOVA_DIALECT_SIMILARITY_H
