//===- AttentionKernel.cpp - The main loop of a softmax attention ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// A turn takes one box of keys and one of values, while those of the next turn
// are on their way. Row sums stay with the lane that made them, and are
// exchanged once. What makes raw scores of queries and keys is a Similarity,
// and what becomes of them is written by ScoreTiles. Where all boxes are taken,
// the last one is a turn of its own, which copies nothing and may end early;
// otherwise boxes that all queries of the block see whole are a loop without
// masks, and boxes that none sees are left out. Of a list of keys each box is
// masked.

#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/ScoreTiles.h"
#include "codegen/cuda/recipes/Similarity.h"
#include "dialect/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace hova {

static constexpr double kLog2E = 1.4426950408889634;

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
  /// What turns carry: maxima, partial sums, the unnormalised result, and with
  /// `carriesKept` whether a key was kept whose score is -inf.
  struct State {
    Value most, sum, result, kept;
  };
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
  Value keptSoFar(Value before, Value raw, Value scores, Value firstKey,
                  TileMasks masks);
  Value searchKept(const State &state, Value sums);
  Value mostOf(Value before, Value tile);
  /// Of a tile, and what those of the tiles before are multiplied with to be
  /// relative to its maxima too.
  struct Weights {
    Value own, shrink;
  };
  /// exp2(factor (x - most) + offset) of the scores of a tile; those before are
  /// relative to the maxima `before`.
  Weights weigh(Value scores, Value before, Value most);
  Value factorsOf(Value most);
  Value shiftsOf(Value most, Value factors);
  /// The maxima of rows; where one is -inf nothing is left, and it is 0.
  Value finite(Value most);
  /// Weights of 1 for the keys of rows without a maximum.
  Value evenly(Value weights, Value most, Value firstKey, Value end);

  /// What a loop carries: a state, the slot of its turn and copies to it.
  Values carry(const State &state, Value slot, ValueRange copies);
  State stateOf(ValueRange carried);
  Value slotOf(ValueRange carried);
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
  double factor;
  Type element; ///< of queries, keys and values
  int64_t tokens;
  /// Of weights. Those of f16 have none: they would be denormal numbers, and
  /// values of f16 add up to no more than f32 holds.
  int64_t offset;
  bool valuesInside, mayBeEmpty, mayBeNone, carriesKept;
  std::unique_ptr<Similarity> similarity;
  Value vs;
  VisitedTiles boxes;
};
} // namespace

AttentionWriter::AttentionWriter(GroupEmitter &e, const ScoreRegion &scores,
                                 ValueRange captured, const HeadMatrices &head,
                                 const ScoreExtents &extents, Value row,
                                 const KeyList *list)
    : b(e.b), own(e.schedule), head(head), form(scores), extents(extents),
      row(row), list(list), scoreTiles(e, captured, form, extents, row,
                                       tile(own.getStep(), b.f32()), list),
      factor(kLog2E * scoreTiles.getFactor()),
      mayBeEmpty(!list && mayHaveEmptyRows(form, extents)),
      mayBeNone(list || !form.isRaw() || !form.conditions.empty()),
      carriesKept(mayBeEmpty && !scoreTiles.areRaw()),
      similarity(makeSimilarity(b, own, head)) {
  auto keys = cast<MemRefType>(head.keys.getType());
  element = keys.getElementType();
  tokens = keys.getDimSize(0);
  offset = element.isF16() ? 0 : Exp2Op::offsetOfWeights(extents.columns);
  valuesInside =
      cast<MemRefType>(head.values.getType()).getDimSize(1) == own.getColumns();
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
  copies.push_back(
      b.copy(head.values, key, first, vs, slot, inside, valuesInside));
  return copies;
}

