//===- KernelEmitter.h - One kernel's function while it is built ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel becomes a function over buffers. Each stage has one anchor that owns
// the loop nest: it computes tiles of its result and hands each to
// `finishAndStoreTile`, which applies the stage's element-wise operations to
// the tile and stores what later stages or kernels read. Nothing else writes
// buffers, so an anchor knows nothing about what is fused after it:
//
//   for panel, for rows:                      (LinearRecipe)
//     %t = hova_cpu.tile_product ...
//     finishAndStoreTile(%t): + bias, gelu, + residual tile,
//     hova_cpu.tile_store
//
// A tile is a two-dimensional vector whose first row and column are index
// values. The last columns of a matrix are a tile with `valid` columns fewer
// than lanes, loaded and stored under a mask, so buffers need no padding.

#ifndef HOVA_CODEGEN_CPU_RECIPES_KERNELEMITTER_H
#define HOVA_CODEGEN_CPU_RECIPES_KERNELEMITTER_H

#include "codegen/cpu/CpuSchedule.h"
#include "codegen/cpu/recipes/RowsOf.h"
#include "dialect/Ranges.h"
#include "passes/Columns.h"
#include "passes/PassHeaders.h"
#include "passes/tile/Expr.h"

namespace hova {

/// Columns of a row, of which the first `valid` of all lanes exist.
struct Chunk {
  Expr column;
  int64_t lanes = 1;
  int64_t valid = lanes;

  /// The same, `by` columns further on.
  Chunk operator+(const Expr &by) const { return {column + by, lanes, valid}; }
};

/// Position and size of a tile.
struct TilePlace {
  Expr row, column;
  int64_t rows = 1;
  int64_t lanes = 1;
  int64_t valid = lanes; ///< columns inside the matrix, at most lanes

  TilePlace(Expr row, Expr column, int64_t rows = 1, int64_t lanes = 1)
      : TilePlace(row, rows, {column, lanes}) {}
  TilePlace(Expr row, int64_t rows, const Chunk &chunk)
      : row(row), column(chunk.column), rows(rows), lanes(chunk.lanes),
        valid(chunk.valid) {}
  /// A piece of a row.
  TilePlace(Expr row, const Chunk &chunk) : TilePlace(row, 1, chunk) {}
};

/// An element of a matrix, where something begins.
struct MatrixPlace {
  mlir::Value matrix;
  llvm::SmallVector<Expr, 3> position;
};

/// The tiles that element-wise operations make of each other's, in order. That
/// of the first is `tile`, unless null. `load` brings operands that none of
/// them makes, and `store` takes each result.
void computeTiles(
    mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops,
    mlir::Value tile,
    llvm::function_ref<mlir::Value(mlir::Operation *, mlir::Value)> load,
    llvm::function_ref<void(mlir::Operation *, mlir::Value)> store);

/// Row stride of a value in the arena: whole cache lines, and never a multiple
/// of CpuFacts::aliasBytes.
int64_t paddedStride(int64_t width, int64_t elementBytes);

class KernelEmitter {
public:
  /// `buffers` maps the region's arguments and stored values to memory. What is
  /// written stands before the insertion point of `builder`.
  KernelEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                const CpuSchedule &schedule, mlir::Value begin, mlir::Value end,
                mlir::Value scratch);
  KernelEmitter(const KernelEmitter &) = delete; // expressions refer to it

  mlir::ImplicitLocOpBuilder builder;
  const CpuSchedule schedule;
  /// The units of these loops: `begin` up to before `end`.
  const Expr begin, end;
  /// Memory of the thread for one stage, `memref<bytes x i8>`.
  const mlir::Value scratch;
  Expr unitHeight; ///< rows of the matrix unit's tiles; null: it is not used
  std::optional<Strips> strips; ///< of products, in this call; nothing: all

  //===--------------------------------------------------------------------===//
  // Buffers
  //===--------------------------------------------------------------------===//

  /// A buffer in scratch, `offset` bytes after its start, of f32 by default.
  mlir::Value scratchView(int64_t offset, llvm::ArrayRef<int64_t> shape,
                          mlir::Type element = {});
  /// The elements of a matrix in another shape, or with other strides.
  mlir::Value reinterpret(mlir::Value matrix, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<int64_t> strides, int64_t offset = 0);

  void setBuffer(mlir::Value tensor, mlir::Value memref) {
    buffers[tensor] = memref;
  }
  /// The matrix that holds `tensor`; a subview for column slices.
  mlir::Value buffer(mlir::Value tensor);
  bool hasBuffer(mlir::Value tensor) const { return buffers.count(tensor); }

