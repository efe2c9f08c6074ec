//===- CudaRecipe.cpp - The kernel of sigmoid attention on a GPU ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A block of threads has rows of queries of one head of one sequence, as hova's
// own attention does: blocks of queries along x, heads along y, sequences along
// z. It takes a box of keys and one of values in each turn, while those of the
// next turn are on their way. Since no weight waits for a maximum, a turn adds
// to two tiles and scales none: the sums of the weights and the result.

#include "SigmoidAttention.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Similarity.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hova;

namespace {
class Writer {
public:
  Writer(GroupEmitter &e, sigattn::AttentionOp op);
  void emit();

private:
  using Values = KernelBuilder::Values;
  using Elements = KernelBuilder::Elements;
  TileType tile(int64_t columns, Type element,
                TileDistribution distribution = TileDistribution::product) {
    return TileType::get(b.getContext(), {chosen.getRows(), columns}, element,
                         distribution, chosen.getRowWarps(), 1);
  }
  /// The first key of a turn; what is after the last turn is nobody's.
  Expr firstKey(Expr turn) { return min(turn, turns - 1) * chosen.getStep(); }
  /// Begins to bring the keys and the values of a turn.
  Values copy(Expr turn, Expr slot);
  Value weigh(Value scores, Expr first);
  Values take(Expr turn, ValueRange carried);
  Value divide(Value sums, Value result);

  GroupEmitter &e;
  KernelBuilder &b;
  CudaScheduleAttr chosen;
  sigattn::AttentionOp op;
  HeadMatrices head;
  int64_t keys, turns;
  bool keysInside, valuesInside;
  Type element;
  std::unique_ptr<Similarity> similarity;
  Value values; ///< two slots
};
} // namespace

Writer::Writer(GroupEmitter &e, sigattn::AttentionOp op)
    : e(e), b(e.b), chosen(e.schedule), op(op),
      head{e.headOf(op.getQuery(), op.getHeads()),
           e.headOf(op.getKey(), op.getHeads()),
           e.headOf(op.getValue(), op.getHeads())},
      keys(shapeOf(op.getKey())[1]),
      turns(llvm::divideCeil(keys, chosen.getStep())),
      keysInside(keys % chosen.getStep() == 0),
      similarity(makeSimilarity(b, chosen, head)) {
  auto type = cast<MemRefType>(head.values.getType());
  element = type.getElementType();
  valuesInside = type.getDimSize(1) == chosen.getColumns();
}

Writer::Values Writer::copy(Expr turn, Expr slot) {
  Expr first = firstKey(turn);
  Values copies = similarity->copy({head.keys, first, slot}, keysInside);
  copies.push_back(
      b.copy(head.values, first, 0, values, slot, keysInside, valuesInside));
  return copies;
}

/// sigmoid(scale s + offset), and 0 of what is no key or does not count.
Value Writer::weigh(Value scores, Expr first) {
  double scale = op.getScale().convertToDouble();
  double offset = op.getOffset().convertToDouble();
  Value counted;
  if (Value valid = op.getKeyValid()) {
    // Booleans are bytes in memory, and those after the last key read as 0.
    TileType row = tile(chosen.getStep(), b.f32())
                       .with({1, chosen.getStep()}, b.getI32Type(),
                             TileDistribution::product);
    counted = b.gather(row, e.matrix(valid), [&](Expr, Expr j) {
      return std::pair(e.block(2), first + j);
    });
  }
  return b.map(scores.getType(), {scores, counted},
               [&](Elements x, Expr, Expr j) {
                 Expr score = fma(x[0], scale, offset);
                 Expr weight = b.activate(ActivationKind::sigmoid, score);
                 // Without a condition all keys count.
                 Expr counts = x[1]          ? x[1] != 0
                               : !keysInside ? first + j < keys
                                             : Expr();
                 return select(counts, weight, 0);
               });
}

