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
int64_t unitHeightOf(int64_t rows);

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

/// Whether a product of `depth` by `columns` pays on the unit; `inner` is what
/// the depth counts. It does not ask for rows: a program for any number of them
/// would have other bits than one for few.
Verdict judgeUnitProduct(int64_t depth, int64_t columns,
                         llvm::StringRef inner = "channels");

/// The same of emitUnitProduct, which fills up what is no whole step.
Verdict judgeUnitLinear(int64_t depth, int64_t columns);

/// As many as `steps` of k, or more, that are whole steps of the unit.
int64_t wholeSteps(int64_t steps);
Expr wholeSteps(const Expr &steps);

/// Bytes of scratch that emitUnitProduct uses.
int64_t unitScratchBytes(LinearOp op);

/// The product of the columns of `group` by the matrix unit, of `rows` rows
/// from `beginRow` on. Where threads divide columns, they are those of the
/// panels `begin` to `end`.
void emitUnitProduct(KernelEmitter &e, LinearOp op, mlir::Value weight,
                     const ColumnRange &group, Expr beginRow, Expr rows);

//===----------------------------------------------------------------------===//
// Sums over tokens
//===----------------------------------------------------------------------===//

// Tokens are the inner dimension where each row is one: then the left operand
// is turned, and the right one has pairs of rows. Up to a whole step the left
// one has the last token again, and the right one zeros: a number that is none
// is in the sum already.

/// `body(pair, low, high)` for every pair of `count` rows: the second of the
/// last one is null where the number is odd, and of pairs that only fill a step
/// both are.
void forEachPair(KernelEmitter &e, Expr count,
                 llvm::function_ref<void(Expr pair, Expr low, Expr high)> body);

/// right[pair][j] = columns j < 32 of the two tokens of a pair, of which the
/// first `valid` exist. `right` is where the first pair goes. The first token
/// of `count` is at `place`; all are of bf16.
void pairTokens(KernelEmitter &e, const MatrixPlace &right,
                const MatrixPlace &place, Expr count, int64_t valid);

/// left[r][token] = column r of a token, r < `width`.
void turnTokens(KernelEmitter &e, mlir::Value left, const MatrixPlace &place,
                Expr count, int64_t width);

//===----------------------------------------------------------------------===//
// Factors of f32
//===----------------------------------------------------------------------===//

/// A factor of f32 is three of bf16, whose sum it is to the last bit: its
/// leading eight digits, the eight after them, and the rest. A factor of bf16
/// is one.
class SplitFactor {
public:
  SplitFactor() = default;
  /// A factor of bf16 that begins at `place`.
  explicit SplitFactor(const MatrixPlace &place) : place(place.position) {
    parts.push_back(place.matrix);
  }
  /// One of f32 in buffers of `layout`, of bf16 or of pairs.
  SplitFactor(ScratchLayout &layout, llvm::ArrayRef<int64_t> shape,
              mlir::Type element);

  /// Rows of a left operand: `vector` of f32 at `row` and `column`.
  void store(KernelEmitter &e, Expr vector, Expr row, Expr column) const;
  /// Those of a right one: pairs of `low` and `high`, of which a null one is
  /// zero.
  void storePairs(KernelEmitter &e, Expr low, Expr high, Expr row,
                  Expr column) const;
  /// The same factor from another row and column on.
  SplitFactor at(Expr row, Expr column) const;

  llvm::SmallVector<mlir::Value, 3> parts; ///< the leading digits first
  llvm::SmallVector<Expr, 3> place = {0, 0};
};

/// A block of 32 columns: the products of parts, the smallest first. Those
/// below the last digit of f32 are left out. With `isAdded`, they are added to
/// what is there.
void multiplySplit(KernelEmitter &e, const MatrixPlace &sums,
                   const SplitFactor &left, const SplitFactor &right, Expr rows,
                   Expr height, Expr depth, bool isAdded = false);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_BLOCKPRODUCTS_H
