//===- HeadRecipes.cpp - What is done head by head, on a GPU --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;

//===----------------------------------------------------------------------===//
// HeadLogitsOp
//===----------------------------------------------------------------------===//

/// Rows of a head: a tile, or a slot.
struct HeadRows {
  Value tile, slot;
};

/// `relu(H head_weight + shift) . score_weight + score_bias` for rows of one
/// head, as a column: sums of its products with a box of hidden channels after
/// the other. `sums` is the type of one such product.
static Value emitLogits(GroupEmitter &e, HeadLogitsOp op, HeadRows head,
                        Value weights, Value shift, Expr row, bool rowsInside,
                        TileType sums) {
  KernelBuilder &b = e.b;
  int64_t hidden = shapeOf(op.getHeadWeight())[1], width = sums.columns();
  bool columnsInside = hidden % width == 0;
  auto typeOf = [&](int64_t columns) {
    return sums.with({1, columns}, b.f32(), sums.getDistribution());
  };
  Value logits;
  for (int64_t from = 0; from < hidden; from += width) {
    Value products =
        GroupProductOp::create(b, head.tile, weights, b.index(from / width),
                               b.fill(sums, 0), head.slot, false);
    Value loaded = b.load(sums, shift, row, from, rowsInside, columnsInside);
    Value weight = b.load(typeOf(width), e.matrix(op.getScoreWeight()), 0, from,
                          true, columnsInside);
    // Columns after the hidden ones add nothing: they are products with zeros,
    // which are NaN where a head is infinite.
    Value terms =
        b.map(sums, {products, loaded, weight}, [&](Elements x, Expr, Expr j) {
          Expr shifted = x[0] + x[1];
          Expr term = select(shifted < 0, 0, shifted) * x[2];
          return columnsInside ? term : select(j + from < hidden, term, 0);
        });
    Value part = b.reduce(Combine::add, terms, TileDistribution::product);
    logits = logits ? b.combine(Combine::add, logits, part) : part;
  }
  if (!op.getScoreBias()) {
    return logits;
  }
  Value bias = b.load(typeOf(1), e.matrix(op.getScoreBias()), 0, 0, true, true);
  return b.combine(Combine::add, logits, bias);
}

/// Hidden channels of a product.
static int64_t channelsAtOnce(int64_t hidden) {
  return std::min(boxColumns(hidden), kSegment);
}

/// A kernel of its own: for rows of all sequences and one head.
static void emitLogits(GroupEmitter &e, HeadLogitsOp op) {
  KernelBuilder &b = e.b;
  int64_t width = shapeOf(op.getHeadWeight())[0];
  int64_t rows = staticSize(shapeOf(op.getResult()).drop_back());
  int64_t blockLogitRows = e.schedule.getRows(), depth = boxColumns(width);
  bool rowsInside = e.areWhole(rows, blockLogitRows);
  Expr row = e.block(0) * blockLogitRows;
  Value heads =
      e.viewColumns(e.matrix(op.getHeadsIn()), e.block(1) * width, width);
  Value xs = b.slots({1, blockLogitRows, depth}, getElementTypeOrSelf(heads));
  Value x = b.copy(heads, row, 0, xs, 0, rowsInside, width == depth,
                   e.rowMap(op.getHeadsIn()));
  TileType sums =
      e.tile(b.f32(), TileDistribution::product)
          .with({blockLogitRows, channelsAtOnce(e.schedule.getColumns())},
                b.f32(), TileDistribution::product);
  e.bring(op, e.matrix(op.getHeadWeight()), depth, sums.columns());
  KernelBuilder::Values tokens = e.takeTokens();
  tokens.insert(tokens.begin(), x);
  GroupWaitOp::create(b, tokens);
  Value logits = emitLogits(e, op, {xs, b.index(0)}, e.brought(op),
                            e.matrix(op.getShift()), row, rowsInside, sums);
  GroupPlace place = {cast<TileType>(logits.getType()), row, e.block(1),
                      rowsInside, true};
  e.finishAndStore(logits, place);
}

