//===- LinearRecipe.cpp - Loops of matrix products ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Weight panels are the outer loop, K blocks the next, row blocks the
// innermost: a K block of a panel is read from memory once and stays in the
// caches for all rows of the thread. Sums over several K blocks wait in
// scratch, `rows x panel` of them; the last K block hands the tile on.
//
//   for panel:
//     for K block:
//       for rows:
//         %sum = hova_cpu.tile_product x[rows, block], w[panel, block]
//             from %partial prefetch(the K block that follows)
//
// While the rows work on one K block they prefetch the next, which lies after
// it in memory, a few lines with each step. The processor's own prefetcher does
// not see so far: with weights from memory and 98 rows on a Xeon this is the
// difference between 130 and 200 GFLOP/s of 218.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/TokenLanes.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "passes/tile/KernelStructure.h"
#include "llvm/Support/MathExtras.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace hova {

/// The interleave factor: rows of a weight in one row of its panels, two where
/// it is packed in pairs.
static int64_t interleaveOf(Value packed) {
  auto type = cast<MemRefType>(packed.getType());
  return type.getElementType().isInteger() ? 2 : 1;
}

/// Tiles of the first `valid` columns of a panel: a loop over whole register
/// tiles, then narrower ones. `body(column in the panel, lanes, valid lanes)`.
static void
forEachTile(KernelEmitter &e, int64_t valid,
            llvm::function_ref<void(Value, int64_t, int64_t)> body) {
  int64_t lanes = e.schedule.tileColumns;
  int64_t whole = valid / lanes * lanes;
  if (whole > lanes) {
    e.forLoop("columns", e.index(0), e.index(whole), lanes,
              [&](Value column) { body(column, lanes, lanes); });
  } else if (whole) {
    body(e.index(0), lanes, lanes);
  }
  for (int64_t column = whole; column < valid; column += lanes) {
    lanes = tileLanes(e.schedule, valid - column);
    body(e.index(column), lanes, std::min(lanes, valid - column));
  }
}

//===----------------------------------------------------------------------===//
// Linear layers
//===----------------------------------------------------------------------===//

namespace {
/// How the inner dimension of a product is divided, into K blocks or reduction
/// splits: even chunks of whole cache lines.
struct Chunks {
  Chunks(int64_t depth, int64_t most) {
    count = llvm::divideCeil(depth, most);
    size =
        llvm::alignTo(llvm::divideCeil(depth, count), CpuFacts::lineElements);
    count = llvm::divideCeil(depth, size);
    last = depth - (count - 1) * size;
  }
  int64_t count, size, last;
};
} // namespace

/// The rows of one call at most, whose sums wait for the next K block: where
/// threads divide the columns, a call has all rows.
static int64_t partialRows(LinearOp op, const CpuSchedule &schedule) {
  return schedule.division == Division::rows
             ? schedule.block
             : staticSize(shapeOf(op.getResult()).drop_back());
}

/// Bytes of these sums.
static int64_t partialBytes(LinearOp op, const CpuSchedule &schedule) {
  int64_t depth = shapeOf(op.getX()).back();
  return Chunks(depth, schedule.kBlock).count > 1
             ? 4 * partialRows(op, schedule) * columnStripOf(op).value_or(0)
             : 0;
}

namespace {
/// One register tile of a K block.
struct ProductTile {
  VectorType type;
  Value row, from;                ///< where it begins in x
  Value panel, panelRow, inPanel; ///< where it begins in the weight
  Value prefetchOffset, prefetchStep;
  int64_t prefetchMost;
};

class LinearLoops {
public:
  LinearLoops(KernelEmitter &emitter, LinearOp op, Value weight)
      : e(emitter), b(emitter.builder), loc(emitter.loc), op(op),
        weight(weight), x(e.buffer(op.getX())), shape(shapeOf(op.getResult())),
        panelColumns(cast<MemRefType>(weight.getType()).getShape()[2]),
        interleave(interleaveOf(weight)), depth(shapeOf(op.getX()).back()),
        kBlocks(depth, e.schedule.kBlock),
        rows(staticSize(shape.drop_back()), e.schedule),
        dividesRows(e.schedule.division == Division::rows),
        beginRow(dividesRows ? e.begin : e.index(0)),
        endRow(dividesRows ? e.end : e.index(staticSize(shape.drop_back()))) {}

  void emit();

private:
  void emitColumnGroup(const ColumnRange &group);
  void emitPanel(Value panel, Value column, int64_t valid);
  void clearPartials(int64_t valid);
  void emitKBlock(Value panel, Value column, int64_t valid, Value from,
                  int64_t size, bool isLast);
  void prefetchNext(const RowBlock &block, TilePlace place);
  Value sumProducts(const ProductTile &tile, int64_t size);
  Value multiply(const ProductTile &tile, Value step, int64_t size);
  int64_t panelRows(int64_t steps) {
    return llvm::divideCeil(steps, interleave);
  }

