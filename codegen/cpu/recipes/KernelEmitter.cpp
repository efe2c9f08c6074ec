//===- KernelEmitter.cpp - One kernel's function while it is built --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "dialect/Shapes.h"
#include "passes/tile/KernelStructure.h"
#include "llvm/Support/MathExtras.h"

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

KernelEmitter::KernelEmitter(OpBuilder &builder, Location loc,
                             const CpuSchedule &schedule, Value begin,
                             Value end, Value scratch)
    : builder(builder), loc(loc), schedule(schedule), begin(begin), end(end),
      scratch(scratch) {}

Value KernelEmitter::scratchView(int64_t offset, ArrayRef<int64_t> shape,
                                 Type element) {
  return make<memref::ViewOp>(MemRefType::get(shape, element), scratch,
                              index(offset), ValueRange());
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
  ArrayRef<int64_t> shape = cast<MemRefType>(source.getType()).getShape();
  int64_t width = shapeOf(tensor).back();
  int64_t offset = slice.getOffset();
  Value view = make<memref::SubViewOp>(source, ArrayRef<int64_t>{0, offset},
                                       ArrayRef<int64_t>{shape[0], width},
                                       ArrayRef<int64_t>{1, 1});
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

Value KernelEmitter::rowOf(Value tensor, Value row) {
  Value table = rowTable(tensor);
  if (!table) {
    return row;
  }
  return make<arith::IndexCastOp>(builder.getIndexType(),
                                  loadScalar(table, index(0), row));
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
  for (OpResult result : op.getResults()) {
    Value computed = op.getComputed(result.getResultNumber());
    setBuffer(computed, buffer(result));
    if (Value table = rowTable(result)) {
      setRowTable(computed, table);
    }
  }
}

void KernelEmitter::finishAndStoreTile(const TilePlace &anchorPlace,
                                       Value tile) {
  DenseMap<Value, Value> tiles;
  for (Operation *op : stage) {
    ColumnRange own = columns.of(op);
    if (!own.contains(columnGroup)) {
      continue;
    }
    TilePlace place = anchorPlace;
    if (own.from) {
      place.column = add(place.column, -own.from);
    }
    Value result = op->getResult(0);
    if (op == stage.front() && tile) {
      tiles[result] = tile;
    } else if (auto slice = dyn_cast<SliceOp>(op);
               slice && tiles.count(slice.getX())) {
      tiles[result] = tiles[slice.getX()];
    } else {
      SmallVector<Value> operands;
      for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i) {
        operands.push_back(operandTile(op, i, place, tiles));
      }
      tiles[result] = cast<TileOpInterface>(op).emitTile(builder, operands);
    }
    if (hasBuffer(result)) {
      IntegerAttr columns;
      if (place.valid < place.lanes) {
        columns = builder.getI64IntegerAttr(place.valid);
      }
      make<TileStoreOp>(tiles[result], buffer(result), place.row, place.column,
                        columns, rowTable(result));
    }
  }
}

void KernelEmitter::prefetchPlaced(const TilePlace &anchorPlace) {
  for (Operation *op : llvm::drop_begin(stage)) {
    ColumnRange own = columns.of(op);
    if (!own.contains(columnGroup)) {
      continue;
    }
    TilePlace place = anchorPlace;
    place.column = add(place.column, -own.from);
    for (Value operand : op->getOperands()) {
      if (rowTable(operand)) {
        prefetchTile(operand, place);
      }
    }
  }
}

void KernelEmitter::prefetchTile(Value tensor, const TilePlace &place) {
  Value matrix = buffer(tensor);
  int64_t line = 8 * CpuFacts::lineBytes /
                 cast<MemRefType>(matrix.getType()).getElementTypeBitWidth();
  for (int64_t row = 0; row < place.rows; ++row) {
    Value own = rowOf(tensor, add(place.row, row));
    for (int64_t column = 0; column < place.valid; column += line) {
      prefetch(matrix, {own, add(place.column, column)}, CacheLevel::first);
    }
  }
}

Value KernelEmitter::operandTile(Operation *op, unsigned index,
                                 const TilePlace &place,
                                 const DenseMap<Value, Value> &tiles) {
  Value operand = op->getOperand(index);
  auto found = tiles.find(operand);
  return found != tiles.end()
             ? found->second
             : loadTile(operand, shapeOf(op->getResult(0)), place);
}

Value KernelEmitter::loadTile(Value tensor, ArrayRef<int64_t> shape,
                              const TilePlace &place) {
  ArrayRef<int64_t> own = shapeOf(tensor);
  int64_t ownRows = staticSize(own.drop_back());
  int64_t rows = staticSize(shape.drop_back());
  auto type = VectorType::get({place.rows, place.lanes}, builder.getF32Type());
  if (!own.empty() && own.back() == 1 && shape.back() != 1) {
    // One element for all columns of a row.
    SmallVector<int64_t> column(shape);
    column.back() = 1;
    Value tile = loadTile(tensor, column, {place.row, index(0), place.rows});
    return make<vector::BroadcastOp>(type, tile);
  }
  IntegerAttr columns;
  if (place.valid < place.lanes) {
    columns = builder.getI64IntegerAttr(place.valid);
  }
  if (ownRows == rows) {
    return make<TileLoadOp>(type, buffer(tensor), place.row, place.column,
                            columns, rowTable(tensor));
  }
  // A table with fewer rows repeats: one row at its remainder, or one row for
  // all (a vector).
  assert((ownRows == 1 || place.rows == 1) && "rows of a table do not line up");
  Value row = ownRows == 1 ? index(0) : rem(place.row, ownRows);
  auto rowType = VectorType::get({1, place.lanes}, builder.getF32Type());
  Value tile =
      make<TileLoadOp>(rowType, buffer(tensor), row, place.column, columns);
  return place.rows == 1 ? tile : make<vector::BroadcastOp>(type, tile);
}

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

