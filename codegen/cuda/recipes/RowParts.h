//===- RowParts.h - Rows that are longer than a tile ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A warp has a row, of any length, and reads it as often as it has to, in parts
// of as many columns as its tile has. A row of one part needs no loop.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_ROWPARTS_H
#define HOVA_CODEGEN_CUDA_RECIPES_ROWPARTS_H

#include "codegen/cuda/recipes/GroupEmitter.h"

namespace hova {

class RowParts {
public:
  using Values = KernelBuilder::Values;
  using Body = llvm::function_ref<Values(const GroupPlace &part,
                                         mlir::ValueRange carried)>;

  /// Of the block's rows of the result of `op`.
  RowParts(GroupEmitter &e, mlir::Operation *op);

  /// What `body` makes of the last part, and carries from part to part.
  Values forEach(mlir::ValueRange inits, Body body);
  /// Folds what `partial` makes of all parts, tiles of f32, into a tile of one
  /// column that begins with `start`.
  mlir::Value
  fold(double start, Combine combine,
       llvm::function_ref<mlir::Value(const GroupPlace &part)> partial);

private:
  GroupEmitter &e;
  const GroupPlace place; ///< of the first part
  int64_t columns;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_ROWPARTS_H
