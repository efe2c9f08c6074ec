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

#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/OnlineSoftmax.h"
#include "codegen/cuda/recipes/ScoreTiles.h"
#include "codegen/cuda/recipes/Similarity.h"
#include "dialect/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace hova {

namespace {
class AttentionWriter {
public:
  AttentionWriter(GroupEmitter &e, const ScoreRegion &scores,
                  ValueRange captured, const HeadMatrices &head,
                  const ScoreExtents &extents, Value row, const KeyList *list);
  Value attend();
  /// Writes the scores, and multiplies no values.
  void writeScores();

private:
  using Values = KernelBuilder::Values;
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
    return TileType::get(b.getContext(), {own.getRows(), columns}, element,
                         lanes, own.getRowWarps(), 1);
  }
  void beginQueries();
  Values copyKeys(Value turn, Value slot);
  void storeScores(Value raw, Value firstKey);
  /// `firstKey` is what the score region calls the first key of the box.
  State takeKeys(State before, const Similarity::Box &box, Value firstKey,
                 TileMasks masks);
  /// The same without a softmax.
  State addValues(State before, Value weights, Value slot);
  /// The sums of `weights` by lanes, and those before.
  Value addTo(Value sum, Value shrink, Value weights);
  /// `result + weights values`.
  Value multiplyValues(Value weights, Value slot, Value result);
  Value keptSoFar(Value before, Value raw, Value scores, Value firstKey,
                  TileMasks masks);
  Value searchKept(const State &state, Value sums);
  Value mostOf(Value before, Value tile);
  /// What a loop carries: a state, the slot of its turn and copies to it.
  Values carry(const State &state, Value slot, ValueRange copies);
  State stateOf(ValueRange carried);
  unsigned stateSize() const {
    return 1 + carriesMost() + divides() + carriesKept;
  }
  Value slotOf(ValueRange carried) { return carried[stateSize()]; }
  void await(ValueRange carried);
  Values takeBoxes(Value from, Value to, ValueRange carried, TileMasks masks);
  bool hasOneBox() const;
  bool visitsSome() const;
  VisitedTiles findBoxes();
  Value boxAt(Value turn) { return boxes.tileAt(b, b.getLoc(), turn); }
  State takeAll(Values carried);
  State takeSome(Values carried);
  State takeListed(Values carried);
  State takeSlots(State state, Value slot);
  Value divide(const State &state);

  KernelBuilder &b;
  CudaScheduleAttr own;
  HeadMatrices head;
  const ScoreForm form;
  const ScoreExtents extents;
  Value row;
  const KeyList *list;
  ScoreTiles scoreTiles;
  Type element; ///< of queries, keys and values
  int64_t tokens;
  bool valuesInside, mayBeEmpty, carriesKept;
  std::unique_ptr<Similarity> similarity;
  std::optional<OnlineSoftmax> softmax;
  Value vs;
  VisitedTiles boxes;
};
} // namespace

AttentionWriter::AttentionWriter(GroupEmitter &e, const ScoreRegion &scores,
                                 ValueRange captured, const HeadMatrices &head,
                                 const ScoreExtents &extents, Value row,
                                 const KeyList *list)
    : b(e.b), own(e.schedule), head(head), form(scores), extents(extents),
      row(row), list(list),
      scoreTiles(e, captured, form, extents, row, tile(own.getStep(), b.f32()),
                 list, hasSoftmax()),
      // Which keys are listed is data.
      mayBeEmpty(hasSoftmax() &&
                 (list ? !form.isRaw() || !form.conditions.empty()
                       : mayHaveEmptyRows(form, extents))),
      carriesKept(mayBeEmpty && scoreTiles.masksByRaw()),
      similarity(makeSimilarity(b, own, head)) {
  auto keys = cast<MemRefType>(head.keys.getType());
  element = keys.getElementType();
  tokens = keys.getDimSize(0);
  bool mayBeNone = list || !form.isRaw() || !form.conditions.empty();
  softmax.emplace(b, element, scoreTiles.getFactor(), form.isRaw(), mayBeNone,
                  extents.columns);
  valuesInside =
      cast<MemRefType>(head.values.getType()).getDimSize(1) == own.getColumns();
  vs = head.box ? head.box->values : Value();
}

