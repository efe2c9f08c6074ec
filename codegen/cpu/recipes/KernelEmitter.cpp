//===- KernelEmitter.cpp - One kernel's function while it is built --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "dialect/Shapes.h"
#include "dialect/ranges/RangeMistakes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/tile/KernelStructure.h"
#include "passes/tile/RepeatedRows.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

int64_t paddedStride(int64_t width, int64_t elementBytes) {
  int64_t line = CpuFacts::lineBytes / elementBytes;
  int64_t stride = llvm::alignTo(width, line);
  return stride * elementBytes % CpuFacts::aliasBytes == 0 ? stride + line
                                                           : stride;
}

/// Elements of a cache line.
static int64_t lineElements(Value matrix) {
  return 8 * CpuFacts::lineBytes /
         cast<MemRefType>(matrix.getType()).getElementTypeBitWidth();
}

KernelEmitter::KernelEmitter(OpBuilder &builder, Location loc,
                             const CpuSchedule &schedule, Value begin,
                             Value end, Value scratch)
    : builder(loc, builder), schedule(schedule), begin(begin, &this->builder),
      end(end, &this->builder), scratch(scratch) {
  if (schedule.division == Division::columnStrips) {
    strips = Strips{this->begin, this->end};
  }
}

Value KernelEmitter::scratchView(int64_t offset, ArrayRef<int64_t> shape,
                                 Type element) {
  auto type = MemRefType::get(shape, element ? element : builder.getF32Type());
  return make<memref::ViewOp>(type, scratch, index(offset), ValueRange());
}

Value ScratchLayout::take(ArrayRef<int64_t> shape, Type element) {
  int64_t elementBytes = element ? element.getIntOrFloatBitWidth() / 8 : 4;
  int64_t offset = bytes, size = staticSize(shape) * elementBytes;
  bytes += llvm::alignTo(size, CpuFacts::lineBytes);
  return emitter && size ? emitter->scratchView(offset, shape, element)
                         : Value();
}

Value KernelEmitter::reinterpret(Value matrix, ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> strides, int64_t offset) {
  auto layout = StridedLayoutAttr::get(builder.getContext(), offset, strides);
  Type element = getElementTypeOrSelf(matrix);
  return make<memref::ReinterpretCastOp>(
      MemRefType::get(shape, element, layout), matrix, offset, shape, strides);
}

Value KernelEmitter::buffer(Value tensor) {
  auto found = buffers.find(tensor);
  if (found != buffers.end()) {
    return found->second;
  }
  auto slice = tensor.getDefiningOp<SliceOp>();
  assert(slice && "a value of the kernel has no buffer");
  Value source = buffer(slice.getX());
  // Subviews stand at the start of the function, where every loop sees them.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(source);
  int64_t rows = cast<MemRefType>(source.getType()).getShape()[0];
  int64_t offset = slice.getOffset();
  Value view = make<memref::SubViewOp>(
      source, ArrayRef<int64_t>{0, offset},
      ArrayRef<int64_t>{rows, shapeOf(tensor).back()}, ArrayRef<int64_t>{1, 1});
  buffers[tensor] = view;
  return view;
}

Value KernelEmitter::rowTable(Value tensor) const {
  auto slice = tensor.getDefiningOp<SliceOp>();
  while (slice && !rowTables.count(tensor) && isKernelView(slice)) {
    tensor = slice.getX();
    slice = tensor.getDefiningOp<SliceOp>();
  }
  return rowTables.lookup(tensor);
}

void KernelEmitter::setRowTable(Value tensor, Value table) {
  rowTables[tensor] = table;
}

Expr KernelEmitter::rowOf(Value tensor, Expr row) {
  Value table = rowTable(tensor);
  return table ? toIndex(load(table, 0, row)) : row;
}

//===----------------------------------------------------------------------===//
// Sequences of a run
//===----------------------------------------------------------------------===//

void KernelEmitter::setSequences(const SequenceRanges &sizes, Value table) {
  ranges = sizes;
  sequences = table;
}

Expr KernelEmitter::loadSequence(Extent tokens, Expr place) {
  return toIndex(load(sequences, 0, place + ranges->placeOfTable(tokens)));
}

RowsOf KernelEmitter::rowsOfItem(Expr item, int64_t tokens, Value value) {
  if (!haveTokenRanges()) {
    return {item * tokens, tokens};
  }
  Extent extent = extentOf(value);
  auto firstOf = [&](const Expr &item) {
    return loadSequence(extent, item + SequenceRanges::kFirstRows);
  };
  Expr first = firstOf(item);
  return {first, firstOf(item + 1) - first};
}

