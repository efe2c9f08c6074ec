//===- HiddenValues.cpp - Values that rows see, one by one ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A product multiplies the values of all keys of a box with weights, which are
// 0 where a row does not see a key, and 0 times NaN is NaN. So a value that is
// no number, such as what nobody has written behind padding, reaches rows that
// do not see it. To keep it from them, boxes would have to be looked through
// before each product. It is cheaper to look at the result, once: rows that
// have no number there, which is rare, are computed again by threads alone, key
// by key, and what has no weight is left out.

#include "codegen/cuda/recipes/ScoreTiles.h"
#include "codegen/cuda/recipes/Similarity.h"

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;
using Values = KernelBuilder::Values;

namespace {
class SeenValueAdder {
public:
  using Weigh = llvm::function_ref<Value(Value)>;

  SeenValueAdder(GroupEmitter &e, const SeenKeys &seen, Weigh weigh)
      : e(e), b(e.b), seen(seen), weigh(weigh),
        element(cast<MemRefType>(seen.head.values.getType()).getElementType()),
        scores(e, seen.captured, seen.form, seen.extents, seen.row,
               tile(1, b.f32()), seen.list, hasSoftmax()) {}

  Value add() {
    Value sum = b.fill(tile(e.schedule.getColumns(), b.f32()), 0);
    sum = seen.list ? addListed(sum) : addAll(sum);
    return seen.head.memoryKeys ? addSlots(sum) : sum;
  }

private:
  TileType tile(int64_t columns, Type type) {
    return TileType::get(b.getContext(), {e.schedule.getRows(), columns}, type,
                         TileDistribution::product, e.schedule.getRowWarps(),
                         1);
  }
  bool hasSoftmax() const {
    return seen.head.normalization == Normalization::softmax;
  }
  Value addAll(Value sum);
  Value addListed(Value sum);
  /// Those of a memory, whose keys follow the others.
  Value addSlots(Value sum);
  /// With row `place` of keys and values, which the score region calls `key`;
  /// `exists`: whether it is one, null: it is.
  Value addKey(Value sum, Value keys, Value values, Expr place, Expr key,
               Expr exists);

  GroupEmitter &e;
  KernelBuilder &b;
  const SeenKeys &seen;
  Weigh weigh;
  Type element;
  ScoreTiles scores;
};
} // namespace

Value SeenValueAdder::addKey(Value sum, Value keys, Value values, Expr place,
                             Expr key, Expr exists) {
  Value raw = emitScoresOfKey(b, e.schedule, seen.head, seen.row, keys, place);
  Value wide = weigh(scores.apply(raw, {key, {}, exists}, TileMasks::all));
  // As products take them: what is 0 there has no part here.
  Value weights = b.map(tile(1, element), wide,
                        [](Elements x, Expr, Expr) { return x[0]; });
  TileType row = tile(e.schedule.getColumns(), element);
  row = row.with({1, row.columns()}, element, row.getDistribution());
  Value value =
      b.gather(row, values, [&](Expr, Expr j) { return std::pair(place, j); });
  return b.map(
      sum.getType(), {sum, weights, value}, [&](Elements x, Expr, Expr) {
        Expr weight = widen(b, x[1]);
        return select(weight != 0, fma(weight, widen(b, x[2]), x[0]), x[0]);
      });
}

Value SeenValueAdder::addAll(Value sum) {
  const HeadMatrices &head = seen.head;
  return b.loop(seen.extents.keys, sum, [&](Expr key, ValueRange in) -> Values {
    return {addKey(in[0], head.keys, head.values, key, key, {})};
  })[0];
}

Value SeenValueAdder::addSlots(Value sum) {
  const HeadMatrices &head = seen.head;
  int64_t slots = seen.extents.columns - seen.extents.keys;
  return b.loop(slots, sum, [&](Expr slot, ValueRange in) -> Values {
    return {addKey(in[0], head.memoryKeys, head.memoryValues, slot,
                   slot + seen.extents.keys, {})};
  })[0];
}

Value SeenValueAdder::addListed(Value sum) {
  const KeyList &list = *seen.list;
  auto addBox = [&](Expr box, ValueRange before) -> Values {
    KeyList::Box keys = list.at(box);
    return b.loop(
        e.schedule.getStep(), before, [&](Expr j, ValueRange in) -> Values {
          Expr key = keys.first + j;
          Expr exists = (keys.end ? key < keys.end : Expr()) & keys.exists;
          // A box may end after the last key.
          Expr place = list.areWhole ? key : min(key, seen.extents.keys - 1);
          return {addKey(in[0], seen.head.keys, seen.head.values, place, place,
                         exists)};
        });
  };
  return b.loop(0, list.count, sum, addBox)[0];
}

Value addSeenValues(GroupEmitter &e, const SeenKeys &keys,
                    llvm::function_ref<Value(Value)> weigh) {
  return SeenValueAdder(e, keys, weigh).add();
}

} // namespace hova
