//===- SparseAttentionOps.h - Attention to blocks of keys -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_SPARSEATTENTIONOPS_H
#define HOVA_DIALECT_SPARSEATTENTIONOPS_H

#include "dialect/HovaDialect.h"
#include "dialect/ScoreRegion.h"

namespace hova {

/// The blocks of keys that query block `block` of `blocks` sees whatever is
/// drawn, ascending, each once: all, or the global ones and its window.
llvm::SmallVector<int64_t> alwaysSeenBlocks(int64_t block, int64_t blocks);

} // namespace hova

#define GET_OP_CLASSES
#include "dialect/SparseAttentionOps.h.inc"

#endif // HOVA_DIALECT_SPARSEATTENTIONOPS_H