Expr KernelEmitter::countRows(Value value, int64_t rows) {
  Extent extent = extentOf(value);
  if (!ranges || extent == Extent::fixed) {
    return index(rows);
  }
  Expr count =
      loadSequence(extent, extent == Extent::items ? SequenceRanges::kItems
                                                   : SequenceRanges::kRows);
  // Of each item there are as many where items alone are a range.
  return haveTokenRanges() ? count : count * (rows / ranges->items);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void KernelEmitter::beginStage(StageOp op) {
  stage = op.getComputeOps();
  columns = {};
  for (Operation *op : stage) {
    columns.add(op);
  }
  columnGroup = columns.of(stage.front());
  if (haveTokenRanges()) {
    stageExtent = extentOf(stage.front()->getResult(0));
  }
  for (OpResult result : op.getResults()) {
    Value computed = op.getComputed(result.getResultNumber());
    setBuffer(computed, buffer(result));
    if (Value table = rowTable(result)) {
      setRowTable(computed, table);
    }
  }
}

SmallVector<Operation *> KernelEmitter::operations() const {
  return llvm::to_vector(llvm::make_filter_range(stage, [&](Operation *op) {
    return columns.of(op).contains(columnGroup);
  }));
}

TilePlace KernelEmitter::placeOf(Operation *op, TilePlace anchor) const {
  anchor.column = anchor.column - columns.of(op).from;
  return anchor;
}

void computeTiles(OpBuilder &builder, ArrayRef<Operation *> ops, Value tile,
                  llvm::function_ref<Value(Operation *, Value)> load,
                  llvm::function_ref<void(Operation *, Value)> store) {
  DenseMap<Value, Value> tiles;
  for (Operation *op : ops) {
    Value &made = tiles[op->getResult(0)];
    if (op == ops.front() && tile) {
      made = tile;
    } else if (auto slice = dyn_cast<SliceOp>(op);
               slice && tiles.count(slice.getX())) {
      made = tiles.at(slice.getX());
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands()) {
        Value known = tiles.lookup(operand);
        operands.push_back(known ? known : load(op, operand));
      }
      auto tileOp = cast<TileOpInterface>(op);
      if (tileOp.getScope() == TileScope::pair) {
        operands.push_back(
            TileExchangeOp::create(builder, op->getLoc(), operands.front()));
      }
      made = tileOp.emitTile(builder, operands);
    }
    store(op, made);
  }
}

void KernelEmitter::finishAndStoreTile(const TilePlace &place, Expr tile) {
  if (tile) {
    VectorType type = tileType(place.rows, place.lanes);
    tile = tile.in(builder, type).broadcast(type);
  }
  auto load = [&](Operation *op, Value operand) -> Value {
    return loadTile(operand, shapeOf(op->getResult(0)), placeOf(op, place));
  };
  auto store = [&](Operation *op, Value made) {
    Value result = op->getResult(0);
    if (hasBuffer(result)) {
      TilePlace to = placeOf(op, place);
      make<TileStoreOp>(made, buffer(result), to.row, to.column, columnsOf(to),
                        rowTable(result));
    }
  };
  computeTiles(builder, operations(), tile, load, store);
}

void KernelEmitter::copyRow(const MatrixPlace &source, Expr row, int64_t width,
                            Expr column) {
  forEachChunk(width, [&](const Chunk &at) {
    Expr chunk = source.matrix ? load(source.matrix, source.position[0],
                                      at + source.position[1])
                               : splat(0, at.lanes);
    finishAndStoreTile({row, at + column}, chunk);
  });
}

void KernelEmitter::prefetchPlaced(const TilePlace &place) {
  for (Operation *op : operations()) {
    for (Value operand : op->getOperands()) {
      if (op != stage.front() && rowTable(operand)) {
        prefetchTile(operand, placeOf(op, place));
      }
    }
  }
}

void KernelEmitter::prefetchTile(Value tensor, const TilePlace &place) {
  Value matrix = buffer(tensor);
  for (int64_t row = 0; row < place.rows; ++row) {
    Expr sourceRow = rowOf(tensor, place.row + row);
    for (int64_t column = 0; column < place.valid;
         column += lineElements(matrix)) {
      prefetch(matrix, {sourceRow, place.column + column}, CacheLevel::first);
    }
  }
}