namespace {
struct HeadLogitsRecipe
    : CudaRecipeOpInterface::ExternalModel<HeadLogitsRecipe, HeadLogitsOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto logitsOp = cast<HeadLogitsOp>(op);
    ArrayRef<int64_t> weight = shapeOf(logitsOp.getHeadWeight());
    Type element = getElementTypeOrSelf(logitsOp.getHeadsIn());
    if (failed(checkHeadWidths(op, weight, kMostHeadColumns))) {
      return {};
    }
    if (!getElementTypeOrSelf(logitsOp.getShift()).isF32()) {
      op->emitOpError("has code for a GPU for shifts of f32, got ")
          << getElementTypeOrSelf(logitsOp.getShift());
      return {};
    }
    int64_t columns = boxColumns(weight[1]);
    int64_t elements = (kLogitRows + columns) * boxColumns(weight[0]);
    if (!fitsGroup(gpuOf(op), elements, element)) {
      op->emitOpError("needs ")
          << elements * element.getIntOrFloatBitWidth() / 8
          << " bytes of a GPU's shared memory in " << element
          << ", of which a block has " << gpuOf(op).groupBytes
          << "; give it fewer hidden channels, --dtype=bf16 or a CPU "
             "(--target=cpu)";
      return {};
    }
    return CudaScheduleAttr::get(op->getContext(), kLogitRows, columns, 4, 1, 1,
                                 1);
  }
  bool takesSchedule(Operation *op, CudaScheduleAttr schedule) const {
    auto logitsOp = cast<HeadLogitsOp>(op);
    CudaScheduleAttr chosen = chooseSchedule(op);
    int64_t elements = (schedule.getRows() + schedule.getColumns()) *
                       boxColumns(shapeOf(logitsOp.getHeadWeight())[0]);
    return canHoldSums(schedule) && schedule.getCluster() == 1 &&
           schedule.getColumns() == chosen.getColumns() &&
           schedule.getColumnWarps() == 1 && schedule.getStep() == 1 &&
           schedule.getStages() == 1 &&
           fitsGroup(gpuOf(op), elements,
                     getElementTypeOrSelf(logitsOp.getHeadsIn()));
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    Grid grid = gridOfTiles(op, schedule);
    grid.y = shapeOf(op->getResult(0)).back();
    return grid;
  }
  void emitGroup(Operation *op, GroupEmitter &emitter) const {
    emitLogits(emitter, cast<HeadLogitsOp>(op));
  }
  OperandReads getReads(Operation *, unsigned index) const {
    return index == 0 ? OperandReads::placed : OperandReads::rows;
  }
};

/// By the heads of an attention, whose result stays in registers.
struct HeadLogitsJoin
    : CudaJoinOpInterface::ExternalModel<HeadLogitsJoin, HeadLogitsOp> {
  std::optional<CudaJoin> getJoin(Operation *op) const {
    auto logitsOp = cast<HeadLogitsOp>(op);
    ArrayRef<int64_t> weight = shapeOf(logitsOp.getHeadWeight());
    Type element = getElementTypeOrSelf(logitsOp.getHeadsIn());
    int64_t bytes = boxColumns(weight[0]) * boxColumns(weight[1]) *
                    element.getIntOrFloatBitWidth() / 8;
    bool fits = bytes <= kMostLogitBytes &&
                getElementTypeOrSelf(logitsOp.getShift()).isF32();
    return fits ? std::optional(CudaJoin{TileScope::head}) : std::nullopt;
  }
  void bring(Operation *op, GroupEmitter &e) const {
    auto logitsOp = cast<HeadLogitsOp>(op);
    ArrayRef<int64_t> weight = shapeOf(logitsOp.getHeadWeight());
    e.bring(op, e.matrix(logitsOp.getHeadWeight()), boxColumns(weight[0]),
            channelsAtOnce(weight[1]));
  }
  Value emitOn(Operation *op, GroupEmitter &e, Value rows,
               const GroupPlace &place) const {
    auto logitsOp = cast<HeadLogitsOp>(op);
    KernelBuilder &b = e.b;
    auto type = cast<TileType>(rows.getType());
    Type element = getElementTypeOrSelf(logitsOp.getHeadsIn());
    // What others read of the head is rounded.
    Value head =
        b.map(type.with(type.getShape(), element, type.getDistribution()), rows,
              [](Elements x, Expr, Expr) { return x[0]; });
    bool inside = e.areWhole(shapeOf(logitsOp.getResult())[1], type.rows());
    int64_t channels = channelsAtOnce(shapeOf(logitsOp.getHeadWeight())[1]);
    Value logits = emitLogits(
        e, logitsOp, {head, Value()}, e.brought(op),
        e.sequenceOf(logitsOp.getShift()), place.row, inside,
        type.with({type.rows(), channels}, b.f32(), type.getDistribution()));
    b.store(logits, e.sequenceOf(logitsOp.getResult()), place.row, e.block(1),
            inside, true);
    return {};
  }
};