  KernelEmitter &e;
  OpBuilder &b;
  Location loc;
  LinearOp op;
  Value weight, x;
  ArrayRef<int64_t> shape;
  int64_t panelColumns, interleave, depth;
  Chunks kBlocks;
  RowBlockSizes rows;
  bool dividesRows; ///< or panels
  Value beginRow, endRow;
  Value partials; ///< rows of this call x panelColumns, null with one K block
  Value sums;     ///< a register tile, null where sums are short
};
} // namespace

void LinearLoops::emit() {
  if (kBlocks.count > 1) {
    partials = e.scratchView(0, {partialRows(op, e.schedule), panelColumns},
                             b.getF32Type());
  }
  if (depth > e.schedule.reductionSplit) {
    sums = e.scratchView(partialBytes(op, e.schedule),
                         {e.schedule.tileRows, e.schedule.tileColumns},
                         b.getF32Type());
  }
  for (const ColumnRange &group : e.columnGroups()) {
    e.beginColumnGroup(group);
    emitColumnGroup(group);
  }
}

/// The panels of a column group; only the last of all may be narrower.
void LinearLoops::emitColumnGroup(const ColumnRange &group) {
  int64_t begin = group.from / panelColumns, whole = group.to / panelColumns;
  Value first = e.index(begin), last = e.index(whole);
  if (!dividesRows) {
    first = begin ? e.make<arith::MaxUIOp>(e.begin, first) : e.begin;
    last = e.make<arith::MinUIOp>(e.end, last);
  }
  if (whole > begin) {
    e.forLoop("panels", first, last, 1, [&](Value panel) {
      emitPanel(panel, e.mul(panel, panelColumns), panelColumns);
    });
  }
  int64_t rest = group.to % panelColumns;
  auto emitRest = [&] {
    emitPanel(e.index(whole), e.index(whole * panelColumns), rest);
  };
  if (rest && dividesRows) {
    emitRest();
  } else if (rest) {
    // The last panel belongs to the thread whose chunk ends after it.
    e.forLoop("panels", e.index(whole), e.end, 1, [&](Value) { emitRest(); });
  }
}

void LinearLoops::emitPanel(Value panel, Value column, int64_t valid) {
  int64_t before = depth - kBlocks.last;
  if (partials) {
    clearPartials(valid);
    e.forLoop("depth", e.index(0), e.index(before), kBlocks.size, [&](Value k) {
      emitKBlock(panel, column, valid, k, kBlocks.size, /*isLast=*/false);
    });
  }
  emitKBlock(panel, column, valid, e.index(before), kBlocks.last,
             /*isLast=*/true);
}

void LinearLoops::clearPartials(int64_t valid) {
  Value count = e.make<arith::SubIOp>(endRow, beginRow);
  e.forLoop("rows", e.index(0), count, 1, [&](Value row) {
    forEachTile(e, valid, [&](Value column, int64_t lanes, int64_t) {
      e.storeRow(e.splat(0, lanes), partials, row, column, lanes);
    });
  });
}

void LinearLoops::emitKBlock(Value panel, Value column, int64_t valid,
                             Value from, int64_t size, bool isLast) {
  // What follows in memory, as far as the matrix goes.
  int64_t elements = cast<MemRefType>(weight.getType()).getNumElements();
  int64_t most =
      elements - panelRows(std::min(kBlocks.size, depth)) * panelColumns;
  Value row = e.div(from, interleave), following = e.add(row, panelRows(size));
  Value next =
      e.mul(e.add(e.mul(panel, panelRows(depth)), following), panelColumns);
  next = e.make<arith::MinUIOp>(next, e.index(most));
  int64_t tiles = llvm::divideCeil(valid, e.schedule.tileColumns);
  int64_t prefetchMost = llvm::divideCeil(panelColumns, rows.fewest * tiles);
  forEachRowBlock(
      e, "rows", beginRow, endRow, rows.heights, [&](const RowBlock &block) {
        // Every tile prefetches its share of the next K block, evenly over its
        // steps.
        Value turns = e.mul(block.count, tiles);
        Value step =
            e.make<arith::DivUIOp>(e.add(turns, panelColumns - 1), turns);
        forEachTile(
            e, valid, [&](Value inPanel, int64_t lanes, int64_t inside) {
              TilePlace place{block.row, e.add(column, inPanel), block.height,
                              lanes, inside};
              Value turn = e.add(e.mul(block.number, tiles),
                                 e.div(inPanel, e.schedule.tileColumns));
              Value prefetchOffset = e.add(
                  next,
                  e.make<arith::MulIOp>(e.mul(turn, panelRows(size)), step));
              auto type =
                  VectorType::get({block.height, lanes}, b.getF32Type());
              if (isLast) {
                prefetchNext(block, place);
              }
              Value tile =
                  sumProducts({type, block.row, from, panel, row, inPanel,
                               prefetchOffset, step, prefetchMost},
                              size);
              Value partialRow;
              if (partials) {
                partialRow = e.make<arith::SubIOp>(block.row, beginRow);
                tile = e.make<arith::AddFOp>(
                    tile, e.make<TileLoadOp>(type, partials, partialRow,
                                             inPanel, IntegerAttr()));
              }
              if (!isLast) {
                e.make<TileStoreOp>(tile, partials, partialRow, inPanel,
                                    IntegerAttr());
                return;
              }
              if (op.getBias()) {
                tile = e.make<arith::AddFOp>(
                    tile, e.loadTile(op.getBias(), shape, place));
              }
              e.finishAndStoreTile(place, tile);
            });
      });
}