Expr KernelEmitter::loadTile(Value tensor, ArrayRef<int64_t> shape,
                             const TilePlace &place) {
  ArrayRef<int64_t> dims = shapeOf(tensor);
  int64_t tableRows = staticSize(dims.drop_back());
  VectorType type = tileType(place.rows, place.lanes);
  if (!dims.empty() && dims.back() == 1 && shape.back() != 1) {
    // One element for all columns of a row.
    SmallVector<int64_t> column(shape);
    column.back() = 1;
    return loadTile(tensor, column, {place.row, 0, place.rows}).broadcast(type);
  }
  if (!dims.empty() && dims.back() != shape.back()) {
    // Its columns repeat, from multiples of the tile's lanes on.
    assert(dims.back() % place.lanes == 0 &&
           "columns of a table do not line up");
    SmallVector<int64_t> period(shape);
    period.back() = dims.back();
    TilePlace within = place;
    within.column = place.column % dims.back();
    return loadTile(tensor, period, within);
  }
  if (tableRows == staticSize(shape.drop_back())) {
    return compute<TileLoadOp>(type, buffer(tensor), place.row, place.column,
                               columnsOf(place), rowTable(tensor));
  }
  // A table with fewer rows repeats: one of its rows, or one row for all (a
  // vector).
  TilePlace only = place;
  if (tableRows != 1 && place.rows != 1) {
    SmallVector<Value> rows;
    only.rows = 1;
    for (int64_t row = 0; row < place.rows; ++row) {
      only.row = place.row + row;
      rows.push_back(loadTile(tensor, shape, only));
    }
    return compute<TileStackOp>(type, rows);
  }
  // Those of a table for tokens stand at positions in an item.
  only.row =
      areTokens(stageExtent) && tableRows == ranges->tokensOf(stageExtent) &&
              tableRows != 1
          ? loadSequence(stageExtent, place.row + ranges->placeOfPositions())
          : repeatedRow(place.row, dims, shape);
  only.rows = 1;
  return load(buffer(tensor), only).broadcast(type);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

VectorType KernelEmitter::vectorType(int64_t lanes) {
  return VectorType::get({lanes}, builder.getF32Type());
}

VectorType KernelEmitter::tileType(int64_t rows, int64_t lanes) {
  return VectorType::get({rows, lanes}, builder.getF32Type());
}

Expr KernelEmitter::iota(int64_t lanes) {
  auto numbers =
      llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(lanes)));
  return compute<arith::ConstantOp>(builder.getI32VectorAttr(numbers));
}

Expr KernelEmitter::laneMask(int64_t lanes, int64_t valid) {
  if (valid >= lanes) {
    return {};
  }
  SmallVector<bool> bits(lanes);
  std::fill_n(bits.begin(), valid, true);
  return compute<arith::ConstantOp>(builder.getBoolVectorAttr(bits));
}

Expr KernelEmitter::widen(Expr value) {
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  if (!element.isBF16() && !element.isF16()) {
    return value;
  }
  Type f32 = builder.getF32Type();
  auto vector = dyn_cast<VectorType>(type);
  return compute<arith::ExtFOp>(vector ? Type(vector.clone(f32)) : f32, value);
}

SmallVector<Value> KernelEmitter::valuesOf(ArrayRef<Expr> place) {
  return llvm::map_to_vector(
      place, [&](const Expr &index) -> Value { return index.in(builder); });
}

IntegerAttr KernelEmitter::columnsOf(const TilePlace &place) {
  return place.valid < place.lanes ? builder.getI64IntegerAttr(place.valid)
                                   : IntegerAttr();
}

Expr KernelEmitter::load(Value matrix, Expr row, Expr column) {
  return widen(compute<memref::LoadOp>(matrix, valuesOf({row, column})));
}

Expr KernelEmitter::load(const MatrixPlace &place, int64_t lanes, Expr mask) {
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(place.matrix));
  SmallVector<Value> at = valuesOf(place.position);
  return mask ? compute<vector::MaskedLoadOp>(type, place.matrix, at, mask,
                                              Expr(0).in(builder, type))
              : compute<vector::LoadOp>(type, place.matrix, at);
}

Expr KernelEmitter::load(Value matrix, const TilePlace &place) {
  return compute<TileLoadOp>(tileType(place.rows, place.lanes), matrix,
                             place.row, place.column, columnsOf(place));
}

void KernelEmitter::store(Expr element, Value matrix, Expr row, Expr column) {
  make<memref::StoreOp>(element.in(builder, getElementTypeOrSelf(matrix)),
                        matrix, valuesOf({row, column}));
}

void KernelEmitter::store(Expr vector, const MatrixPlace &place, int64_t lanes,
                          Expr mask) {
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(place.matrix));
  vector = vector.in(builder, type);
  SmallVector<Value> at = valuesOf(place.position);
  if (mask) {
    make<vector::MaskedStoreOp>(place.matrix, at, mask, vector);
  } else {
    make<vector::StoreOp>(vector, place.matrix, at);
  }
}

void KernelEmitter::store(Expr tile, Value matrix, const TilePlace &place) {
  tile = tile.in(builder, tileType(place.rows, place.lanes));
  make<TileStoreOp>(tile, matrix, place.row, place.column, columnsOf(place));
}