//===----------------------------------------------------------------------===//
// ScaleHeadsOp
//===----------------------------------------------------------------------===//

struct ScaleHeadsRecipe : RowsRecipe<ScaleHeadsRecipe, ScaleHeadsOp> {
  void emitGroup(Operation *op, GroupEmitter &e) const;
  OperandReads getReads(Operation *, unsigned index) const {
    return index == 0 ? OperandReads::placed : OperandReads::rows;
  }
};

/// In front of a product that reads the scaled heads alone.
struct ScaleHeadsJoin
    : CudaJoinOpInterface::ExternalModel<ScaleHeadsJoin, ScaleHeadsOp> {
  std::optional<CudaJoin> getJoin(Operation *op) const {
    auto scaling = cast<ScaleHeadsOp>(op);
    int64_t width = shapeOf(scaling.getResult()).back() /
                    shapeOf(scaling.getLogits()).back();
    return CudaJoin{TileScope::row, /*columnsBefore=*/width};
  }
  Value emitOn(Operation *op, GroupEmitter &e, Value tile,
               const GroupPlace &place) const;
};

/// The softmax of rows of logits, as far as columns do not matter.
struct RowSoftmax {
  Value powers, most, inverse;
};
} // namespace

/// Of rows of logits from `row` on, `heads` columns of a tile of f32.
static RowSoftmax emitRowSoftmax(KernelBuilder &b, TileType type, Value from,
                                 Expr row, int64_t heads, bool rowsInside) {
  Value logits = b.map(type, b.load(type, from, row, 0, rowsInside, false),
                       [&](Elements x, Expr, Expr j) {
                         return select(j < heads, x[0], -INFINITY);
                       });
  TileDistribution lanes = type.getDistribution();
  Value most = b.reduce(Combine::max, logits, lanes);
  Value powers = b.map(type, {logits, most}, [&](Elements x, Expr, Expr) {
    return b.power(x[0], x[1]);
  });
  Value sum = b.reduce(Combine::add, powers, lanes);
  Value inverse = b.map(sum.getType(), sum,
                        [](Elements x, Expr, Expr) { return 1 / x[0]; });
  return {powers, most, inverse};
}

/// The softmax of a warp's row of logits: each column of the result gathers
/// that of its head, whose exponential it computes itself.
void ScaleHeadsRecipe::emitGroup(Operation *op, GroupEmitter &e) const {
  auto scaling = cast<ScaleHeadsOp>(op);
  KernelBuilder &b = e.b;
  int64_t heads = shapeOf(scaling.getLogits()).back();
  int64_t width = shapeOf(scaling.getResult()).back() / heads;
  GroupEmitter::Place place = e.tilePlace(op);
  TileType row =
      place.type.with({place.type.rows(), int64_t(llvm::alignTo(heads, 64))},
                      b.f32(), TileDistribution::row);
  Value from = e.matrix(scaling.getLogits());
  RowSoftmax softmax =
      emitRowSoftmax(b, row, from, place.row, heads, place.rowsInside);
  Value logits = b.gather(place.type, from, [&](Expr i, Expr j) {
    return std::pair(place.row + i, (place.column + j) / width);
  });
  Value x = e.load(scaling.getHeadsIn(), shapeOf(scaling.getResult()), place);
  Value result = b.map(place.type, {x, logits, softmax.most, softmax.inverse},
                       [&](Elements t, Expr, Expr) {
                         Expr share = b.power(t[1], t[2]) * t[3];
                         return widen(b, t[0]) * share;
                       });
  e.finishAndStore(result, place);
}

