//===- RowBlocks.h - Rows in even blocks of a register tile's height ------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_ROWBLOCKS_H
#define HOVA_CODEGEN_CPU_RECIPES_ROWBLOCKS_H

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/score/VisitedKeys.h"

namespace hova {

/// One of the even blocks that a range of rows is divided into.
struct RowBlock {
  Expr row;
  int64_t height = 1;
  Expr number; ///< 0 .. count
  Expr count;
};

/// Even blocks of at most `schedule.tileRows` rows from `from` up to `to`, with
/// one body per height. `heights` are those that can occur.
void forEachRowBlock(KernelEmitter &e, llvm::StringRef name, Expr from, Expr to,
                     llvm::ArrayRef<int64_t> heights,
                     llvm::function_ref<void(const RowBlock &)> body);

/// The same where any number of rows may come, in blocks of `most` at most,
/// with one body for each of a few heights: blocks overlap where rows are no
/// multiple of theirs, so that a body may compute a row twice.
void forEachOverlappingBlock(KernelEmitter &e, llvm::StringRef name, Expr from,
                             Expr to, int64_t most,
                             llvm::function_ref<void(const RowBlock &)> body);

/// The heights of these, ascending, and the one that `rows` rows have.
llvm::SmallVector<int64_t> overlappingHeights(int64_t most);
int64_t overlappingHeight(int64_t rows, int64_t most);

/// The same from row 0 up to `rows`, of at most `most` rows each: `body(first
/// row, height)`, with one loop per height, of which there are two at most.
void forEachEvenBlock(KernelEmitter &e, llvm::StringRef name, int64_t rows,
                      int64_t most,
                      llvm::function_ref<void(Expr, int64_t)> body);

/// The row blocks that `rows` rows in even `shares` are cut into, of at most
/// `most` rows: those of forEachRowBlock.
llvm::SmallVector<RowSpan> rowBlocksOf(int64_t rows, int64_t shares,
                                       int64_t most);

/// The heights that occur among them, ascending.
llvm::SmallVector<int64_t> heightsOf(llvm::ArrayRef<RowSpan> blocks);

/// The row blocks that can occur when threads, whatever their number, divide
/// `rows`, if that is what they divide, and each passes `schedule.block` of its
/// rows at most through all stages.
struct RowBlockSizes {
  /// Those of a kernel with `rows` rows, or at most so many in a program with
  /// ranges: what recipes ask for.
  RowBlockSizes(const KernelEmitter &e, int64_t rows);
  /// `ofAnyNumber`: of all numbers of rows up to `rows`.
  RowBlockSizes(int64_t rows, const CpuSchedule &schedule,
                bool ofAnyNumber = false);
  llvm::SmallVector<int64_t> heights; ///< ascending
  int64_t fewest;                     ///< blocks of one call at least
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ROWBLOCKS_H
