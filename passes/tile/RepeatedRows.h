//===- RepeatedRows.h - Rows of operands that repeat ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_REPEATEDROWS_H
#define HOVA_PASSES_TILE_REPEATEDROWS_H

#include "passes/tile/Expr.h"

namespace hova {

/// The row of an operand of shape `operand` that row `row` of a result of
/// `shape` meets. Rows are all axes but the last, and the operand repeats along
/// those that it has not, or in which it has one element.
Expr repeatedRow(const Expr &row, llvm::ArrayRef<int64_t> operand,
                 llvm::ArrayRef<int64_t> shape);

} // namespace hova

#endif // HOVA_PASSES_TILE_REPEATEDROWS_H