AttentionWriter::Values AttentionWriter::copyKeys(Value turn, Value slot) {
  int64_t step = own.getStep();
  bool inside = list ? list->areWhole : tokens % step == 0;
  Value first = b.index(0), box = list ? Value() : boxAt(turn);
  if (boxes.end && inside) {
    // After those that are visited one more is copied, which nobody reads.
    box = b.atMost(box, tokens / step - 1);
  }
  Value key = list ? list->at(turn).first : b.mulIndex(box, step);
  Values copies = similarity->copy({head.keys, key, slot}, inside);
  if (!head.box) {
    copies.push_back(
        b.copy(head.values, key, first, vs, slot, inside, valuesInside));
  }
  return copies;
}

/// Infinity where a key of the row was kept though its score is -inf, by the
/// lanes that hold it.
Value AttentionWriter::keptSoFar(Value before, Value raw, Value scores,
                                 Value firstKey, TileMasks masks) {
  // Means leave no sum that shows the others.
  Value shown = head.emptyIsMean ? scores : Value();
  return mostOf(before,
                scoreTiles.findKeptInfinite(raw, shown, firstKey, masks));
}

Value AttentionWriter::mostOf(Value before, Value tile) {
  Value own = b.reduce(Combine::max, tile, TileDistribution::partial);
  return b.map(own.getType(), {before, own},
               [&](ValueRange x, Value, Value) -> Value {
                 return arith::MaxNumFOp::create(b, x[0], x[1]);
               });
}

/// The same after the last turn, where raw scores mask no key. All kept scores
/// of a row without weights are -inf, so whether there are any says it all, and
/// hardly ever does a row ask.
Value AttentionWriter::searchKept(const State &state, Value sums) {
  Value none = b.number(head.emptyIsMean ? -INFINITY : 0);
  Value one = b.number(1), zero = b.number(0);
  Value isNone = b.map(sums.getType(), head.emptyIsMean ? state.most : sums,
                       [&](ValueRange x, Value, Value) -> Value {
                         Value is = arith::CmpFOp::create(
                             b, arith::CmpFPredicate::OEQ, x[0], none);
                         return arith::SelectOp::create(b, is, one, zero);
                       });
  int64_t step = own.getStep(), whole = tokens / step;
  bool isSome = static_cast<bool>(boxes.begin), hasTail = tokens % step;
  auto take = [&](Value before, Value firstKey, Value end, Value exists = {}) {
    return mostOf(before,
                  scoreTiles.findKept(firstKey, {TileMasks::all, end, exists}));
  };
  return b.where(isNone, [&] {
    Value kept = b.fill(tile(1, b.f32(), TileDistribution::partial), 0);
    if (list) {
      auto takeBox = [&](Value turn, ValueRange in) -> Values {
        KeyList::Box box = list->at(turn);
        return {take(in[0], box.first, box.end, box.exists)};
      };
      return b.loop(b.index(0), list->count, kept, takeBox)[0];
    }
    kept = b.loop(
        isSome ? boxes.begin : b.index(0), isSome ? boxes.end : b.index(whole),
        kept, [&](Value turn, ValueRange in) -> Values {
          Value first = b.mulIndex(boxAt(turn), step);
          return {take(in[0], first,
                       isSome && hasTail ? b.index(tokens) : Value())};
        })[0];
    if (!isSome && hasTail) {
      kept = take(kept, b.index(whole * step), b.index(tokens));
    }
    for (int64_t slot = extents.keys; slot < extents.columns; slot += step) {
      kept = take(kept, b.index(slot), b.index(extents.columns));
    }
    return kept;
  });
}

/// Of the slots of a memory there are no columns.
void AttentionWriter::storeScores(Value raw, Value firstKey) {
  bool isWhole = extents.columns % own.getStep() == 0 && !head.memoryKeys;
  b.store(scoreTiles.carry(raw, firstKey, isWhole), head.scores, row, firstKey,
          extents.queries % own.getRows() == 0, isWhole);
}