  /// The rows of `tensor` are in its buffer where `table`, a matrix of one row
  /// of numbers, says.
  void setRowTable(mlir::Value tensor, mlir::Value table);
  /// That table; null where rows are in the kernel's order.
  mlir::Value rowTable(mlir::Value tensor) const;
  /// The row of `tensor`'s buffer that holds row `row` of it.
  Expr rowOf(mlir::Value tensor, Expr row);

  /// Says where the table of a run's sequences is (`hova.sequence_buffer`).
  void setSequences(const SequenceRanges &ranges, mlir::Value table);
  const std::optional<SequenceRanges> &getRanges() const { return ranges; }
  /// Whether items begin at rows, and end, that the table alone knows.
  bool haveTokenRanges() const { return ranges && ranges->haveTokens(); }
  /// Those of an item in a value, and all; `tokens` and `rows` of fixed shapes.
  RowsOf rowsOfItem(Expr item, int64_t tokens, mlir::Value value);
  Expr countRows(mlir::Value value, int64_t rows);

  //===--------------------------------------------------------------------===//
  // Stages
  //===--------------------------------------------------------------------===//

  /// Begins a stage. What it computes for its results goes to their buffers.
  void beginStage(StageOp op);

  /// The anchor's columns, divided where those of an operation begin or end.
  llvm::SmallVector<ColumnRange> columnGroups() const {
    return columns.divide();
  }
  /// The tiles that follow lie in this column group.
  void beginColumnGroup(ColumnRange range) { columnGroup = range; }

  /// Applies the stage's element-wise operations to a tile of the anchor's
  /// result and stores what is read elsewhere. The anchor may be one of the
  /// element-wise operations itself: then `tile` is empty. A vector is a tile
  /// of one row.
  void finishAndStoreTile(const TilePlace &place, Expr tile);

  /// Hands `width` columns of a row to it, at `column` of `row`: those from the
  /// source's place on, or zeros where that has no matrix.
  void copyRow(const MatrixPlace &source, Expr row, int64_t width,
               Expr column = 0);

  /// Prefetches what `finishAndStoreTile` will read there by a table of rows,
  /// as of a residual connection beside windows: an order that none foresees.
  void prefetchPlaced(const TilePlace &place);

  /// A tile of `tensor` for a result of shape `shape`, broadcast as needed.
  Expr loadTile(mlir::Value tensor, llvm::ArrayRef<int64_t> shape,
                const TilePlace &place);

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// An operation where the recipe writes, and the one result of one. Constants
  /// among its arguments are indices, or f32.
  template <typename OpT, typename... Args> OpT make(Args &&...args) {
    return write<OpT>(builder, std::forward<Args>(args)...);
  }
  template <typename OpT, typename... Args> Expr compute(Args &&...args) {
    return hova::compute<OpT>(builder, std::forward<Args>(args)...);
  }
  /// A value to compute with.
  Expr operator()(mlir::Value value) { return {value, &builder}; }

  Expr index(int64_t value) { return Expr(value).in(builder); }
  Expr scalar(double value) { return Expr(value).in(builder); }
  Expr splat(double value, mlir::VectorType type) {
    return Expr(value).in(builder, type);
  }
  Expr splat(double value, int64_t lanes) {
    return splat(value, vectorType(lanes));
  }
  /// A vector of `lanes` f32, and a tile of them.
  mlir::VectorType vectorType(int64_t lanes);
  mlir::VectorType tileType(int64_t rows, int64_t lanes);
  /// 0, 1, .. as i32.
  Expr iota(int64_t lanes);
  /// True for the first `valid` of `lanes` lanes; null for all.
  Expr laneMask(int64_t lanes, int64_t valid);
  /// `value` as f32, if it is of a float type of 16 bits.
  Expr widen(Expr value);

