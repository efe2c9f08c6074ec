//===- Recipe.h - The kernel of an operation on a GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recipe says how a kernel that begins with an operation is scheduled, and
// writes what a block of threads does:
//
//   struct MyRecipe : CudaRecipeOpInterface::ExternalModel<MyRecipe, MyOp> {
//     CudaScheduleAttr chooseSchedule(Operation *op) const { ... }
//     Grid getGrid(Operation *op, CudaScheduleAttr schedule) const { ... }
//     void emitGroup(Operation *op, GroupEmitter &emitter) const;
//   };
//   MyOp::attachInterface<MyRecipe>(*context);

#ifndef HOVA_CODEGEN_CUDA_RECIPE_H
#define HOVA_CODEGEN_CUDA_RECIPE_H

#include "codegen/OperandReads.h"
#include "codegen/cuda/HovaCudaDialect.h"
#include "dialect/Interfaces.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/score/VisitedKeys.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"

namespace hova {

class GroupEmitter;
struct GroupPlace;
struct GpuFacts;

/// Blocks of a launch along each axis.
struct Grid {
  int64_t x = 1, y = 1, z = 1;
  /// Where x counts blocks of what all sequences have together, such as rows:
  /// how much that is, and how much of it a block has. Where it is 0, x counts
  /// blocks of one sequence, and z sequences.
  int64_t units = 0, blockUnits = 1;
};

/// How an operation joins a kernel of another one.
struct CudaJoin {
  TileScope scope;
  /// Of what stands in front of operand 0 of the operation that the kernel
  /// begins with: how many columns beside each other have one factor. 0: it
  /// stands after the result.
  int64_t columnsBefore = 0;
  /// Of what has one sum for so many columns beside each other of the tile, and
  /// writes it itself: a block has some sums of each row. 0: it makes a tile.
  int64_t summedColumns = 0;
};

} // namespace hova

#include "codegen/cuda/Recipe.h.inc"

namespace hova {

/// What scales the rows that `product` reads, and may be done by its kernel;
/// null: nothing does.
mlir::Operation *scalingOf(mlir::Operation *product);
/// The operation of a kernel, of these operations in order, whose tile a block
/// computes: the first, or the one that takes factors of it.
mlir::Operation *tileAnchorOf(llvm::ArrayRef<mlir::Operation *> ops);
/// The same of a kernel.
mlir::Operation *tileAnchorOf(KernelOp kernel);

/// The schedule of a kernel that begins with `anchor`, which is element-wise or
/// has a recipe; `joined` are its other operations. Null, with an error on it,
/// where there is no code for it.
CudaScheduleAttr chooseSchedule(mlir::Operation *anchor,
                                llvm::ArrayRef<mlir::Operation *> joined);

/// Whether the warps of a block can have the sums of a product of the extents
/// of its tile, in registers that a thread has: what recipes ask that take
/// other schedules than they choose.
bool canHoldSums(CudaScheduleAttr schedule);

/// Whether each warp has both halves of its columns of such a tile in a tile of
/// its own.
bool canHoldHalves(CudaScheduleAttr schedule);

/// Whether the shared memory of a block can hold so many elements of a type.
bool fitsGroup(const GpuFacts &gpu, int64_t elements, mlir::Type element);

/// Its grid under a schedule.
Grid gridOf(mlir::Operation *anchor, CudaScheduleAttr schedule);

/// A warp for so many columns of each row, or some more.
CudaScheduleAttr scheduleColumns(mlir::Operation *op, int64_t columns);
/// A warp for each row, and blocks of columns where rows are long: for results
/// whose elements are computed one by one.
CudaScheduleAttr scheduleElements(mlir::Operation *op);
/// A warp for each whole row; where rows are longer than what a warp can hold,
/// for blocks of their columns.
CudaScheduleAttr scheduleRows(mlir::Operation *op);
/// A warp for each whole row; where rows are too long, for some whole heads of
/// `width` columns. Null, with an error, where no number of heads is a tile.
CudaScheduleAttr scheduleHeads(mlir::Operation *op, int64_t width);
/// Whether a tile has whole rows of the result.
bool hasWholeRows(mlir::Operation *op, CudaScheduleAttr schedule);
/// Whether blocks of a kernel that begins with `anchor` can have whole rows of
/// its result.
bool canHoldRows(mlir::Operation *anchor);
/// Whether `op` joins a kernel whose tiles hold so much of operand 0, after it.
bool joinsAfter(mlir::Operation *op, TileScope scope);
inline bool joinsRows(mlir::Operation *op) {
  return joinsAfter(op, TileScope::row);
}
inline bool joinsHeads(mlir::Operation *op) {
  return joinsAfter(op, TileScope::head);
}
/// Whether `op` reads the elements of operand 0 at its place, and of the others
/// what it takes from memory itself.
inline bool joinsElements(mlir::Operation *op) {
  return joinsAfter(op, TileScope::element);
}
/// Of an operation that leaves sums of the tile that it joins: of how many
/// columns beside each other; 0: it leaves none.
int64_t summedColumnsOf(mlir::Operation *op);
/// Whether blocks under this schedule have whole sums of so many columns.
bool canHoldSummed(CudaScheduleAttr schedule, int64_t columns);
/// Whether heads with so many columns are boxes; an error on `op` if not.
mlir::LogicalResult checkHeadWidths(mlir::Operation *op,
                                    llvm::ArrayRef<int64_t> widths,
                                    int64_t most);
/// Whether blocks of a kernel that begins with `anchor` have rows of one head
/// of its result, which others may join.
bool holdsHeads(mlir::Operation *anchor);
/// Whether blocks of a kernel that begins with `anchor` can have columns of
/// both halves of its result, in the same places.
bool holdsHalves(mlir::Operation *anchor);
/// Whether so many sequences, and heads, can be axes of a grid.
mlir::LogicalResult checkSequences(mlir::Operation *op, int64_t sequences,
                                   int64_t heads = 1);
/// How a kernel sees a value: a matrix of all axes but the last by the last.
/// Integers of tokens, where items differ in length, are one column, those of
/// all items after each other.
struct MatrixShape {
  int64_t rows, columns;
};
MatrixShape matrixShapeOf(mlir::Value value);
/// Blocks of rows along x, and of columns along y.
Grid gridOfTiles(mlir::Operation *op, CudaScheduleAttr schedule);

/// What recipes share that compute elements one by one; `RecipeT` says how.
template <typename RecipeT, typename OpT>
struct ElementsRecipe : CudaRecipeOpInterface::ExternalModel<RecipeT, OpT> {
  CudaScheduleAttr chooseSchedule(mlir::Operation *op) const {
    return scheduleElements(op);
  }
  Grid getGrid(mlir::Operation *op, CudaScheduleAttr schedule) const {
    return gridOfTiles(op, schedule);
  }
};

/// The same where a block has whole rows of the result, if they are not too
/// long.
template <typename RecipeT, typename OpT>
struct RowsRecipe : ElementsRecipe<RecipeT, OpT> {
  CudaScheduleAttr chooseSchedule(mlir::Operation *op) const {
    return scheduleRows(op);
  }
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPE_H
