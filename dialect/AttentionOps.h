//===- AttentionOps.h - Attention and its reweightings
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_ATTENTIONOPS_H
#define HOVA_DIALECT_ATTENTIONOPS_H

#include "dialect/HovaDialect.h"
#include "dialect/ScoreRegion.h"
#include "mlir/IR/OpImplementation.h"

namespace hova {

/// Reports shapes [batch, tokens, width] that do not hold `heads` of queries
/// and `keyHeads` of keys and values: these divide those and the widths, and
/// heads of query and key share their width.
llvm::LogicalResult verifySharedHeads(mlir::Operation *op, int64_t heads,
                                      int64_t keyHeads,
                                      llvm::ArrayRef<int64_t> query,
                                      llvm::ArrayRef<int64_t> key,
                                      llvm::ArrayRef<int64_t> value);

} // namespace hova

#define GET_OP_CLASSES
#include "dialect/AttentionOps.h.inc"

#endif // HOVA_DIALECT_ATTENTIONOPS_H