/// One turn.
AttentionWriter::State AttentionWriter::takeKeys(State before,
                                                 const Similarity::Box &box,
                                                 Value firstKey,
                                                 TileMasks masks) {
  Type column = tile(1, b.f32());
  Value raw = similarity->multiply(box);
  if (head.scores) {
    storeScores(raw, firstKey);
  }
  Value scores = scoreTiles.apply(raw, firstKey, masks);
  if (!hasSoftmax()) {
    return addValues(before, scores, box.slot);
  }
  Value top = b.reduce(Combine::max, scores, TileDistribution::product);
  Value most = b.map(column, {before.most, top},
                     [&](ValueRange x, Value, Value) -> Value {
                       return arith::MaxNumFOp::create(b, x[0], x[1]);
                     });
  Value peak = softmax->finite(most);
  auto [weights, shrink] = softmax->weigh(scores, before.most, peak);
  if (head.emptyIsMean && mayBeEmpty) {
    shrink = softmax->evenly(shrink, most, firstKey, Value());
    weights = softmax->evenly(weights, most, firstKey, masks.end);
  }
  Value sum = addTo(before.sum, shrink, weights);
  Value small =
      b.map(before.result.getType(), {before.result, shrink},
            [&](ValueRange x, Value, Value) { return b.mul(x[0], x[1]); });
  Value result = multiplyValues(weights, box.slot, small);
  Value kept = carriesKept
                   ? keptSoFar(before.kept, raw, scores, firstKey, masks)
                   : Value();
  return {most, sum, result, kept};
}

Value AttentionWriter::addTo(Value sum, Value shrink, Value weights) {
  Value added = b.reduce(Combine::add, weights, TileDistribution::partial);
  if (!shrink) {
    return b.map(sum.getType(), {sum, added},
                 [&](ValueRange x, Value, Value) { return b.add(x[0], x[1]); });
  }
  return b.map(
      sum.getType(), {sum, shrink, added},
      [&](ValueRange x, Value, Value) { return b.fma(x[0], x[1], x[2]); });
}

Value AttentionWriter::multiplyValues(Value weights, Value slot, Value result) {
  Value narrow = b.map(tile(own.getStep(), element), weights,
                       [](ValueRange x, Value, Value) { return x[0]; });
  return GroupProductOp::create(b, narrow, vs, slot, result, Value(), false);
}

AttentionWriter::State AttentionWriter::addValues(State before, Value weights,
                                                  Value slot) {
  if (!scalesWeights()) {
    Value sum = divides() ? addTo(before.sum, Value(), weights) : Value();
    return {{}, sum, multiplyValues(weights, slot, before.result), {}};
  }
  auto multiply = [&](Value tile, Value factors) {
    return b.map(tile.getType(), {tile, factors},
                 [&](ValueRange x, Value, Value) { return b.mul(x[0], x[1]); });
  };
  Value sizes =
      b.map(weights.getType(), weights, [&](ValueRange x, Value, Value) {
        return math::AbsFOp::create(b, x[0]).getResult();
      });
  Value top = b.reduce(Combine::max, sizes, TileDistribution::product);
  Value most = b.map(top.getType(), {before.most, top},
                     [&](ValueRange x, Value, Value) -> Value {
                       return arith::MaxNumFOp::create(b, x[0], x[1]);
                     });
  Value inverse = b.map(top.getType(), most, [&](ValueRange x, Value, Value) {
    return arith::DivFOp::create(b, b.number(1), x[0]).getResult();
  });
  Value own = multiply(weights, inverse);
  Value shrink = multiply(before.most, inverse);
  return {most,
          addTo(before.sum, shrink, own),
          multiplyValues(own, slot, multiply(before.result, shrink)),
          {}};
}