/// Carried are the sums, the result, the slot of the turn and its copies.
Writer::Values Writer::take(Expr turn, ValueRange carried) {
  GroupWaitOp::create(b, carried.drop_front(3));
  Expr slot = b(carried[2]), other = b.previous(slot, 2);
  Values ahead = copy(turn + 1, other);
  Expr first = firstKey(turn);
  Value weights = weigh(similarity->multiply({head.keys, first, slot}), first);
  Value sums = b.combineRows(Combine::add, carried[0], weights);
  // Rounded to what the values are, as the product takes them.
  Value narrow = b.map(tile(chosen.getStep(), element), weights,
                       [](Elements x, Expr, Expr) { return x[0]; });
  Value result = GroupProductOp::create(b, narrow, values, slot, carried[1],
                                        Value(), false);
  Values next{sums, result, other};
  llvm::append_range(next, ahead);
  return next;
}

/// By exp(sink) and the sums, which lanes have parts of until here.
Value Writer::divide(Value sums, Value result) {
  Value total = b.reduce(Combine::add, sums, TileDistribution::product);
  Value sink =
      b.load(tile(1, b.f32()).with({1, 1}, b.f32(), TileDistribution::product),
             e.matrix(op.getSink()), 0, e.block(1), true, true);
  Value inverse =
      b.map(total.getType(), {total, sink}, [&](Elements x, Expr, Expr) {
        return 1 / (x[0] + b.compute<math::ExpOp>(x[1]));
      });
  return b.map(result.getType(), {result, inverse},
               [](Elements x, Expr, Expr) { return x[0] * x[1]; });
}

void Writer::emit() {
  int64_t queries = shapeOf(op.getQuery())[1];
  bool rowsInside = queries % chosen.getRows() == 0;
  Expr row = e.block(0) * chosen.getRows();
  similarity->begin(row, rowsInside);
  similarity->makeSlots(2);
  values = b.slots({2, chosen.getStep(), chosen.getColumns()}, element);
  Values copies = copy(0, 0);
  similarity->awaitQueries();
  Values carried{b.fill(tile(1, b.f32(), TileDistribution::partial), 0),
                 b.fill(tile(chosen.getColumns(), b.f32()), 0), b.index(0)};
  llvm::append_range(carried, copies);
  carried = b.loop(turns, carried,
                   [&](Expr turn, ValueRange in) { return take(turn, in); });
  // Those of the turn after the last: nobody reads them.
  GroupWaitOp::create(b, ArrayRef(carried).drop_front(3));
  b.storeRounded(divide(carried[0], carried[1]),
                 e.headOf(op.getResult(), op.getHeads()), row, 0, rowsInside,
                 valuesInside);
}

namespace {
struct CudaRecipe
    : CudaRecipeOpInterface::ExternalModel<CudaRecipe, sigattn::AttentionOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto attention = cast<sigattn::AttentionOp>(op);
    ArrayRef<int64_t> q = shapeOf(attention.getQuery()),
                      v = shapeOf(attention.getValue());
    int64_t heads = attention.getHeads();
    int64_t keyWidth = q[2] / heads, valueWidth = v[2] / heads;
    if (failed(checkHeadWidths(op, {keyWidth, valueWidth}, kMostHeadColumns)) ||
        failed(checkSequences(op, q[0], heads))) {
      return {};
    }
    return scheduleAttention(
        gpuOf(op), getElementTypeOrSelf(attention.getQuery()), q[0] * heads,
        q[1], v[1], keyWidth, valueWidth, /*needsMore=*/false);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    auto attention = cast<sigattn::AttentionOp>(op);
    ArrayRef<int64_t> q = shapeOf(attention.getQuery());
    return {llvm::divideCeilSigned(q[1], schedule.getRows()),
            static_cast<int64_t>(attention.getHeads()), q[0]};
  }
  void emitGroup(Operation *op, GroupEmitter &emitter) const {
    Writer(emitter, cast<sigattn::AttentionOp>(op)).emit();
  }
};
} // namespace

void sigattn::attachCudaRecipe(MLIRContext &context) {
  AttentionOp::attachInterface<CudaRecipe>(context);
}
