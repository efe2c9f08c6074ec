//===- AttentionKernel.cpp - The main loop of an attention ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A turn takes one box of keys and one of values, while those of the next turn
// are on their way. Row sums stay with the lane that made them, and are
// exchanged once. What makes raw scores of queries and keys is a Similarity,
// and what becomes of them is written by ScoreTiles. Where all boxes are taken,
// the last one is a turn of its own, which copies nothing and may end early;
// otherwise boxes that all queries of the block see whole are a loop without
// masks, and boxes that none sees are left out. Of a list of keys each box is
// masked. Without a softmax scores are weights as they are, and the state that
// turns carry has no maximum.

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/KeyBoxes.h"
#include "codegen/cuda/recipes/OnlineSoftmax.h"
#include "codegen/cuda/recipes/ScoreTiles.h"
#include "codegen/cuda/recipes/Similarity.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <cmath>

using namespace mlir;

namespace hova {

namespace {
class AttentionWriter {
public:
  AttentionWriter(GroupEmitter &e, const ScoreRegion &scores,
                  ValueRange captured, const HeadMatrices &head,
                  const ScoreExtents &extents, Expr row, const KeyList *list);
  Value attend();
  /// Writes the scores, and multiplies no values.
  void writeScores();

private:
  using Values = KernelBuilder::Values;
  using Elements = KernelBuilder::Elements;
  /// What turns carry: maxima of a softmax or of `scalesWeights`, partial sums
  /// where weights are divided by them, the unnormalised result, and with
  /// `carriesKept` whether a key was kept whose score is -inf. What is not
  /// carried is null.
  struct State {
    Value most, sum, result, kept;
  };
  bool hasSoftmax() const {
    return head.normalization == Normalization::softmax;
  }
  bool divides() const { return head.normalization != Normalization::none; }
  /// Scores that are divided by their sum in the end may be too large for f16
  /// before: they are relative to the largest one so far.
  bool scalesWeights() const {
    return !hasSoftmax() && divides() && element.isF16();
  }
  bool carriesMost() const { return hasSoftmax() || scalesWeights(); }
  TileType tile(int64_t columns, Type element,
                TileDistribution lanes = TileDistribution::product) {
    return TileType::get(b.getContext(), {chosen.getRows(), columns}, element,
                         lanes, chosen.getRowWarps(), 1);
  }
  void beginQueries();
  /// Begins to bring a box of keys and those of `values` beside it.
  Values copyBox(const Similarity::Box &box, Value values, bool inside);
  Values copyKeys(Expr turn, Expr slot);
  void storeScores(Value raw, Expr firstKey);
  /// `keys` are those of the box, as the score region calls them.
  State takeKeys(State before, const Similarity::Box &box,
                 const KeyList::Box &keys, TileMasks masks);
  /// The same without a softmax.
  State addValues(State before, Value weights, Expr slot);
  /// The sums of `weights` by lanes, and those before, multiplied with `shrink`
  /// unless it is null.
  Value addTo(Value sum, Value shrink, Value weights);
  /// `result + weights values`.
  Value multiplyValues(Value weights, Expr slot, Value result);
  /// Element by element, or rows with a column.
  Value multiply(Value tile, Value factors);
  Value searchKept(const State &state, Value sums);
  /// What a loop carries: a state, the slot of its turn and copies to it.
  Values carry(const State &state, Expr slot, ValueRange copies);
  State stateOf(ValueRange carried);
  unsigned stateSize() const {
    return 1 + carriesMost() + divides() + carriesKept;
  }
  Expr slotOf(ValueRange carried) { return b(carried[stateSize()]); }
  void await(ValueRange carried);
  /// The boxes `from` to before `to`, whose keys are before `end`; null: all.
  Values takeBoxes(Expr from, Expr to, ValueRange carried, TileMasks masks,
                   Expr end = {});
  bool hasOneBox() const;
  bool visitsSome() const;
  KeyList::Box keysAt(Expr turn, Expr end);
  State takeAll(Values carried);
  State takeSome(Values carried);
  State takeListed(Values carried);
  State takeSlots(State state, Expr slot);
  Value divide(const State &state);

