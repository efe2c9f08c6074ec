//===- SmallHeads.h - All heads of an attention in one block ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A row of a small head is less than a sector of global memory, and whoever
// reads one head has read its neighbours. So a block has all heads: one copy
// brings whole rows of queries, keys and values, which stand beside each other,
// and heads are taken from them one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_CUDA_RECIPES_SMALLHEADS_H
#define HOVA_CODEGEN_CUDA_RECIPES_SMALLHEADS_H

#include "codegen/cuda/recipes/CudaKernels.h"

namespace hova {

/// Where queries, keys and values of all heads stand in rows of one tensor.
class SmallHeads {
public:
  /// Nothing where a block has one head: heads are no smaller than a sector,
  /// are not from one tensor, or have more rows than one box.
  static std::optional<SmallHeads> find(AttentionOp op);
  /// Brings the rows of the block's sequence.
  HeadBox bring(GroupEmitter &e);

private:
  /// Of columns that are brought, where those of queries, keys and values
  /// begin.
  struct Columns {
    int64_t queries, keys, values;
  };
  SmallHeads(AttentionOp op, mlir::Value tensor, int64_t begin, int64_t end,
             Columns columns)
      : op(op), tensor(tensor), begin(begin), end(end), columns(columns) {}

  AttentionOp op;
  mlir::Value tensor;
  int64_t begin, end; ///< its columns that are brought
  Columns columns;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_SMALLHEADS_H