AttentionWriter::Values AttentionWriter::carry(const State &state, Value slot,
                                               ValueRange copies) {
  Values carried;
  for (Value own : {state.most, state.sum, state.result, state.kept}) {
    if (own) {
      carried.push_back(own);
    }
  }
  carried.push_back(slot);
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

/// The boxes `from` to before `to`.
AttentionWriter::Values AttentionWriter::takeBoxes(Value from, Value to,
                                                   ValueRange carried,
                                                   TileMasks masks) {
  return b.loop(from, to, carried, [&](Value turn, ValueRange in) -> Values {
    await(in);
    Value slot = slotOf(in), other = b.previous(slot, 2);
    Values ahead = copyKeys(b.addIndex(turn, 1), other);
    KeyList::Box box =
        list ? list->at(turn)
             : KeyList::Box{b.mulIndex(boxAt(turn), own.getStep()), masks.end};
    State after = takeKeys(stateOf(in), {head.keys, box.first, slot}, box.first,
                           {masks.conditions, box.end, box.exists});
    return carry(after, other, ahead);
  });
}

/// Whether one box has all keys: nothing is copied while it is taken.
bool AttentionWriter::hasOneBox() const {
  return !list && !head.memoryKeys && tokens <= own.getStep();
}

/// All boxes but the last in a loop, the last one, which may end before a step
/// does, and the slots of a memory.
AttentionWriter::State AttentionWriter::takeAll(Values carried) {
  int64_t step = own.getStep(), before = llvm::divideCeil(tokens, step) - 1;
  if (before > 0) {
    carried = takeBoxes(b.index(0), b.index(before), carried, {TileMasks::all});
  }
  await(carried);
  Value first = b.index(before * step);
  Value end = tokens % step ? b.index(tokens) : Value();
  State state = takeKeys(stateOf(carried), {head.keys, first, slotOf(carried)},
                         first, {TileMasks::all, end});
  return head.memoryKeys ? takeSlots(state, slotOf(carried)) : state;
}

/// All threads are done with the box before that of `slot`, whose place the
/// next one takes.
AttentionWriter::State AttentionWriter::takeSlots(State state, Value slot) {
  int64_t step = own.getStep(), slots = extents.columns - extents.keys;
  for (int64_t from = 0; from < slots; from += step) {
    bool inside = from + step <= slots;
    Value first = b.index(from), zero = b.index(0);
    slot = b.previous(slot, 2);
    Similarity::Box box{head.memoryKeys, first, slot};
    Values copies = similarity->copy(box, inside);
    copies.push_back(
        b.copy(head.memoryValues, first, zero, vs, slot, inside, valuesInside));
    GroupWaitOp::create(b, copies);
    state =
        takeKeys(state, box, b.index(extents.keys + from),
                 {TileMasks::all, inside ? Value() : b.index(extents.columns)});
  }
  return state;
}

/// Boxes that some queries of the block see in part, those that all see whole,
/// and again those in part.
AttentionWriter::State AttentionWriter::takeSome(Values carried) {
  TileMasks all{TileMasks::all,
                tokens % own.getStep() ? b.index(tokens) : Value()};
  auto take = [&](Value from, Value to, TileMasks masks) {
    carried = takeBoxes(from, to, carried, masks);
  };
  if (!boxes.wholeBegin) {
    take(boxes.begin, boxes.end, all);
  } else {
    if (boxes.wholeBegin != boxes.begin) {
      take(boxes.begin, boxes.wholeBegin, all);
    }
    take(boxes.wholeBegin, boxes.wholeEnd, {TileMasks::ofKeys});
    take(boxes.wholeEnd, boxes.end, all);
  }
  await(carried);
  return stateOf(carried);
}

AttentionWriter::State AttentionWriter::takeListed(Values carried) {
  carried = takeBoxes(b.index(0), list->count, carried, {TileMasks::all});
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
  auto isAboutKeys = [&](Value own) { return form.isAboutKeys(own); };
  return !llvm::all_of(form.conditions, isAboutKeys) ||
         VisitedKeys::areSome(form, extents, own.getStep(), own.getRows());
}

/// The boxes of keys that the block of queries visits.
VisitedTiles AttentionWriter::findBoxes() {
  using Range = VisitedKeys::Range;
  SmallVector<RowSpan> blocks = attentionBlocks(extents, own.getRows());
  VisitedKeys visited(form, extents, own.getStep(), blocks);
  VisitedTiles found = emitVisitedTiles(
      b, b.getLoc(), visited, visited.haveWhole(), [&](int64_t Range::*bound) {
        return countSteps(b, b.getLoc(), row,
                          visited.stepsOf(own.getRows(), bound));
      });
  bool begins = llvm::any_of(blocks, [&](const RowSpan &block) {
    const Range &range = visited.at(block);
    return range.begin < range.wholeBegin;
  });
  if (found.wholeBegin && !found.gapLength && !begins) {
    found.wholeBegin = found.begin; // and there is no loop before
  }
  return found;
}

void AttentionWriter::beginQueries() {
  // A block of queries with a list of keys begins anywhere.
  similarity->begin(row, !list && extents.queries % own.getRows() == 0);
}

void AttentionWriter::writeScores() {
  int64_t step = own.getStep();
  beginQueries();
  similarity->makeSlots(2);
  auto boxOf = [&](Value turn, Value slot) {
    return Similarity::Box{head.keys, b.mulIndex(turn, step), slot};
  };
  Value first = b.index(0);
  Values carried = similarity->copy(boxOf(first, first), false);
  similarity->awaitQueries();
  carried.insert(carried.begin(), first);
  auto take = [&](Value turn, ValueRange in) -> Values {
    GroupWaitOp::create(b, in.drop_front());
    Value other = b.previous(in[0], 2);
    Values next = similarity->copy(boxOf(b.addIndex(turn, 1), other), false);
    Similarity::Box box = boxOf(turn, in[0]);
    storeScores(similarity->multiply(box), box.first);
    next.insert(next.begin(), other);
    return next;
  };
  carried = b.loop(llvm::divideCeil(tokens, step), carried, take);
  GroupWaitOp::create(b, ArrayRef(carried).drop_front());
}

Value AttentionWriter::attend() {
  beginQueries();
  int64_t slots = hasOneBox() ? 1 : 2;
  similarity->makeSlots(slots);
  if (!head.box) {
    vs = GroupAllocOp::create(
        b, SlotsType::get(b.getContext(),
                          {slots, own.getStep(), own.getColumns()}, element));
  }
  bool isSome = visitsSome();
  boxes = isSome ? findBoxes() : VisitedTiles();
  Value first = b.index(0);
  Values copies = copyKeys(isSome ? boxes.begin : first, first);
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
  state.result = b.fill(tile(own.getColumns(), b.f32()), 0);
  state.kept = carriesKept ? b.fill(partial, 0) : Value();
  Values carried = carry(state, first, copies);
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
  Value zero = b.number(0);
  if (!hasSoftmax()) {
    // Sums of any size, whose reciprocals may be no numbers of f32.
    return b.map(state.result.getType(), {state.result, sums},
                 [&](ValueRange x, Value, Value) -> Value {
                   Value isNone = arith::CmpFOp::create(
                       b, arith::CmpFPredicate::OEQ, x[1], zero);
                   Value own = arith::DivFOp::create(b, x[0], x[1]);
                   return arith::SelectOp::create(b, isNone, zero, own);
                 });
  }
  SmallVector<Value> operands{sums};
  if (mayBeEmpty) {
    Value kept = carriesKept ? state.kept : searchKept(state, sums);
    operands.push_back(b.reduce(Combine::max, kept, TileDistribution::product));
    if (head.emptyIsMean) {
      operands.push_back(state.most);
    }
  }
  Value inverse =
      b.map(sums.getType(), operands, [&](ValueRange x, Value, Value) -> Value {
        Value own = arith::DivFOp::create(b, b.number(1), x[0]);
        if (x.size() == 1) {
          return own;
        }
        Value isKept = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[1],
                                             b.number(INFINITY));
        if (!head.emptyIsMean) {
          Value hasWeight =
              arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x[0], zero);
          return arith::SelectOp::create(
              b, arith::OrIOp::create(b, isKept, hasWeight), own, zero);
        }
        // Scores of -inf that are kept are no mean.
        Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[2],
                                             b.number(-INFINITY));
        return arith::SelectOp::create(
            b, arith::AndIOp::create(b, isKept, isNone), b.number(NAN), own);
      });
  return b.map(state.result.getType(), {state.result, inverse},
               [&](ValueRange x, Value, Value) { return b.mul(x[0], x[1]); });
}

Value emitAttention(GroupEmitter &e, const ScoreRegion &scores,
                    ValueRange captured, const HeadMatrices &head,
                    const ScoreExtents &extents, Value row,
                    const KeyList *list) {
  return AttentionWriter(e, scores, captured, head, extents, row, list)
      .attend();
}

void emitScores(GroupEmitter &e, const ScoreRegion &scores, ValueRange captured,
                const HeadMatrices &head, const ScoreExtents &extents,
                Value row) {
  AttentionWriter(e, scores, captured, head, extents, row, nullptr)
      .writeScores();
}

} // namespace hova