/// Of raw scores, one multiply-add each: factor x - factor most. The product of
/// the maximum is off by half a unit of its last place, and with it all weights
/// that are relative to it. Where that is more than exponents can bear, scores
/// that differ are so far apart that one has all the weight, whatever the
/// factor is: a power of two makes both products exact. Weights of f16 bear
/// less.
Value AttentionWriter::factorsOf(Value most) {
  double bearable = element.isF16() ? 0x1p28 : 0x1p30;
  double farthest = std::min(bearable / factor, 0x1p127);
  double exact = std::exp2(std::round(std::log2(factor)));
  return b.map(most.getType(), most, [&](ValueRange x, Value, Value) -> Value {
    Value isFar = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                        math::AbsFOp::create(b, x[0]),
                                        b.number(farthest));
    return arith::SelectOp::create(b, isFar, b.number(exact), b.number(factor));
  });
}

Value AttentionWriter::shiftsOf(Value most, Value factors) {
  return b.map(most.getType(), {most, factors},
               [&](ValueRange x, Value, Value) -> Value {
                 Value factor = arith::NegFOp::create(b, x[1]);
                 return b.fma(x[0], factor, b.number(offset));
               });
}

AttentionWriter::Weights AttentionWriter::weigh(Value scores, Value before,
                                                Value most) {
  auto power = [&](Value exponent) -> Value {
    return math::Exp2Op::create(b, exponent);
  };
  if (!form.isRaw()) {
    Value shrink =
        b.map(most.getType(), {before, most}, [&](ValueRange x, Value, Value) {
          return b.power(x[0], x[1], scoreTiles.getFactor());
        });
    Value own = b.map(
        scores.getType(), {scores, most}, [&](ValueRange x, Value, Value) {
          Value difference = arith::SubFOp::create(b, x[0], x[1]);
          return power(b.fma(difference, b.number(factor), b.number(offset)));
        });
    return {own, shrink};
  }
  Value factors = factorsOf(most), shifts = shiftsOf(most, factors);
  Value shrink = b.map(most.getType(), {shifts, shiftsOf(before, factors)},
                       [&](ValueRange x, Value, Value) {
                         return power(arith::SubFOp::create(b, x[0], x[1]));
                       });
  Value own = b.map(scores.getType(), {scores, factors, shifts},
                    [&](ValueRange x, Value, Value) {
                      return power(b.fma(x[0], x[1], x[2]));
                    });
  return {own, shrink};
}

Value AttentionWriter::finite(Value most) {
  if (!mayBeNone) {
    return most;
  }
  Value least = b.number(-INFINITY), zero = b.number(0);
  return b.map(tile(1, b.f32()), most, [&](ValueRange x, Value, Value) {
    Value isNone =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[0], least);
    return arith::SelectOp::create(b, isNone, zero, x[0]).getResult();
  });
}