Value KernelEmitter::index(int64_t value) {
  return make<arith::ConstantIndexOp>(value);
}

Value KernelEmitter::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value KernelEmitter::mul(Value a, int64_t b) {
  return b == 1 ? a : builder.createOrFold<arith::MulIOp>(loc, a, index(b));
}

Value KernelEmitter::div(Value a, int64_t b) {
  return b == 1 ? a : builder.createOrFold<arith::DivUIOp>(loc, a, index(b));
}

Value KernelEmitter::rem(Value a, int64_t b) {
  return b == 1 ? index(0)
                : builder.createOrFold<arith::RemUIOp>(loc, a, index(b));
}

Value KernelEmitter::scalar(double value) {
  return make<arith::ConstantOp>(builder.getF32FloatAttr(value));
}

Value KernelEmitter::splat(double value, VectorType type) {
  return make<arith::ConstantOp>(DenseElementsAttr::get(
      type, builder.getFloatAttr(type.getElementType(), value)));
}

Value KernelEmitter::splat(Value scalar, int64_t lanes) {
  return make<vector::BroadcastOp>(VectorType::get({lanes}, scalar.getType()),
                                   scalar);
}

VectorType KernelEmitter::vectorType(int64_t lanes) {
  return VectorType::get({lanes}, builder.getF32Type());
}

Value KernelEmitter::laneMask(int64_t lanes, int64_t valid) {
  SmallVector<bool> bits(lanes);
  std::fill_n(bits.begin(), valid, true);
  auto type = VectorType::get({lanes}, builder.getI1Type());
  return make<arith::ConstantOp>(DenseElementsAttr::get(type, bits));
}

Value KernelEmitter::widen(Value value) {
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  if (!element.isBF16() && !element.isF16()) {
    return value;
  }
  Type f32 = builder.getF32Type();
  auto vector = dyn_cast<VectorType>(type);
  return make<arith::ExtFOp>(vector ? Type(vector.clone(f32)) : f32, value);
}

Value KernelEmitter::loadLanes(Value memref, Value row, Value column,
                               int64_t lanes, int64_t valid) {
  auto element = cast<MemRefType>(memref.getType()).getElementType();
  auto type = VectorType::get({lanes}, element);
  if (valid == lanes) {
    return make<vector::LoadOp>(type, memref, ValueRange{row, column});
  }
  Value zero = make<arith::ConstantOp>(builder.getZeroAttr(type));
  return make<vector::MaskedLoadOp>(type, memref, ValueRange{row, column},
                                    laneMask(lanes, valid), zero);
}

Value KernelEmitter::loadRow(Value memref, Value row, Value column,
                             int64_t lanes, int64_t valid) {
  return widen(loadLanes(memref, row, column, lanes, valid));
}

void KernelEmitter::storeRow(Value value, Value memref, Value row, Value column,
                             int64_t valid) {
  int64_t lanes = cast<VectorType>(value.getType()).getNumElements();
  if (valid == lanes) {
    make<vector::StoreOp>(value, memref, ValueRange{row, column});
    return;
  }
  make<vector::MaskedStoreOp>(memref, ValueRange{row, column},
                              laneMask(lanes, valid), value);
}

Value KernelEmitter::asTile(Value value) {
  auto type = cast<VectorType>(value.getType());
  return make<vector::BroadcastOp>(
      VectorType::get({1, type.getNumElements()}, type.getElementType()),
      value);
}

Value KernelEmitter::loadScalar(Value memref, Value row, Value column) {
  return widen(make<memref::LoadOp>(memref, ValueRange{row, column}));
}

void KernelEmitter::prefetch(Value memref, ValueRange place, CacheLevel level) {
  uint32_t locality = level == CacheLevel::first ? 3 : 2;
  make<memref::PrefetchOp>(memref, place, /*isWrite=*/false, locality,
                           /*isDataCache=*/true);
}

void KernelEmitter::prefetchRow(Value matrix, Value row, Value column,
                                int64_t width) {
  auto type = cast<MemRefType>(matrix.getType());
  int64_t line = 8 * CpuFacts::lineBytes / type.getElementTypeBitWidth();
  forLoop("columns", index(0), index(width), line,
          [&](Value offset) { prefetch(matrix, {row, add(column, offset)}); });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void KernelEmitter::forLoop(StringRef name, Value from, Value to, int64_t step,
                            Body body) {
  auto loop = make<scf::ForOp>(from, to, index(step));
  nameLoop(loop, name);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

SmallVector<Value> KernelEmitter::forLoop(StringRef name, Value from, Value to,
                                          int64_t step, ValueRange carried,
                                          CarryBody body) {
  auto loop = make<scf::ForOp>(from, to, index(step), carried);
  nameLoop(loop, name);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  make<scf::YieldOp>(next);
  return SmallVector<Value>(loop.getResults());
}

void KernelEmitter::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto branch = make<scf::IfOp>(condition,
                                /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  body();
}

void KernelEmitter::forEachChunk(
    int64_t width, llvm::function_ref<void(Value, int64_t, int64_t)> body) {
  int64_t lanes = schedule.lanes;
  int64_t whole = width / lanes * lanes;
  if (whole == lanes) {
    body(index(0), lanes, lanes);
  } else if (whole) {
    forLoop("columns", index(0), index(whole), lanes,
            [&](Value column) { body(column, lanes, lanes); });
  }
  if (int64_t rest = width - whole) {
    body(index(whole), llvm::PowerOf2Ceil(rest), rest);
  }
}

} // namespace hova