  KernelBuilder &b;
  CudaScheduleAttr chosen;
  HeadMatrices head;
  const ScoreForm form;
  const ScoreExtents extents;
  Expr row;
  const KeyList *list;
  ScoreTiles scoreTiles;
  Type element; ///< of queries, keys and values
  bool valuesInside, mayBeEmpty, carriesKept;
  std::unique_ptr<Similarity> similarity;
  std::optional<OnlineSoftmax> softmax;
  Value vs;
  std::optional<KeyBoxes> boxes;
};
} // namespace

/// The rows of a view, as many as its item has in a run.
static Value countRows(Value view) {
  return cast<memref::SubViewOp>(view.getDefiningOp()).getDynamicSize(0);
}

AttentionWriter::AttentionWriter(GroupEmitter &e, const ScoreRegion &scores,
                                 ValueRange captured, const HeadMatrices &head,
                                 const ScoreExtents &extents, Expr row,
                                 const KeyList *list)
    : b(e.b), chosen(e.schedule), head(head), form(scores), extents(extents),
      row(row), list(list),
      scoreTiles(e, captured, form, extents, row,
                 tile(chosen.getStep(), b.f32()), list, hasSoftmax()),
      // Which keys are listed is data.
      mayBeEmpty(hasSoftmax() &&
                 (list ? !form.isRaw() || !form.conditions.empty()
                       : mayHaveEmptyRows(form, extents))),
      carriesKept(mayBeEmpty && scoreTiles.masksByRaw()),
      similarity(makeSimilarity(b, chosen, head)) {
  auto keys = cast<MemRefType>(head.keys.getType());
  element = keys.getElementType();
  int64_t tokens = keys.getDimSize(0);
  Expr count;
  if (ShapedType::isDynamic(tokens)) {
    tokens = extents.keys;
    // None where the block's queries are none of the sequence.
    count =
        select(row < b(countRows(head.queries)), b(countRows(head.keys)), 0);
  }
  boxes.emplace(b, tokens, chosen.getStep(), count);
  bool mayBeNone = list || !form.isRaw() || !form.conditions.empty();
  softmax.emplace(b, element, scoreTiles.getFactor(), form.isRaw(), mayBeNone,
                  // Those of f16 would be denormal numbers, and values of f16
                  // add up to no more than f32 holds.
                  element.isF16() ? 0
                                  : boxes->offsetOfWeights(extents.columns));
  valuesInside = cast<MemRefType>(head.values.getType()).getDimSize(1) ==
                 chosen.getColumns();
  vs = head.box ? head.box->values : Value();
}

AttentionWriter::Values AttentionWriter::copyBox(const Similarity::Box &box,
                                                 Value values, bool inside) {
  Values copies = similarity->copy(box, inside);
  if (!head.box) {
    copies.push_back(
        b.copy(values, box.first, 0, vs, box.slot, inside, valuesInside));
  }
  return copies;
}

AttentionWriter::Values AttentionWriter::copyKeys(Expr turn, Expr slot) {
  bool inside = list ? list->areWhole : boxes->areWhole();
  Expr first = list ? list->at(turn).first : boxes->copiedKeyAt(turn);
  return copyBox({head.keys, first, slot}, head.values, inside);
}

/// The keys of a turn, which are before `end`; null: all.
KeyList::Box AttentionWriter::keysAt(Expr turn, Expr end) {
  return list ? list->at(turn) : KeyList::Box{boxes->keyAt(turn), end};
}

/// Infinity where a key of the row was kept though its score is -inf, by the
/// lanes that hold it: after the last turn, where raw scores mask no key. All
/// kept scores of a row without weights are -inf, so whether there are any says
/// it all, and hardly ever does a row ask.
Value AttentionWriter::searchKept(const State &state, Value sums) {
  double none = head.emptyIsMean ? -INFINITY : 0;
  Value isNone = b.map(
      sums.getType(), head.emptyIsMean ? state.most : sums,
      [&](Elements x, Expr, Expr) { return select(x[0] == none, 1.0, 0.0); });
  int64_t step = chosen.getStep(), tokens = boxes->getTokens();
  int64_t whole = tokens / step * step;
  const VisitedTiles &visited = boxes->visited();
  bool endsApart = !list && !visited.end && !boxes->mayEnd();
  auto take = [&](Value before, const KeyList::Box &keys) {
    return b.combineRows(Combine::max, before, scoreTiles.findKept(keys));
  };
  return b.where(isNone, [&] {
    Value kept = b.fill(tile(1, b.f32(), TileDistribution::partial), 0);
    Expr from = visited.begin ? Expr(visited.begin) : 0;
    Expr to = list          ? list->count
              : visited.end ? Expr(visited.end)
              : endsApart   ? Expr(whole / step)
                            : boxes->countBoxes();
    Expr end = endsApart ? Expr() : boxes->endInBox();
    kept = b.loop(from, to, kept, [&](Expr turn, ValueRange in) -> Values {
      return {take(in[0], keysAt(turn, end))};
    })[0];
    if (endsApart && whole < tokens) {
      kept = take(kept, {whole, tokens});
    }
    for (int64_t slot = extents.keys; slot < extents.columns; slot += step) {
      kept = take(kept, {slot, extents.columns});
    }
    return kept;
  });
}

/// Of the slots of a memory there are no columns.
void AttentionWriter::storeScores(Value raw, Expr firstKey) {
  bool isWhole = extents.columns % chosen.getStep() == 0 && !head.memoryKeys;
  b.store(scoreTiles.carry(raw, firstKey, isWhole), head.scores, row, firstKey,
          extents.queries % chosen.getRows() == 0, isWhole);
}

/// One turn.
AttentionWriter::State AttentionWriter::takeKeys(State before,
                                                 const Similarity::Box &box,
                                                 const KeyList::Box &keys,
                                                 TileMasks masks) {
  Value raw = similarity->multiply(box);
  if (head.scores) {
    storeScores(raw, keys.first);
  }
  Value scores = scoreTiles.apply(raw, keys, masks);
  if (!hasSoftmax()) {
    return addValues(before, scores, box.slot);
  }
  State after;
  after.most = b.combineRows(Combine::max, before.most, scores);
  Value peak = softmax->finite(after.most);
  auto [weights, shrink] = softmax->weigh(scores, before.most, peak);
  if (head.emptyIsMean && mayBeEmpty) {
    shrink = softmax->evenly(shrink, after.most);
    weights = softmax->evenly(weights, after.most, keys.first, keys.end);
  }
  after.sum = addTo(before.sum, shrink, weights);
  after.result =
      multiplyValues(weights, box.slot, multiply(before.result, shrink));
  if (carriesKept) {
    // Means leave no sum that shows the others.
    Value shown = head.emptyIsMean ? scores : Value();
    after.kept =
        b.combineRows(Combine::max, before.kept,
                      scoreTiles.findKeptInfinite(raw, shown, keys, masks));
  }
  return after;
}

Value AttentionWriter::addTo(Value sum, Value shrink, Value weights) {
  Value sums = b.reduce(Combine::add, weights, TileDistribution::partial);
  return b.map(sum.getType(), {sum, sums, shrink}, [](Elements x, Expr, Expr) {
    return x[2] ? fma(x[0], x[2], x[1]) : x[0] + x[1];
  });
}

Value AttentionWriter::multiplyValues(Value weights, Expr slot, Value result) {
  Value narrow = b.map(tile(chosen.getStep(), element), weights,
                       [](Elements x, Expr, Expr) { return x[0]; });
  return GroupProductOp::create(b, narrow, vs, slot.in(b), result, Value(),
                                false);
}

Value AttentionWriter::multiply(Value tile, Value factors) {
  return b.map(tile.getType(), {tile, factors},
               [](Elements x, Expr, Expr) { return x[0] * x[1]; });
}

AttentionWriter::State AttentionWriter::addValues(State before, Value weights,
                                                  Expr slot) {
  State after;
  if (!scalesWeights()) {
    after.sum = divides() ? addTo(before.sum, Value(), weights) : Value();
    after.result = multiplyValues(weights, slot, before.result);
    return after;
  }
  Value sizes = b.map(weights.getType(), weights,
                      [](Elements x, Expr, Expr) { return abs(x[0]); });
  after.most = b.combineRows(Combine::max, before.most, sizes);
  Value inverse = b.map(after.most.getType(), after.most,
                        [](Elements x, Expr, Expr) { return 1 / x[0]; });
  Value shares = multiply(weights, inverse);
  Value shrink = multiply(before.most, inverse);
  after.sum = addTo(before.sum, shrink, shares);
  after.result = multiplyValues(shares, slot, multiply(before.result, shrink));
  return after;
}

AttentionWriter::Values AttentionWriter::carry(const State &state, Expr slot,
                                               ValueRange copies) {
  Values carried;
  for (Value tile : {state.most, state.sum, state.result, state.kept}) {
    if (tile) {
      carried.push_back(tile);
    }
  }
  carried.push_back(slot.in(b));
  llvm::append_range(carried, copies);
  return carried;
}

AttentionWriter::State AttentionWriter::stateOf(ValueRange carried) {
  auto next = carried.begin();
  auto take = [&](bool isCarried) { return isCarried ? *next++ : Value(); };
  Value most = take(carriesMost()), sum = take(divides()), result = take(true);
  return {most, sum, result, take(carriesKept)};
}

void AttentionWriter::await(ValueRange carried) {
  ValueRange copies = carried.drop_front(stateSize() + 1);
  if (!copies.empty()) {
    GroupWaitOp::create(b, copies);
  }
}

AttentionWriter::Values AttentionWriter::takeBoxes(Expr from, Expr to,
                                                   ValueRange carried,
                                                   TileMasks masks, Expr end) {
  return b.loop(from, to, carried, [&](Expr turn, ValueRange in) -> Values {
    await(in);
    Expr slot = slotOf(in), other = b.previous(slot, 2);
    Values ahead = copyKeys(turn + 1, other);
    KeyList::Box keys = keysAt(turn, end);
    State after =
        takeKeys(stateOf(in), {head.keys, keys.first, slot}, keys, masks);
    return carry(after, other, ahead);
  });
}

/// Whether one box has all keys: nothing is copied while it is taken.
bool AttentionWriter::hasOneBox() const {
  return !list && !head.memoryKeys && boxes->getTokens() <= chosen.getStep();
}

/// All boxes but the last in a loop, the last one, which may end before a step
/// does, and the slots of a memory.
AttentionWriter::State AttentionWriter::takeAll(Values carried) {
  int64_t step = chosen.getStep();
  Expr before = 0;
  if (boxes->getTokens() > step) {
    Expr all = boxes->countBoxes();
    before = (boxes->mayEnd() ? max(all, 1) : all) - 1;
    carried = takeBoxes(0, before, carried, TileMasks::all);
  }
  await(carried);
  Expr first = before * step, slot = slotOf(carried);
  State state = takeKeys(stateOf(carried), {head.keys, first, slot},
                         {first, boxes->endInBox()}, TileMasks::all);
  return head.memoryKeys ? takeSlots(state, slot) : state;
}

/// All threads are done with the box before that of `slot`, whose place the
/// next one takes.
AttentionWriter::State AttentionWriter::takeSlots(State state, Expr slot) {
  int64_t step = chosen.getStep(), slots = extents.columns - extents.keys;
  for (int64_t from = 0; from < slots; from += step) {
    bool inside = from + step <= slots;
    slot = b.previous(slot, 2);
    Similarity::Box box{head.memoryKeys, from, slot};
    GroupWaitOp::create(b, copyBox(box, head.memoryValues, inside));
    Expr end = inside ? Expr() : extents.columns;
    state = takeKeys(state, box, {extents.keys + from, end}, TileMasks::all);
  }
  return state;
}

/// Boxes that some queries of the block see in part, those that all see whole,
/// and again those in part.
AttentionWriter::State AttentionWriter::takeSome(Values carried) {
  const VisitedTiles &visited = boxes->visited();
  auto takePartly = [&](Value from, Value to) {
    carried = takeBoxes(from, to, carried, TileMasks::all, boxes->endInBox());
  };
  if (!visited.wholeBegin) {
    takePartly(visited.begin, visited.end);
  } else {
    if (visited.wholeBegin != visited.begin) {
      takePartly(visited.begin, visited.wholeBegin);
    }
    carried = takeBoxes(visited.wholeBegin, visited.wholeEnd, carried,
                        TileMasks::ofKeys);
    takePartly(visited.wholeEnd, visited.end);
  }
  await(carried);
  return stateOf(carried);
}

AttentionWriter::State AttentionWriter::takeListed(Values carried) {
  carried = takeBoxes(0, list->count, carried, TileMasks::all);
  await(carried);
  return stateOf(carried);
}

/// Whether which boxes a block visits, or visits without a mask, depends on its
/// queries.
bool AttentionWriter::visitsSome() const {
  // Slots are seen by all queries, all scores are read, and a mean is of all.
  if (list || form.conditions.empty() || head.memoryKeys || head.scores ||
      (head.emptyIsMean && mayBeEmpty) || hasOneBox()) {
    return false;
  }
  auto isAboutKeys = [&](Value condition) {
    return form.isAboutKeys(condition);
  };
  return !llvm::all_of(form.conditions, isAboutKeys) ||
         VisitedKeys::areSome(form, extents, chosen.getStep(),
                              chosen.getRows());
}

void AttentionWriter::beginQueries() {
  // A block of queries with a list of keys begins anywhere.
  similarity->begin(row, !list && !boxes->mayEnd() &&
                             extents.queries % chosen.getRows() == 0);
}

void AttentionWriter::writeScores() {
  int64_t step = chosen.getStep();
  beginQueries();
  similarity->makeSlots(2);
  auto boxOf = [&](Expr turn, Expr slot) {
    return Similarity::Box{head.keys, turn * step, slot};
  };
  Values carried = similarity->copy(boxOf(0, 0), false);
  similarity->awaitQueries();
  carried.insert(carried.begin(), b.index(0));
  auto take = [&](Expr turn, ValueRange in) -> Values {
    GroupWaitOp::create(b, in.drop_front());
    Expr slot = b(in[0]), other = b.previous(slot, 2);
    Values next = similarity->copy(boxOf(turn + 1, other), false);
    Similarity::Box box = boxOf(turn, slot);
    storeScores(similarity->multiply(box), box.first);
    next.insert(next.begin(), other);
    return next;
  };
  carried = b.loop(0, boxes->countBoxes(), carried, take);
  GroupWaitOp::create(b, ArrayRef(carried).drop_front());
}

Value AttentionWriter::attend() {
  beginQueries();
  int64_t slots = hasOneBox() ? 1 : 2;
  similarity->makeSlots(slots);
  if (!head.box) {
    vs = b.slots({slots, chosen.getStep(), chosen.getColumns()}, element);
  }
  bool isSome = visitsSome();
  if (isSome) {
    boxes->visit(form, extents, chosen.getRows(), row);
  }
  Values copies = copyKeys(isSome ? Expr(boxes->visited().begin) : 0, 0);
  similarity->awaitQueries(head.before);
  Type partial = tile(1, b.f32(), TileDistribution::partial);
  State state;
  if (carriesMost()) {
    // Not 0, by which weights would be divided.
    double least = hasSoftmax() ? -INFINITY : 0x1p-126;
    state.most = b.fill(tile(1, b.f32()), least);
  }
  if (divides()) {
    state.sum = b.fill(partial, 0);
  }
  state.result = b.fill(tile(chosen.getColumns(), b.f32()), 0);
  state.kept = carriesKept ? b.fill(partial, 0) : Value();
  Values carried = carry(state, 0, copies);
  state = list     ? takeListed(carried)
          : isSome ? takeSome(carried)
                   : takeAll(carried);
  return divide(state);
}

/// By the sums, where weights are divided by them; rows without a kept key are
/// 0, or means, and so are rows of weights whose sum is 0.
Value AttentionWriter::divide(const State &state) {
  if (!divides()) {
    return state.result;
  }
  Value sums = b.reduce(Combine::add, state.sum, TileDistribution::product);
  if (!hasSoftmax()) {
    // Sums of any size, whose reciprocals may be no numbers of f32.
    return b.map(state.result.getType(), {state.result, sums},
                 [](Elements x, Expr, Expr) {
                   return select(x[1] == 0, 0, x[0] / x[1]);
                 });
  }
  Values operands{sums};
  if (mayBeEmpty) {
    Value kept = carriesKept ? state.kept : searchKept(state, sums);
    operands.push_back(b.reduce(Combine::max, kept, TileDistribution::product));
    if (head.emptyIsMean) {
      operands.push_back(state.most);
    }
  }
  auto invert = [&](Elements x, Expr, Expr) {
    Expr inverse = 1 / x[0];
    // The largest weight is near 1, so that the sum is near no end of f32.
    Value(inverse).getDefiningOp<arith::DivFOp>().setFastmath(
        arith::FastMathFlags::arcp);
    if (!mayBeEmpty) {
      return inverse;
    }
    Expr isKept = x[1] == INFINITY;
    // Scores of -inf that are kept are no mean.
    return head.emptyIsMean ? select(isKept & (x[2] == -INFINITY), NAN, inverse)
                            : select(isKept | (x[0] != 0), inverse, 0);
  };
  return multiply(state.result, b.map(sums.getType(), operands, invert));
}

Value emitAttention(GroupEmitter &e, const ScoreRegion &scores,
                    ValueRange captured, const HeadMatrices &head,
                    const ScoreExtents &extents, Expr row,
                    const KeyList *list) {
  return AttentionWriter(e, scores, captured, head, extents, row, list)
      .attend();
}

void emitScores(GroupEmitter &e, const ScoreRegion &scores, ValueRange captured,
                const HeadMatrices &head, const ScoreExtents &extents,
                Expr row) {
  AttentionWriter(e, scores, captured, head, extents, row, nullptr)
      .writeScores();
}

} // namespace hova
