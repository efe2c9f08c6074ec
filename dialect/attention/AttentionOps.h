//===- AttentionOps.h - Attention and its reweightings ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_ATTENTION_ATTENTIONOPS_H
#define HOVA_DIALECT_ATTENTION_ATTENTIONOPS_H

#include "dialect/HovaDialect.h"
#include "dialect/score/ScoreRegion.h"
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

/// The blocks of keys that query block `block` of `blocks` sees whatever is
/// drawn, ascending, each once: all, or the global ones and its window.
llvm::SmallVector<int64_t> alwaysSeenBlocks(int64_t block, int64_t blocks);

} // namespace hova

#define GET_OP_CLASSES
#include "dialect/attention/AttentionOps.h.inc"

#endif // HOVA_DIALECT_ATTENTION_ATTENTIONOPS_H