Expr KernelEmitter::multiply(const TilePlace &place, const MatrixPlace &lhs,
                             const MatrixPlace &rhs, Expr depth, Expr init) {
  SmallVector<Value> at = valuesOf(lhs.position);
  return compute<TileProductOp>(
      tileType(place.rows, place.lanes), lhs.matrix, at[0], at[1], rhs.matrix,
      valuesOf(rhs.position), depth, columnsOf(place), init);
}

/// A vector of `lanes` lanes with the same sum, or whatever `kind` says: halves
/// meet each other.
static Expr halveTo(KernelEmitter &e, vector::CombiningKind kind, Expr vector,
                    int64_t lanes) {
  int64_t width = cast<VectorType>(vector.getType()).getNumElements();
  auto half = [&](int64_t from) {
    return e.compute<vector::ExtractStridedSliceOp>(vector, from, width / 2, 1);
  };
  for (; width > lanes; width /= 2) {
    vector = combine(kind, half(0), half(width / 2));
  }
  return vector;
}

/// Across the lanes is added once, at the end: rows of 96 columns wait for such
/// sums longer than for their elements.
Expr KernelEmitter::reduceRow(
    vector::CombiningKind kind, int64_t width,
    llvm::function_ref<Expr(Expr, const Chunk &)> add) {
  double neutral = kind == vector::CombiningKind::ADD
                       ? 0
                       : -std::numeric_limits<double>::infinity();
  int64_t lanes = schedule.lanes, whole = width / lanes * lanes;
  Expr all;
  if (whole) {
    all = fold(
        "columns", 0, whole, lanes, splat(neutral, lanes),
        [&](Expr column, Expr before) { return add(before, {column, lanes}); });
  }
  if (int64_t rest = width - whole) {
    int64_t tail = llvm::PowerOf2Ceil(rest);
    Expr none = splat(neutral, tail);
    Expr last =
        select(laneMask(tail, rest), add(none, {whole, tail, rest}), none);
    all = all ? combine(kind, halveTo(*this, kind, all, tail), last) : last;
  }
  return reduceVector(kind, all);
}

void KernelEmitter::prefetch(Value memref, ArrayRef<Expr> place,
                             CacheLevel level) {
  uint32_t locality = level == CacheLevel::first ? 3 : 2;
  make<memref::PrefetchOp>(memref, valuesOf(place), /*isWrite=*/false, locality,
                           /*isDataCache=*/true);
}

void KernelEmitter::prefetchRow(Value matrix, Expr row, Expr column,
                                int64_t width) {
  forLoop("columns", 0, width, lineElements(matrix),
          [&](Expr offset) { prefetch(matrix, {row, column + offset}); });
}

void KernelEmitter::prefetchLarge(Value tensor, Expr row, Expr column,
                                  int64_t width) {
  Value matrix = buffer(tensor);
  if (bytesOf(cast<MemRefType>(matrix.getType())) > CpuFacts::cachedBytes) {
    prefetchRow(matrix, row, column, width);
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void KernelEmitter::forLoop(StringRef name, Expr from, Expr to, int64_t step,
                            Body body) {
  auto loop = make<scf::ForOp>(from, to, index(step));
  nameLoop(loop, name);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body({loop.getInductionVar(), &builder});
}

Expr KernelEmitter::fold(StringRef name, Expr from, Expr to, int64_t step,
                         Expr start,
                         llvm::function_ref<Expr(Expr, Expr)> body) {
  auto loop =
      make<scf::ForOp>(from, to, index(step), ValueRange{start.in(builder)});
  nameLoop(loop, name);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value next = body({loop.getInductionVar(), &builder},
                    {loop.getRegionIterArg(0), &builder});
  make<scf::YieldOp>(next);
  return {loop.getResult(0), &builder};
}

void KernelEmitter::ifThen(Expr condition, llvm::function_ref<void()> then,
                           llvm::function_ref<void()> otherwise) {
  if (!condition) {
    return then();
  }
  auto branch = make<scf::IfOp>(condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  then();
  if (otherwise) {
    builder.setInsertionPoint(branch.elseYield());
    otherwise();
  }
}

void KernelEmitter::forEachChunk(int64_t width, int64_t lanes, ChunkBody body) {
  int64_t whole = width / lanes * lanes;
  if (whole == lanes) {
    body({index(0), lanes});
  } else if (whole) {
    forLoop("columns", 0, whole, lanes,
            [&](Expr column) { body({column, lanes}); });
  }
  if (int64_t rest = width - whole) {
    body({index(whole), static_cast<int64_t>(llvm::PowerOf2Ceil(rest)), rest});
  }
}

} // namespace hova