/// In a Swin-T block of width 96 tiles waited a third of their time for rows of
/// the residual connection, which lie where windows were taken from.
void LinearLoops::prefetchNext(const RowBlock &block, TilePlace place) {
  Value next = e.add(block.row, block.height);
  Value last = e.add(endRow, -block.height);
  place.row = e.make<arith::MinUIOp>(next, last);
  e.prefetchPlaced(place);
}

/// `size` steps of the inner dimension, in order; or in splits of at most
/// `reduction_split` steps whose sums are added up.
Value LinearLoops::sumProducts(const ProductTile &tile, int64_t size) {
  Chunks splits(size, e.schedule.reductionSplit);
  Value zero = e.index(0);
  auto addSplits = [&](Value step, int64_t size) -> Value {
    Value sum = multiply(tile, step, size);
    return e.make<arith::AddFOp>(
        sum, e.make<TileLoadOp>(tile.type, sums, zero, zero, IntegerAttr()));
  };
  auto store = [&](Value sum) {
    e.make<TileStoreOp>(sum, sums, zero, zero, IntegerAttr());
  };
  Value first = multiply(tile, zero, splits.count > 1 ? splits.size : size);
  if (splits.count == 1) {
    return first;
  }
  store(first);
  int64_t before = size - splits.last;
  if (splits.count > 2) {
    e.forLoop("depth", e.index(splits.size), e.index(before), splits.size,
              [&](Value step) { store(addSplits(step, splits.size)); });
  }
  return addSplits(e.index(before), splits.last);
}

/// Steps `step` to `step + size` of a tile.
Value LinearLoops::multiply(const ProductTile &tile, Value step, int64_t size) {
  Value row = e.div(step, interleave);
  Value prefetchOffset =
      e.add(tile.prefetchOffset,
            b.createOrFold<arith::MulIOp>(loc, row, tile.prefetchStep));
  return e.make<TileProductOp>(
      tile.type, x, tile.row, e.add(tile.from, step), weight,
      ValueRange{tile.panel, e.add(tile.panelRow, row), tile.inPanel},
      e.index(size), prefetchOffset, tile.prefetchStep, /*init=*/Value(),
      b.getI64IntegerAttr(tile.prefetchMost), IntegerAttr());
}

static int64_t scratchBytes(LinearOp op, const CpuSchedule &schedule) {
  int64_t depth = shapeOf(op.getX()).back();
  return partialBytes(op, schedule) +
         (depth > schedule.reductionSplit
              ? 4 * schedule.tileRows * schedule.tileColumns
              : 0);
}

static LogicalResult emit(KernelEmitter &e, LinearOp op) {
  Value weight = packedWeight(e, op, op.getWeight());
  if (!weight) {
    return failure();
  }
  LinearLoops(e, op, weight).emit();
  return success();
}

/// A tile has channels of the result as rows: the weight, read transposed, is
/// the left operand, and the tokens are the panel.
static void emitLanes(TokenLanes &lanes, LinearOp op) {
  KernelEmitter &e = lanes.e;
  Type f32 = e.builder.getF32Type();
  int64_t depth = shapeOf(op.getX()).back();
  int64_t columns = shapeOf(op.getResult()).back();
  bool isTransposed = op.getTransposed();
  SmallVector<int64_t> strides = {isTransposed ? depth : 1,
                                  isTransposed ? 1 : columns};
  auto type = MemRefType::get(
      {columns, depth}, f32,
      StridedLayoutAttr::get(e.builder.getContext(), 0, strides));
  Value weight = e.make<memref::ReinterpretCastOp>(
      type, e.buffer(op.getWeight()), 0, ArrayRef<int64_t>{columns, depth},
      strides);
  Value zero = e.index(0), x = lanes.matrix(op.getX());
  lanes.forEachTile(columns, [&](Value channel, int64_t rows) {
    Value tile = e.make<TileProductOp>(
        VectorType::get({rows, lanes.lanes}, f32), weight, channel, zero, x,
        ValueRange{zero, zero}, e.index(depth));
    if (op.getBias()) {
      tile =
          e.make<arith::AddFOp>(tile, lanes.load(op.getBias(), channel, rows));
    }
    lanes.finishAndStore(channel, rows, tile);
  });
}

namespace {
struct LinearRecipe : CpuRecipe<LinearRecipe, LinearOp, emit, scratchBytes> {
  bool keepsTokensInLanes(Operation *) const { return true; }
  void emitTokenLanes(Operation *op, TokenLanes &lanes) const {
    emitLanes(lanes, cast<LinearOp>(op));
  }
  bool readsPanels(Operation *, unsigned index) const { return index == 1; }
  bool hasRowTiles(Operation *) const { return false; }
};
} // namespace

void attachLinearRecipe(MLIRContext &context) {
  LinearOp::attachInterface<LinearRecipe>(context);
}

} // namespace hova