Value AttentionWriter::evenly(Value weights, Value most, Value firstKey,
                              Value end) {
  Value least = b.number(-INFINITY), zero = b.number(0), one = b.number(1);
  return b.map(weights.getType(), {weights, most},
               [&](ValueRange x, Value, Value j) -> Value {
                 Value isNone = arith::CmpFOp::create(
                     b, arith::CmpFPredicate::OEQ, x[1], least);
                 Value even = one;
                 if (end) {
                   Value isKey = arith::CmpIOp::create(
                       b, arith::CmpIPredicate::ult, b.sum(firstKey, j), end);
                   even = arith::SelectOp::create(b, isKey, one, zero);
                 }
                 return arith::SelectOp::create(b, isNone, even, x[0]);
               });
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

/// The same of raw scores after the last turn. All kept scores of a row without
/// weights are -inf, so whether there are any says it all, and hardly ever does
/// a row ask.
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
  auto take = [&](Value before, Value firstKey, Value end) {
    return mostOf(before, scoreTiles.findKept(firstKey, {TileMasks::all, end}));
  };
  return b.where(isNone, [&] {
    Value kept = b.fill(tile(1, b.f32(), TileDistribution::partial), 0);
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
  Value top = b.reduce(Combine::max, scores, TileDistribution::product);
  Value most = b.map(column, {before.most, top},
                     [&](ValueRange x, Value, Value) -> Value {
                       return arith::MaxNumFOp::create(b, x[0], x[1]);
                     });
  Value peak = finite(most);
  auto [weights, shrink] = weigh(scores, before.most, peak);
  if (head.emptyIsMean && mayBeEmpty) {
    shrink = evenly(shrink, most, firstKey, Value());
    weights = evenly(weights, most, firstKey, masks.end);
  }
  Value added = b.reduce(Combine::add, weights, TileDistribution::partial);
  Value sum = b.map(
      before.sum.getType(), {before.sum, shrink, added},
      [&](ValueRange x, Value, Value) { return b.fma(x[0], x[1], x[2]); });
  Value small =
      b.map(before.result.getType(), {before.result, shrink},
            [&](ValueRange x, Value, Value) { return b.mul(x[0], x[1]); });
  Value narrow = b.map(tile(own.getStep(), element), weights,
                       [](ValueRange x, Value, Value) { return x[0]; });
  Value result =
      GroupProductOp::create(b, narrow, vs, box.slot, small, Value(), false);
  Value kept = carriesKept
                   ? keptSoFar(before.kept, raw, scores, firstKey, masks)
                   : Value();
  return {most, sum, result, kept};
}

AttentionWriter::Values AttentionWriter::carry(const State &state, Value slot,
                                               ValueRange copies) {
  Values carried{state.most, state.sum, state.result};
  if (state.kept) {
    carried.push_back(state.kept);
  }
  carried.push_back(slot);
  llvm::append_range(carried, copies);
  return carried;
}

AttentionWriter::State AttentionWriter::stateOf(ValueRange carried) {
  return {carried[0], carried[1], carried[2],
          carriesKept ? carried[3] : Value()};
}

Value AttentionWriter::slotOf(ValueRange carried) {
  return carried[carriesKept ? 4 : 3];
}

void AttentionWriter::await(ValueRange carried) {
  GroupWaitOp::create(b, carried.drop_front(carriesKept ? 5 : 4));
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
  vs = GroupAllocOp::create(
      b, SlotsType::get(b.getContext(),
                        {slots, own.getStep(), own.getColumns()}, element));
  bool isSome = visitsSome();
  boxes = isSome ? findBoxes() : VisitedTiles();
  Value first = b.index(0);
  Values copies = copyKeys(isSome ? boxes.begin : first, first);
  similarity->awaitQueries();
  Type partial = tile(1, b.f32(), TileDistribution::partial);
  State state{b.fill(tile(1, b.f32()), -INFINITY), b.fill(partial, 0),
              b.fill(tile(own.getColumns(), b.f32()), 0),
              carriesKept ? b.fill(partial, 0) : Value()};
  Values carried = carry(state, first, copies);
  state = list     ? takeListed(carried)
          : isSome ? takeSome(carried)
                   : takeAll(carried);
  return divide(state);
}

/// By the sums; rows without a kept key are 0, or means.
Value AttentionWriter::divide(const State &state) {
  Value sums = b.reduce(Combine::add, state.sum, TileDistribution::product);
  SmallVector<Value> operands{sums};
  if (mayBeEmpty) {
    Value kept = carriesKept ? state.kept : searchKept(state, sums);
    operands.push_back(b.reduce(Combine::max, kept, TileDistribution::product));
    if (head.emptyIsMean) {
      operands.push_back(state.most);
    }
  }
  Value zero = b.number(0);
  Value inverse =
      b.map(sums.getType(), operands, [&](ValueRange x, Value, Value) -> Value {
        Value own = arith::DivFOp::create(b, b.number(1), x[0]);
        if (list) {
          Value isNone =
              arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[0], zero);
          return arith::SelectOp::create(b, isNone, zero, own);
        }
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