  /// Indices of an operation.
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<Expr> place);
  /// An element, a piece of a row or a tile of a matrix, floats of 16 bits
  /// widened to f32, and 0 in lanes that do not exist.
  Expr load(mlir::Value matrix, Expr row, Expr column);
  Expr load(mlir::Value matrix, Expr row, const Chunk &at) {
    return widen(loadAsStored(matrix, row, at));
  }
  Expr load(mlir::Value matrix, const TilePlace &place);
  Expr loadAsStored(mlir::Value matrix, Expr row, const Chunk &at) {
    return load({matrix, {row, at.column}}, at.lanes,
                laneMask(at.lanes, at.valid));
  }
  void store(Expr element, mlir::Value matrix, Expr row, Expr column);
  void store(Expr vector, mlir::Value matrix, Expr row, const Chunk &at) {
    store(vector, {matrix, {row, at.column}}, at.lanes,
          laneMask(at.lanes, at.valid));
  }
  void store(Expr tile, mlir::Value matrix, const TilePlace &place);
  /// A vector of elements as they are, where the mask says; null: everywhere.
  Expr load(const MatrixPlace &place, int64_t lanes, Expr mask = {});
  void store(Expr vector, const MatrixPlace &place, int64_t lanes,
             Expr mask = {});

  /// `hova_cpu.tile_product` of as many rows and columns as the place has.
  Expr multiply(const TilePlace &place, const MatrixPlace &lhs,
                const MatrixPlace &rhs, Expr depth, Expr init = {});
  /// The sum, or with MAXNUMF the maximum, over `width` columns: what `add`
  /// makes of that of the chunks before and a chunk, across all lanes. Those
  /// that do not exist have no part in it.
  Expr reduceRow(mlir::vector::CombiningKind kind, int64_t width,
                 llvm::function_ref<Expr(Expr sum, const Chunk &at)> add);

  /// Prefetches the cache line of an element. The second level waits for more
  /// lines at a time than the first.
  enum class CacheLevel { first, second };
  void prefetch(mlir::Value memref, llvm::ArrayRef<Expr> place,
                CacheLevel level = CacheLevel::second);
  /// Prefetches the lines of `width` elements of a matrix's row.
  void prefetchRow(mlir::Value matrix, Expr row, Expr column, int64_t width);
  /// The same of a tensor, unless it is so small that the caches keep it.
  void prefetchLarge(mlir::Value tensor, Expr row, Expr column, int64_t width);

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  using Body = llvm::function_ref<void(Expr)>;
  /// `for i = from; i < to; i += step`. Dumps call `i` by `name`: what the loop
  /// runs over.
  void forLoop(llvm::StringRef name, Expr from, Expr to, int64_t step,
               Body body);
  void forLoop(llvm::StringRef name, Expr count, Body body) {
    forLoop(name, 0, count, 1, body);
  }
  /// The same with a value carried: `body` returns the next one.
  Expr fold(llvm::StringRef name, Expr from, Expr to, int64_t step, Expr start,
            llvm::function_ref<Expr(Expr i, Expr before)> body);
  void ifThen(Expr condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = {});
  /// Every row of this call.
  void forEachRow(Body body) { forLoop("rows", begin, end, 1, body); }
  /// Columns `0 .. width` in chunks of the schedule's lanes: a loop over whole
  /// chunks and one body for the rest.
  using ChunkBody = llvm::function_ref<void(const Chunk &)>;
  void forEachChunk(int64_t width, ChunkBody body) {
    forEachChunk(width, schedule.lanes, body);
  }
  void forEachChunk(int64_t width, int64_t lanes, ChunkBody body);

private:
  Expr loadSequence(Extent tokens, Expr place); ///< a number of their table
  void prefetchTile(mlir::Value tensor, const TilePlace &place);
  /// The operations of the stage that have this column group, and their place.
  llvm::SmallVector<mlir::Operation *> operations() const;
  TilePlace placeOf(mlir::Operation *op, TilePlace anchor) const;
  mlir::IntegerAttr columnsOf(const TilePlace &place);

  llvm::DenseMap<mlir::Value, mlir::Value> buffers, rowTables;
  std::optional<SequenceRanges> ranges;
  mlir::Value sequences;              ///< their table
  Extent stageExtent = Extent::fixed; ///< of its rows, with ranges of tokens
  llvm::SmallVector<mlir::Operation *> stage;
  StageColumns columns; ///< of the stage
  ColumnRange columnGroup;
};

/// Buffers in scratch, one after the other at whole cache lines. Without an
/// emitter they are only counted.
class ScratchLayout {
public:
  explicit ScratchLayout(KernelEmitter *emitter = nullptr) : emitter(emitter) {}

  /// A buffer of f32, unless `element` says otherwise; null where it has no
  /// elements or is only counted.
  mlir::Value take(llvm::ArrayRef<int64_t> shape, mlir::Type element = {});
  int64_t getBytes() const { return bytes; }

private:
  KernelEmitter *emitter;
  int64_t bytes = 0;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_KERNELEMITTER_H
