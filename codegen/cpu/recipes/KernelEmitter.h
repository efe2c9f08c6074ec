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
#include "passes/Columns.h"
#include "passes/Passes.h"

namespace hova {

/// Position and size of a tile.
struct TilePlace {
  mlir::Value row;
  mlir::Value column;
  int64_t rows = 1;
  int64_t lanes = 1;
  int64_t valid = 1; ///< columns inside the matrix, at most lanes
};

/// Row stride of a value in the arena: whole cache lines, and never a multiple
/// of CpuFacts::aliasBytes.
int64_t paddedStride(int64_t width, int64_t elementBytes);

class KernelEmitter {
public:
  /// `buffers` maps the region's arguments and stored values to memory.
  KernelEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                const CpuSchedule &schedule, mlir::Value begin, mlir::Value end,
                mlir::Value scratch);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const CpuSchedule schedule;
  /// The units of these loops: `begin` up to before `end`.
  const mlir::Value begin, end;
  /// Memory of the thread, `memref<bytes x i8>`; contents do not outlive a
  /// stage.
  const mlir::Value scratch;

  /// A buffer in scratch, `offset` bytes after its start.
  mlir::Value scratchView(int64_t offset, llvm::ArrayRef<int64_t> shape,
                          mlir::Type element);

  void setBuffer(mlir::Value tensor, mlir::Value memref) {
    buffers[tensor] = memref;
  }
  /// The matrix that holds `tensor`; a subview for column slices.
  mlir::Value buffer(mlir::Value tensor);
  bool hasBuffer(mlir::Value tensor) const { return buffers.count(tensor); }

  /// The rows of `tensor` are in its buffer where `table`, a matrix of one row
  /// of numbers, says.
  void setRowTable(mlir::Value tensor, mlir::Value table) {
    rowTables[tensor] = table;
  }
  /// That table; null where rows are in the kernel's order.
  mlir::Value rowTable(mlir::Value tensor) const;
  /// The row of `tensor`'s buffer that holds row `row` of it.
  mlir::Value rowOf(mlir::Value tensor, mlir::Value row);

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
  /// element-wise operations itself: then `tile` is empty.
  void finishAndStoreTile(const TilePlace &place, mlir::Value tile);

  /// Prefetches what `finishAndStoreTile` will read there by a table of rows,
  /// as a residual connection beside windows does: an order that the processor
  /// does not foresee.
  void prefetchPlaced(const TilePlace &place);

  /// A tile of `tensor` for a result of shape `shape`, broadcast as needed.
  mlir::Value loadTile(mlir::Value tensor, llvm::ArrayRef<int64_t> shape,
                       const TilePlace &place);

  /// An operation at the builder's place.
  template <typename OpT, typename... Args> OpT make(Args &&...args) {
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }

  // Small builders; constants and index arithmetic fold.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, index(b)); }
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value scalar(double value);
  mlir::Value splat(double value, mlir::VectorType type);
  mlir::Value splat(double value, int64_t lanes) {
    return splat(value, vectorType(lanes));
  }
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  /// A vector of `lanes` f32.
  mlir::VectorType vectorType(int64_t lanes);
  /// True for the first `valid` of `lanes` lanes.
  mlir::Value laneMask(int64_t lanes, int64_t valid);
  /// `value` as f32, if it is of a float type of 16 bits.
  mlir::Value widen(mlir::Value value);
  /// Loads `valid` of `lanes` elements of row `row`, zero after.
  mlir::Value loadLanes(mlir::Value memref, mlir::Value row, mlir::Value column,
                        int64_t lanes, int64_t valid);
  /// The same, floats of 16 bits widened to f32.
  mlir::Value loadRow(mlir::Value memref, mlir::Value row, mlir::Value column,
                      int64_t lanes, int64_t valid);
  void storeRow(mlir::Value vector, mlir::Value memref, mlir::Value row,
                mlir::Value column, int64_t valid);
  /// A row vector as a tile of one row.
  mlir::Value asTile(mlir::Value vector);
  /// One element of a matrix.
  mlir::Value loadScalar(mlir::Value memref, mlir::Value row,
                         mlir::Value column);
  mlir::Value loadScalar(mlir::Value memref, mlir::Value row, int64_t column) {
    return loadScalar(memref, row, index(column));
  }

  /// Prefetches the cache line of an element. The second level waits for more
  /// lines at a time than the first.
  enum class CacheLevel { first, second };
  void prefetch(mlir::Value memref, mlir::ValueRange place,
                CacheLevel level = CacheLevel::second);
  /// Prefetches the lines of `width` elements of a matrix's row.
  void prefetchRow(mlir::Value matrix, mlir::Value row, mlir::Value column,
                   int64_t width);

  using Body = llvm::function_ref<void(mlir::Value)>;
  /// `for i = from; i < to; i += step`. Dumps call `i` by `name`: what the loop
  /// runs over.
  void forLoop(llvm::StringRef name, mlir::Value from, mlir::Value to,
               int64_t step, Body body);
  /// The same with vectors carried: `body` returns the next ones.
  using CarryBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> forLoop(llvm::StringRef name, mlir::Value from,
                                         mlir::Value to, int64_t step,
                                         mlir::ValueRange carried,
                                         CarryBody body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  /// Every row of this call.
  void forEachRow(Body body) { forLoop("rows", begin, end, 1, body); }
  /// Columns `0 .. width` in chunks of the schedule's lanes: a loop over whole
  /// chunks and one body for the rest. `body(column, lanes, valid)`.
  void
  forEachChunk(int64_t width,
               llvm::function_ref<void(mlir::Value, int64_t, int64_t)> body);

private:
  void prefetchTile(mlir::Value tensor, const TilePlace &place);
  mlir::Value
  operandTile(mlir::Operation *op, unsigned index, const TilePlace &place,
              const llvm::DenseMap<mlir::Value, mlir::Value> &tiles);

  llvm::DenseMap<mlir::Value, mlir::Value> buffers, rowTables;
  llvm::SmallVector<mlir::Operation *> stage;
  StageColumns columns; ///< of the stage
  ColumnRange columnGroup;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_KERNELEMITTER_H
