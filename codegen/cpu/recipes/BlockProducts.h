//===- BlockProducts.h - Products by blocks of a matrix unit ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The sums of a matrix unit lie in its own registers and reach the rest of a
// kernel through memory. So a block of them, 32 by 32 at most, goes to a buffer
// that the first-level cache keeps, and what joined the product works on its
// rows while the next block is multiplied:
//
//   for half strip, for block:
//     hova_cpu.block_product sums[turn % 2] = x[block] w[half strip]
//       meanwhile: for the rows of the block before: + bias, gelu, ..., store

#ifndef HOVA_CODEGEN_CPU_RECIPES_BLOCKPRODUCTS_H
#define HOVA_CODEGEN_CPU_RECIPES_BLOCKPRODUCTS_H

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "passes/Verdict.h"

namespace hova {

/// The rows of a tile where `rows` rows, one at least, are cut into blocks of
/// two tiles: as few blocks as tiles of the full height make, and even ones. Of
/// 197 rows these are 14 tiles of 15 rows, where 16 would compute 27 twice.
Expr unitHeightOf(const Expr &rows);

/// Rows that blocks of two tiles cover. Where they do not divide them, the last
/// block begins where it ends with them, and computes rows a second time, but
/// hands none on twice.
struct UnitBlocks {
  UnitBlocks(const Expr &first, const Expr &rows, const Expr &height);

  /// Of a block: its first row, and those that no block before has.
  Expr firstOf(const Expr &block) const;
  Expr skippedOf(const Expr &block) const;

  Expr first, rows;
  Expr height;   ///< of a tile
  Expr rowCount; ///< of a block
  Expr count;
};

/// Whether a product of `depth` by `columns` pays on the unit. It does not ask
/// for rows: a program for any number of them would have other bits than one
/// for few.
Verdict judgeUnitProduct(int64_t depth, int64_t columns);

/// Bytes of scratch that emitUnitProduct uses.
int64_t unitScratchBytes();

/// The product of the columns of `group` by the matrix unit, of `rows` rows
/// from `beginRow` on. Where threads divide columns, they are those of the
/// panels `begin` to `end`.
void emitUnitProduct(KernelEmitter &e, LinearOp op, mlir::Value weight,
                     const ColumnRange &group, Expr beginRow, Expr rows);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_BLOCKPRODUCTS_H
