//===- GroupEmitter.h - One kernel's function while it is built -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a block of threads computes, in operations of a group. The anchor's
// recipe makes a tile of its result; what joined the kernel is applied to that
// tile, element by element, and what others read is stored.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_GROUPEMITTER_H
#define HOVA_CODEGEN_CUDA_RECIPES_GROUPEMITTER_H

#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/recipes/KernelBuilder.h"
#include "dialect/Ranges.h"
#include "dialect/program/ProgramOps.h"
#include "passes/Columns.h"

namespace hova {

/// Where a tile stands in the anchor's result, seen as a matrix of all axes but
/// the last by the last. What is inside needs no checks.
struct GroupPlace {
  TileType type; ///< of f32
  Expr row, column;
  bool rowsInside = false, columnsInside = false;
};

/// Rows of an item, of which another number of tokens may be in each run.
struct ItemRows {
  Expr first, count;
};

class GroupEmitter {
public:
  using Place = GroupPlace;

  GroupEmitter(KernelBuilder &b, CudaScheduleAttr schedule, StageOp stage);

  KernelBuilder &b;
  const CudaScheduleAttr schedule;

  /// Says where a value of the kernel lies; what is computed has the memory of
  /// the stage's result.
  void setMatrix(mlir::Value tensor, mlir::Value matrix);
  /// The matrix of a value, or of columns of one.
  mlir::Value matrix(mlir::Value tensor);
  /// Says that an argument of the kernel is what a permutation of rows makes of
  /// its matrix.
  void setPlacement(mlir::Value tensor, PlacementAttrInterface placement) {
    placements[tensor] = placement;
  }
  /// Which row of its matrix stands in the place of a row of a value; null if
  /// it is the same.
  KernelBuilder::RowMap rowMap(mlir::Value tensor);
  /// The coordinate of the block along an axis of the grid.
  Expr block(unsigned axis) { return b(b.argument(matrices + axis)); }
  void setMatrices(int64_t count) { matrices = count; }
  /// Says that a run may have fewer rows than shapes say, and end within a
  /// block: matrices that have rows of a run are `rowsOfRun` then.
  void setRagged() { isRagged = true; }
  /// The first rows of a matrix, so many for each of what a run has, in the
  /// order of `CudaRunAttr::getRowsOf`; all of it where there are none.
  mlir::Value rowsOfRun(mlir::Value matrix, llvm::ArrayRef<int64_t> ofEach);
  /// The matrix of a value that blocks read by their rows: its type says how
  /// many there are, unless a run may end within a block.
  mlir::Value matrixOfBlocks(mlir::Value tensor);
  /// Says where the table of a run's sequences is (`hova.sequence_buffer`): the
  /// program is for items that differ in length.
  void setSequences(const SequenceRanges &sizes, mlir::Value table);
  /// Whether items begin at rows, and end, that the table alone knows.
  bool haveTokenRanges() const { return ranges.has_value(); }
  /// Of the block's item (z), as the table of these tokens has them.
  ItemRows rowsOfSequence(Extent tokens);
  /// How many tokens the table of these has for an item.
  Expr tokensOf(Extent tokens, Expr item);
  /// What the table of these tokens says of the item of each row of tiles at
  /// `place`, as columns of integers, and the most tokens of one of them.
  struct ItemTiles {
    mlir::Value first, count;
    Expr longest;
  };
  ItemTiles itemTiles(Extent tokens, const Place &place);
  /// The position of each row of tiles at `place` in its item, from the table.
  mlir::Value positionTile(const Place &place);
  /// Where a matrix of integers, [items, tokens] by its shape, has that of row
  /// `row` of what is computed of tokens.
  KernelBuilder::Cell cellOfToken(Expr row, int64_t tokens) const {
    return haveTokenRanges() ? KernelBuilder::Cell{row, 0}
                             : KernelBuilder::Cell{row / tokens, row % tokens};
  }
  /// Whether rows of the kernel's result, `rows` by their shape, are whole
  /// blocks of `blockRows` in every run.
  bool areWhole(int64_t rows, int64_t blockRows) const {
    return !isRagged && rows % blockRows == 0;
  }
  /// The head that is written: the block's (y), unless the block has several
  /// and writes one after the other.
  Expr head() { return chosenHead ? chosenHead : block(1); }
  void setHead(Expr head) { chosenHead = head.in(b); }

  /// Rows from `row` on and columns from `column` on.
  mlir::Value view(mlir::Value matrix, Expr row, Expr rows, Expr column,
                   int64_t columns);
  /// Columns of all rows.
  mlir::Value viewColumns(mlir::Value matrix, Expr column, int64_t columns);

