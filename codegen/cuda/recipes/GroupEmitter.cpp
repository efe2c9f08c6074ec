//===- GroupEmitter.cpp - One kernel's function while it is built ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/facts/Occupancy.h"
#include "dialect/Interfaces.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/tile/RepeatedRows.h"

using namespace mlir;

namespace hova {

GroupEmitter::GroupEmitter(KernelBuilder &b, CudaScheduleAttr schedule,
                           StageOp stage)
    : b(b), schedule(schedule), stage(stage.getComputeOps()),
      columns(holdsHalves(stage.getAnchor())) {
  for (Operation *op : this->stage) {
    bool hasColumns = !joinsHeads(op) && !summedColumnsOf(op);
    if (hasColumns || op == this->stage.front()) {
      columns.add(op);
    }
  }
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

void GroupEmitter::setMatrix(Value tensor, Value matrix) {
  places[tensor] = matrix;
  if (auto result = dyn_cast<OpResult>(tensor)) {
    if (auto stage = dyn_cast<StageOp>(result.getOwner())) {
      places[stage.getComputed(result.getResultNumber())] = matrix;
    }
  }
}

Value GroupEmitter::matrix(Value tensor) {
  auto found = places.find(tensor);
  if (found != places.end()) {
    return found->second;
  }
  auto slice = tensor.getDefiningOp<SliceOp>();
  assert(slice && isColumnSlice(slice) && "a value of the kernel has no place");
  Value source = matrix(slice.getX());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(source);
  Value part =
      viewColumns(source, int64_t(slice.getOffset()), shapeOf(tensor).back());
  places[tensor] = part;
  return part;
}

KernelBuilder::RowMap GroupEmitter::rowMap(Value tensor) {
  while (Operation *slice = tensor.getDefiningOp()) {
    if (!isColumnSlice(slice)) {
      return {};
    }
    tensor = slice->getOperand(0);
  }
  PlacementAttrInterface placement = placements.lookup(tensor);
  if (!placement) {
    return {};
  }
  return [this, placement](Expr row) {
    return b(placement.emitRow(b, row, b.index(0)));
  };
}

Value GroupEmitter::rowsOfRun(Value matrix, ArrayRef<int64_t> ofEach) {
  const int64_t *rows = llvm::find_if(ofEach, [](int64_t n) { return n != 0; });
  if (rows == ofEach.end()) {
    return matrix;
  }
  // After the coordinates of its block a function takes those of the run.
  unsigned size = matrices + kGridAxes + (rows - ofEach.begin());
  int64_t columns = cast<MemRefType>(matrix.getType()).getDimSize(1);
  return view(matrix, 0, b(b.argument(size)) * *rows, 0, columns);
}

Value GroupEmitter::matrixOfBlocks(Value tensor) {
  Value found = matrix(tensor);
  auto of = found.getDefiningOp<memref::SubViewOp>();
  if (isRagged || !of || of.getSizes().empty()) {
    return found;
  }
  auto rows = of.getSource().getDefiningOp<memref::SubViewOp>();
  if (!rows) {
    return of.getSource(); // all columns
  }
  Value all = rows.getSource();
  return view(all, 0, cast<MemRefType>(all.getType()).getDimSize(0),
              of.getStaticOffset(1), of.getStaticSize(1));
}

Value GroupEmitter::viewColumns(Value matrix, Expr column, int64_t columns) {
  int64_t rows = cast<MemRefType>(matrix.getType()).getDimSize(0);
  if (!ShapedType::isDynamic(rows)) {
    return view(matrix, 0, rows, column, columns);
  }
  // The first rows, as many as the view that it is has.
  auto whole = cast<memref::SubViewOp>(matrix.getDefiningOp());
  return view(matrix, 0, b(whole.getDynamicSize(0)), column, columns);
}

Value GroupEmitter::view(Value matrix, Expr row, Expr rows, Expr column,
                         int64_t columns) {
  OpFoldResult one = b.getIndexAttr(1);
  return memref::SubViewOp::create(
      b, matrix,
      ArrayRef<OpFoldResult>{getAsOpFoldResult(row.in(b)),
                             getAsOpFoldResult(column.in(b))},
      ArrayRef<OpFoldResult>{getAsOpFoldResult(rows.in(b)),
                             b.getIndexAttr(columns)},
      ArrayRef<OpFoldResult>{one, one});
}

ItemRows GroupEmitter::rowsIn(Value tensor) {
  Extent extent = haveTokenRanges() ? extentOf(tensor) : Extent::fixed;
  if (areTokens(extent)) {
    return rowsOfSequence(extent);
  }
  int64_t rows = staticSize(shapeOf(tensor).drop_front().drop_back());
  return {block(2) * rows, rows};
}

Value GroupEmitter::sequenceOf(Value tensor) {
  ItemRows rows = rowsIn(tensor);
  return view(matrix(tensor), rows.first, rows.count, 0,
              matrixShapeOf(tensor).columns);
}

Value GroupEmitter::headOf(Value tensor, int64_t heads, int64_t group) {
  int64_t width = shapeOf(tensor)[2] / heads;
  ItemRows rows = rowsIn(tensor);
  return view(matrix(tensor), rows.first, rows.count, head() / group * width,
              width);
}

//===----------------------------------------------------------------------===//
// Sequences of a run
//===----------------------------------------------------------------------===//

void GroupEmitter::setSequences(const SequenceRanges &sizes, Value table) {
  ranges = sizes;
  sequences = table;
  stageExtent = extentOf(stage.front()->getResult(0));
}

Expr GroupEmitter::wordOf(Extent tokens, Expr at) {
  Expr place = at + ranges->placeOfTable(tokens);
  return toIndex(b.compute<memref::LoadOp>(
      sequences, ValueRange{b.index(0), place.in(b)}));
}

ItemRows GroupEmitter::rowsOfSequence(Extent tokens) {
  auto [known, isNew] = sequenceRows.try_emplace(tokens);
  if (isNew) {
    // Once, before all that asks.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(sequences.getParentBlock());
    Expr place = block(2) + SequenceRanges::kFirstRows;
    Expr first = wordOf(tokens, place);
    known->second = {first, wordOf(tokens, place + 1) - first};
  }
  return known->second;
}

Expr GroupEmitter::tokensOf(Extent tokens, Expr item) {
  return wordOf(tokens, item + (SequenceRanges::kFirstRows + 1)) -
         wordOf(tokens, item + SequenceRanges::kFirstRows);
}

Value GroupEmitter::wordTile(Extent tokens, const Place &place, int64_t word) {
  TileType column = place.type.with({place.type.rows(), 1}, b.getI32Type(),
                                    place.type.getDistribution());
  word += ranges->placeOfTable(tokens);
  // Nothing beyond the table, where no row of a run is.
  return b.gather(column, sequences, [&](Expr i, Expr) {
    return std::pair(b.index(0), place.row + i + word);
  });
}

GroupEmitter::ItemTiles GroupEmitter::itemTiles(Extent tokens,
                                                const Place &place) {
  Value first = wordTile(tokens, place, SequenceRanges::kFirstRows);
  Value next = wordTile(tokens, place, SequenceRanges::kFirstRows + 1);
  Value count =
      b.map(first.getType(), {next, first},
            [](KernelBuilder::Elements x, Expr, Expr) { return x[0] - x[1]; });
  Expr longest = 0;
  for (int64_t i = 0; i < place.type.rows(); ++i) {
    Expr count = tokensOf(tokens, min(place.row + i, ranges->items - 1));
    longest = i == 0 ? count : max(longest, count);
  }
  return {first, count, longest};
}

Value GroupEmitter::positionTile(const Place &place) {
  return wordTile(stageExtent, place, ranges->placeOfPositions());
}

Expr widen(KernelBuilder &b, Expr element) {
  return element.getType().getIntOrFloatBitWidth() < 32
             ? b.compute<arith::ExtFOp>(b.f32(), element)
             : element;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

TileType GroupEmitter::tile(Type element, TileDistribution lanes) {
  return TileType::get(
      b.getContext(), {schedule.getRows(), schedule.getColumns()}, element,
      lanes, schedule.getRowWarps(), schedule.getColumnWarps());
}

GroupEmitter::Place GroupEmitter::tilePlace(Operation *op) {
  auto [rows, columns] = matrixShapeOf(op->getResult(0));
  return {tile(b.f32(), TileDistribution::row), block(0) * schedule.getRows(),
          block(1) * schedule.getColumns(), areWhole(rows, schedule.getRows()),
          columns % schedule.getColumns() == 0};
}

Value GroupEmitter::load(Value tensor, ArrayRef<int64_t> shape,
                         const Place &place) {
  if (Value room = ahead.lookup(tensor)) {
    TileType tile = place.type.with(
        place.type.getShape(), cast<SlotsType>(room.getType()).getElementType(),
        place.type.getDistribution());
    return b.gatherOfBox(tile, room, /*slot=*/{},
                         [](Expr i, Expr j) { return std::pair(i, j); });
  }
  Value from = matrix(tensor);
  auto type = cast<MemRefType>(from.getType());
  int64_t rows = staticSize(shape.drop_back()), heldRows = type.getDimSize(0);
  if (ShapedType::isDynamic(heldRows)) {
    heldRows = staticSize(shapeOf(tensor).drop_back());
  }
  bool oneColumn = type.getDimSize(1) == 1 && shape.back() != 1;
  bool oneRow = heldRows == 1 && rows != 1;
  TileType tile = place.type.with(
      {oneRow ? 1 : place.type.rows(), oneColumn ? 1 : place.type.columns()},
      type.getElementType(), place.type.getDistribution());
  KernelBuilder::RowMap sourceRow = rowMap(tensor);
  bool isByPosition = haveTokenRanges() && !oneRow && heldRows != rows &&
                      heldRows == ranges->tokensOf(stageExtent);
  if (!sourceRow && !oneRow && heldRows != rows) {
    // A table with fewer rows repeats.
    sourceRow = [held = shapeOf(tensor), shape](Expr row) {
      return repeatedRow(row, held, shape);
    };
  }
  int64_t period = shapeOf(tensor).empty() ? 1 : shapeOf(tensor).back();
  bool repeats = !oneColumn && period != shape.back();
  Expr first = oneColumn ? Expr(0) : place.column;
  if (repeats && period % tile.columns() == 0) {
    // The tile lies within one period.
    first = first % period;
    repeats = false;
  }
  if (isByPosition) {
    return b.gather(tile, from, positionTile(place),
                    [&](KernelBuilder::Elements position, Expr, Expr j) {
                      Expr column = oneColumn ? first : first + j;
                      return std::pair(toIndex(position[0]),
                                       repeats ? column % period : column);
                    });
  }
  if (sourceRow || repeats) {
    return b.gather(tile, from, [&](Expr i, Expr j) {
      Expr row = oneRow ? Expr(0) : place.row + i;
      Expr column = oneColumn ? first : first + j;
      return std::pair(sourceRow ? sourceRow(row) : row,
                       repeats ? column % period : column);
    });
  }
  return b.load(tile, from, oneRow ? Expr(0) : place.row, first,
                oneRow || place.rowsInside, oneColumn || place.columnsInside);
}

bool GroupEmitter::isAtPlace(Value tensor, ArrayRef<int64_t> shape) {
  auto type = dyn_cast<MemRefType>(matrix(tensor).getType());
  return type && isa<FloatType>(type.getElementType()) && !rowMap(tensor) &&
         type.getDimSize(1) == shape.back() &&
         type.getDimSize(0) == staticSize(shape.drop_back()) &&
         shapeOf(tensor).back() == shape.back();
}

void GroupEmitter::bringAhead(const Place &place, int64_t ringBytes) {
  if (columns.parts().size() != 1) {
    return; // Of halves each has a place of its own.
  }
  Value result = stage.front()->getResult(0);
  auto [rows, allColumns] = matrixShapeOf(result);
  const GpuFacts &gpu = gpuOf(stage.front());
  int64_t blocks = llvm::divideCeil(rows, place.type.rows()) *
                   llvm::divideCeil(allColumns, place.type.columns());
  int64_t wanted =
      std::min<int64_t>(llvm::divideCeil(blocks, gpu.processors.back()),
                        blocksByGroupMemory(gpu, ringBytes));
  for (Operation *op : llvm::drop_begin(stage)) {
    auto tileOp = dyn_cast<TileOpInterface>(op);
    if (!tileOp || joinsRows(op) || joinsElements(op) ||
        tileOp.getScope() != TileScope::element ||
        place.type.columns() % (kSegment / 2) != 0 ||
        !(columns.of(op) == columns.of(stage.front()))) {
      continue;
    }
    for (Value operand : op->getOperands()) {
      ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
      if (llvm::is_contained(stage, operand.getDefiningOp()) ||
          ahead.count(operand) || !isAtPlace(operand, shape)) {
        continue;
      }
      Type element = getElementTypeOrSelf(operand);
      int64_t bytes = place.type.rows() * place.type.columns() *
                      element.getIntOrFloatBitWidth() / 8;
      if (blocksByGroupMemory(gpu, ringBytes + bytes) < wanted) {
        continue;
      }
      ringBytes += bytes;
      // The narrowest boxes, of which any tile has whole ones.
      constexpr int64_t kColumns = kSegment / 2;
      int64_t boxes = place.type.columns() / kColumns;
      Value room = b.slots({boxes, place.type.rows(), kColumns}, element);
      for (int64_t box = 0; box < boxes; ++box) {
        tokens.push_back(b.copy(matrix(operand), place.row,
                                place.column + box * kColumns, room, box,
                                place.rowsInside, place.columnsInside));
      }
      ahead[operand] = room;
    }
  }
}

/// What an element-wise operation makes of one element of each operand: it
/// writes itself on tiles, and here a tile is that element.
static Expr emitElement(KernelBuilder &b, TileOpInterface op,
                        KernelBuilder::Elements elements) {
  Type tile = VectorType::get({1, 1}, b.f32());
  KernelBuilder::Values tiles;
  for (Expr element : elements) {
    tiles.push_back(widen(b, element).broadcast(tile));
  }
  return b.compute<vector::ExtractOp>(op.emitTile(b, tiles),
                                      ArrayRef<int64_t>{0, 0});
}

Value GroupEmitter::compute(Operation *op, const Place &place,
                            const Tiles &tiles) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value tile = tiles.lookup(operand);
    operands.push_back(tile ? tile
                            : load(operand, shapeOf(op->getResult(0)), place));
  }
  if (cast<TileOpInterface>(op).getScope() == TileScope::pair) {
    Value wide = b.map(
        place.type, operands.front(),
        [&](KernelBuilder::Elements x, Expr, Expr) { return widen(b, x[0]); });
    operands.push_back(b.exchange(wide));
  }
  return b.map(place.type, operands,
               [&](KernelBuilder::Elements x, Expr, Expr) {
                 return emitElement(b, cast<TileOpInterface>(op), x);
               });
}

Value GroupEmitter::compute(Operation *op, const Place &place) {
  return compute(op, place, Tiles());
}

void GroupEmitter::store(Value tile, Value tensor, const Place &place,
                         const ColumnRange &range, const ColumnRange &part) {
  Value to = matrix(tensor);
  Expr column = place.column;
  ColumnRange common = range.cut(part);
  if (!(common == range)) {
    // Beyond a half there are columns of the other one, which has its own tile.
    to = viewColumns(to, common.from - range.from, common.width());
    column = column - (common.from - range.from);
  }
  b.storeRounded(tile, to, place.row, column, place.rowsInside,
                 place.columnsInside);
}

SmallVector<GroupPlace> GroupEmitter::heldPlaces(const Place &place) {
  SmallVector<ColumnRange> parts = columns.parts();
  if (parts.size() == 1) {
    return {place};
  }
  SmallVector<Place> held;
  int64_t width = schedule.getColumns() / 2;
  for (const ColumnRange &part : parts) {
    Place half = place;
    half.type = place.type.with({schedule.getRows(), width}, b.f32(),
                                place.type.getDistribution());
    half.column = block(1) * width + part.from;
    half.columnsInside = part.width() % width == 0;
    held.push_back(half);
  }
  return held;
}

KernelBuilder::RowMap GroupEmitter::columnMap() {
  SmallVector<ColumnRange> parts = columns.parts();
  if (parts.size() == 1) {
    return {};
  }
  int64_t ofWarp = schedule.getColumns() / schedule.getColumnWarps();
  int64_t ofHalf = ofWarp / 2, start = parts[1].from;
  return [=](Expr column) {
    return column / ofWarp * ofHalf + column % ofHalf +
           column / ofHalf % 2 * start;
  };
}

void GroupEmitter::bring(Operation *op, Value matrix, int64_t rows,
                         int64_t columns) {
  auto type = cast<MemRefType>(matrix.getType());
  int64_t width = type.getDimSize(1), boxes = llvm::divideCeil(width, columns);
  Value room = b.slots({boxes, rows, columns}, type.getElementType());
  for (int64_t box = 0; box < boxes; ++box) {
    tokens.push_back(b.copy(matrix, 0, box * columns, room, box,
                            type.getDimSize(0) == rows, width % columns == 0));
  }
  slots[op] = room;
}

KernelBuilder::Values GroupEmitter::bringForHeads() {
  for (Operation *op : llvm::drop_begin(stage)) {
    cast<CudaJoinOpInterface>(op).bring(*this);
  }
  return takeTokens();
}

void GroupEmitter::finishHead(Value tile, Expr row) {
  GroupPlace place = {cast<TileType>(tile.getType()), row.in(b), 0};
  for (Operation *op : llvm::drop_begin(stage)) {
    b.setLoc(op->getLoc());
    cast<CudaJoinOpInterface>(op).emitOn(*this, tile, place);
  }
}

void GroupEmitter::finishAndStore(ValueRange held,
                                  ArrayRef<Place> anchorPlaces) {
  SmallVector<ColumnRange> parts = columns.parts();
  SmallVector<Tiles> tiles(parts.size());
  ColumnRange whole = columns.of(stage.front());
  for (Operation *op : stage) {
    b.setLoc(op->getLoc());
    if (summedColumnsOf(op)) {
      assert(parts.size() == 1 && "halves of rows have no sums");
      cast<CudaJoinOpInterface>(op).emitOn(
          *this, tiles[0].lookup(op->getOperand(0)), anchorPlaces[0]);
      continue;
    }
    ColumnRange range = columns.of(op);
    for (auto [number, part] : llvm::enumerate(parts)) {
      if (range.cut(part).width() <= 0) {
        continue;
      }
      Place place = anchorPlaces[number];
      if (!(range == whole)) {
        place.column = place.column - range.from;
        place.columnsInside &= range.contains(part);
      }
      Tiles &made = tiles[number];
      Value result = op->getResult(0);
      auto slice = dyn_cast<SliceOp>(op);
      if (op == stage.front()) {
        made[result] = held[number];
      } else if (slice && made.count(slice.getX())) {
        made[result] = made.lookup(slice.getX());
      } else if (joinsRows(op) || joinsElements(op)) {
        made[result] = cast<CudaJoinOpInterface>(op).emitOn(
            *this, made.lookup(op->getOperand(0)), place);
      } else {
        // What is read of another half stands at the same place of its tile.
        Tiles known = made;
        for (const Tiles &other : tiles) {
          known.insert(other.begin(), other.end());
        }
        made[result] = compute(op, place, known);
      }
      if (places.count(result)) {
        store(made[result], result, place, range, part);
      }
    }
  }
}

} // namespace hova