/// Warps divide the rows, and write what each head is multiplied with.
Value ScaleHeadsJoin::emitOn(Operation *op, GroupEmitter &e, Value,
                             const GroupPlace &place) const {
  auto scaling = cast<ScaleHeadsOp>(op);
  KernelBuilder &b = e.b;
  ArrayRef<int64_t> shape = shapeOf(scaling.getLogits());
  int64_t rows = e.schedule.getRows(), columns = boxColumns(shape.back());
  auto type = TileType::get(b.getContext(), {rows, columns}, b.f32(),
                            TileDistribution::row, e.schedule.warps(), 1);
  RowSoftmax softmax = emitRowSoftmax(
      b, type, e.matrix(scaling.getLogits()), place.row, shape.back(),
      e.areWhole(staticSize(shape.drop_back()), rows));
  Value shares = b.map(type, {softmax.powers, softmax.inverse},
                       [](Elements x, Expr, Expr) { return x[0] * x[1]; });
  Value slots = b.slots({1, rows, columns}, b.f32());
  GroupShareOp::create(b, shares, slots, b.index(0));
  return slots;
}

//===----------------------------------------------------------------------===//
// NormalizeHeadsOp
//===----------------------------------------------------------------------===//

namespace {
struct NormalizeHeadsRecipe
    : RowsRecipe<NormalizeHeadsRecipe, NormalizeHeadsOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    int64_t heads = cast<NormalizeHeadsOp>(op).getHeads();
    return scheduleHeads(op, shapeOf(op->getResult(0)).back() / heads);
  }
  OperandReads getReads(Operation *, unsigned index) const {
    return index == 0 ? OperandReads::placed : OperandReads::rows;
  }
  void emitGroup(Operation *op, GroupEmitter &e) const;
};
} // namespace

/// A warp has whole rows, or some heads of one. For one head after the other it
/// adds up the squares of the head's columns, and keeps the factor for these.
void NormalizeHeadsRecipe::emitGroup(Operation *op, GroupEmitter &e) const {
  auto norm = cast<NormalizeHeadsOp>(op);
  KernelBuilder &b = e.b;
  int64_t heads = norm.getHeads();
  int64_t width = shapeOf(norm.getResult()).back() / heads;
  GroupEmitter::Place place = e.tilePlace(op);
  bool isWhole = hasWholeRows(op, e.schedule);
  Expr first = isWhole ? Expr(0) : place.column / width;
  heads = isWhole ? heads : place.type.columns() / width;
  auto isOf = [&](Expr j, Expr head) { return j / width == head; };
  Value x =
      b.map(place.type, e.load(norm.getX(), shapeOf(norm.getResult()), place),
            [&](Elements t, Expr, Expr) { return widen(b, t[0]); });
  auto addHead = [&](Expr head, ValueRange before) -> KernelBuilder::Values {
    Value squares = b.map(place.type, x, [&](Elements t, Expr, Expr j) {
      return select(isOf(j, head), t[0] * t[0], 0);
    });
    Value sum = b.reduce(Combine::add, squares, TileDistribution::row);
    KernelBuilder::Values operands{sum};
    if (norm.getGain()) {
      operands.push_back(
          b.load(place.type.with({1, 1}, b.f32(), TileDistribution::row),
                 e.matrix(norm.getGain()), 0, isWhole ? head : first + head,
                 true, isWhole || place.columnsInside));
    }
    Value factor = b.map(sum.getType(), operands, [&](Elements t, Expr, Expr) {
      Expr eps = b.number(norm.getEps().convertToDouble());
      Expr length = b.compute<arith::MaximumFOp>(sqrt(t[0]), eps);
      return (t.size() > 1 ? t[1] : Expr(1)) / length;
    });
    return {
        b.map(place.type, {before[0], factor}, [&](Elements t, Expr, Expr j) {
          return select(isOf(j, head), t[1], t[0]);
        })};
  };
  Value factors = b.loop(heads, b.fill(place.type, 0), addHead)[0];
  Value result = b.map(place.type, {x, factors},
                       [](Elements t, Expr, Expr) { return t[0] * t[1]; });
  e.finishAndStore(result, place);
}

void attachCudaHeadRecipes(MLIRContext &context) {
  HeadLogitsOp::attachInterface<HeadLogitsRecipe, HeadLogitsJoin>(context);
  NormalizeHeadsOp::attachInterface<NormalizeHeadsRecipe>(context);
  ScaleHeadsOp::attachInterface<ScaleHeadsRecipe, ScaleHeadsJoin>(context);
}

} // namespace hova