  /// Rows of the block's sequence (z), the entry of the first axis, with all
  /// columns; where items differ in length, integers of tokens are rows.
  mlir::Value sequenceOf(mlir::Value tensor);
  /// The same rows, and columns of the head that is read of `heads`; `group`
  /// heads of queries share one.
  mlir::Value headOf(mlir::Value tensor, int64_t heads, int64_t group = 1);

  /// A tile of the schedule's extents.
  TileType tile(mlir::Type element, TileDistribution lanes);
  /// That of block (x, y) of the result of `op`, for kernels of rows.
  Place tilePlace(mlir::Operation *op);

  /// The elements of `tensor` that an element-wise operation with a result of
  /// `shape` needs at `place`: a tile of its element type, with one row or
  /// column where the tensor has one for all.
  mlir::Value load(mlir::Value tensor, llvm::ArrayRef<int64_t> shape,
                   const Place &place);
  /// The tile of an element-wise operation, all of whose operands lie in
  /// memory.
  mlir::Value compute(mlir::Operation *op, const Place &place);
  /// What a tile of the schedule's extents at `place` holds: the columns there,
  /// or, where operations read columns of both halves of the anchor's result,
  /// as many of each half. Then every warp has those of both in its columns,
  /// those of the first half first (`KernelBuilder::half`).
  llvm::SmallVector<Place> heldPlaces(const Place &place);
  /// Which column of the anchor's result stands in the place of one of such
  /// tiles, null if it is the same.
  KernelBuilder::RowMap columnMap();
  /// Applies what joined the kernel to tiles (f32) of the anchor's result, one
  /// for each of its `heldPlaces`, and stores what is read elsewhere.
  void finishAndStore(mlir::ValueRange held, llvm::ArrayRef<Place> places);
  /// Begins to copy, before a product whose slots take `ringBytes`, the tiles
  /// that operations behind it read at its place: those for which no
  /// multiprocessor holds fewer blocks of the launch.
  void bringAhead(const Place &place, int64_t ringBytes);
  /// Begins what they copy; the anchor awaits the tokens with its own copies.
  KernelBuilder::Values bringForHeads();
  /// Of an operation that joined: begins to copy all of a matrix, in boxes of
  /// these extents beside each other, to slots.
  void bring(mlir::Operation *op, mlir::Value matrix, int64_t rows,
             int64_t columns);
  /// The copies that were begun so.
  KernelBuilder::Values takeTokens() { return std::move(tokens); }
  /// The slots with what was brought for it.
  mlir::Value brought(mlir::Operation *op) { return slots.lookup(op); }
  /// Applies what joined by heads to rows of a head, of f32, from `row` of the
  /// block's sequence on.
  void finishHead(mlir::Value tile, Expr row);

private:
  using Tiles = llvm::DenseMap<mlir::Value, mlir::Value>;
  mlir::Value compute(mlir::Operation *op, const Place &place,
                      const Tiles &tiles);
  /// Stores columns of `part` alone, of a value with those of `range`.
  void store(mlir::Value tile, mlir::Value tensor, const Place &place,
             const ColumnRange &range, const ColumnRange &part);
  /// The rows of a value that the block's sequence has.
  ItemRows rowsIn(mlir::Value tensor);
  /// Whether a tile of such an operand has the rows and columns of its place.
  bool isAtPlace(mlir::Value tensor, llvm::ArrayRef<int64_t> shape);
  /// A word of the table of these tokens.
  Expr wordOf(Extent tokens, Expr at);
  /// Words of that table, for each row of tiles at `place`: from `word` on.
  mlir::Value wordTile(Extent tokens, const Place &place, int64_t word);

  llvm::SmallVector<mlir::Operation *> stage;
  StageColumns columns;
  llvm::DenseMap<mlir::Value, mlir::Value> places;
  llvm::DenseMap<mlir::Value, PlacementAttrInterface> placements;
  int64_t matrices = 0;
  bool isRagged = false;
  std::optional<SequenceRanges> ranges; ///< with tokens
  mlir::Value sequences;
  llvm::SmallDenseMap<Extent, ItemRows, 2> sequenceRows; ///< of the block
  Extent stageExtent = Extent::fixed; ///< of its rows, with ranges of tokens
  Expr chosenHead;
  llvm::DenseMap<mlir::Operation *, mlir::Value> slots;
  llvm::DenseMap<mlir::Value, mlir::Value> ahead; ///< slots of operands
  KernelBuilder::Values tokens;
};

/// `element` widened to f32.
Expr widen(KernelBuilder &b, Expr element);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_GROUPEMITTER_H
