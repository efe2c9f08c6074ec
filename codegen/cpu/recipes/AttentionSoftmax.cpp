//===- AttentionSoftmax.cpp - Masks, exponentials and sums of scores ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Works on the scores of a row block in scratch. A first loop over rows writes
// what the region makes of them (ScoreLanes) and finds maxima; a second takes
// exponentials and sums.
// Masked scores are -inf, whose exponential is 0, so the second needs no mask
// again. It subtracts the maximum within the multiply-add that changes the
// base, which a row of large scores cannot bear; such a row loses its maximum
// first. Conditions on keys alone, such as padding, are one row for all queries
// of a batch entry and head: limits of -inf and +inf, applied where scores are
// stored. Where the region does nothing else but scale, scores are read as they
// are; without limits the last, partial panel is treated apart.

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/AttentionEmitter.h"
#include "dialect/DenseOps.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace hova {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Panels whose vectors of one row stand side by side, without a loop.
static constexpr int64_t kUnrolledPanels = 8;

Value AttentionEmitter::isBelow(const KeyPanel &panel, Value bound) {
  SmallVector<Attribute> lanes;
  for (int64_t i = 0; i < panel.lanes; ++i) {
    lanes.push_back(b.getI32IntegerAttr(static_cast<int32_t>(i)));
  }
  auto type = VectorType::get({panel.lanes}, b.getI32Type());
  Value iota = make<arith::ConstantOp>(DenseElementsAttr::get(type, lanes));
  Value first = make<arith::IndexCastOp>(b.getI32Type(), panel.key);
  Value limit = make<arith::IndexCastOp>(b.getI32Type(), bound);
  return make<arith::CmpIOp>(
      arith::CmpIPredicate::slt,
      make<arith::AddIOp>(iota, e.splat(first, panel.lanes)),
      e.splat(limit, panel.lanes));
}

/// The limits of a panel, of which these lanes hold columns, and those tokens;
/// null: all.
void AttentionEmitter::writeLimits(const KeyPanel &panel, Value isValid,
                                   Value tokens) {
  int64_t lanes = panel.lanes;
  ScoreLanes own = *scoreLanes;
  own.beginLanes(panel.key, lanes, isValid, tokens);
  for (Value condition : form.conditions) {
    if (form.isAboutKeys(condition)) {
      Value holds = own.vectorOf(condition);
      isValid = isValid ? make<arith::AndIOp>(isValid, holds) : holds;
    }
  }
  Value limit = make<arith::SelectOp>(isValid, e.splat(kInfinity, lanes),
                                      e.splat(-kInfinity, lanes));
  e.storeRow(limit, limits, e.index(0), panel.lane, lanes);
}

/// limits[j] = +inf where all conditions on key j alone hold, else -inf; lanes
/// without a column have -inf.
void AttentionEmitter::writeLimits() {
  if (layout.blocks.size) {
    return e.forLoop(
        "keys", e.index(0), e.index(layout.panels), 1, [&](Value index) {
          KeyPanel panel = panelAt(index);
          Value isValid =
              layout.blocks.isWhole ? Value() : isBelow(panel, endOf(panel));
          writeLimits(panel, isValid, isValid);
        });
  }
  auto store = [&](Value column, int64_t lanes, int64_t keys, int64_t all) {
    writeLimits({{}, column, column, column, lanes, all},
                all < lanes ? e.laneMask(lanes, all) : Value(),
                keys < lanes ? e.laneMask(lanes, keys) : Value());
  };
  int64_t whole = layout.keys / layout.panel * layout.panel;
  if (whole) {
    e.forLoop("keys", e.index(0), e.index(whole), layout.panel,
              [&](Value column) {
                store(column, layout.panel, layout.panel, layout.panel);
              });
  }
  for (int64_t from = whole; from < layout.limitLanes; from += layout.panel) {
    int64_t lanes = std::min(layout.panel, layout.limitLanes - from);
    store(e.index(from), lanes,
          std::clamp<int64_t>(layout.keys - from, 0, lanes),
          std::clamp<int64_t>(layout.columns - from, 0, lanes));
  }
}

/// NaN is not less, so it becomes the limit: -inf where a key is padding, and
/// +inf, whose exponential is NaN again, where it is not.
Value AttentionEmitter::limited(Value scores, const KeyPanel &panel) {
  Value limit =
      e.loadRow(limits, e.index(0), panel.lane, panel.lanes, panel.lanes);
  if (limit.getType() != scores.getType()) {
    limit = make<vector::BroadcastOp>(scores.getType(), limit);
  }
  if (!op.hasSoftmax()) {
    Value zero = e.splat(0, cast<VectorType>(limit.getType()));
    Value isKept = make<arith::CmpFOp>(arith::CmpFPredicate::OGT, limit, zero);
    return make<arith::SelectOp>(isKept, scores, zero);
  }
  Value isLess = make<arith::CmpFOp>(arith::CmpFPredicate::OLT, scores, limit);
  return make<arith::SelectOp>(isLess, scores, limit);
}

Value AttentionEmitter::maskedScores(Value raw, Value query,
                                     const KeyPanel &panel, bool isCarried) {
  int64_t lanes = panel.lanes;
  Value inside;
  if (panel.isWhole) {
    // All lanes hold keys.
  } else if (panel.valid < lanes) {
    inside = e.laneMask(lanes, panel.valid);
  } else if (layout.mayLeaveKeys) {
    inside = isBelow(panel, layout.keys);
  }
  Value isKey = layout.slots ? isBelow(panel, layout.keys) : inside;
  ScoreLanes own = *scoreLanes;
  own.setIndex(form.region.getQuery(), query);
  own.beginLanes(panel.key, lanes, inside, isKey);
  own.setRaw(raw);
  Value score = raw;
  if (scalesEarly()) {
    ScoreYieldOp yield = form.region.getYield();
    score = own.vectorOf(leavesFactor() ? form.early : yield.getScore());
    if (isCarried && op.getScores()) {
      storeScores(own.vectorOf(yield.getCarried()), query, panel, isKey);
    }
    score = limits ? limited(score, panel) : score;
  }
  Value keep = limits ? Value() : inside;
  for (Value condition : form.conditions) {
    if (!panel.isWhole && !form.isAboutKeys(condition)) {
      Value holds = own.vectorOf(condition);
      keep = keep ? make<arith::AndIOp>(keep, holds) : holds;
    }
  }
  double masked = op.hasSoftmax() ? -kInfinity : 0;
  return keep ? make<arith::SelectOp>(keep, score, e.splat(masked, lanes))
              : score;
}

/// The result that is the scores, at the lanes that hold keys: all, or those of
/// the mask.
void AttentionEmitter::storeScores(Value score, Value query,
                                   const KeyPanel &panel, Value isKey) {
  Value row = e.add(e.mul(batch, layout.heads), head);
  row = e.add(e.mul(row, layout.queries), query);
  Value place[] = {row, panel.key};
  Value target = e.buffer(op.getScores());
  if (isKey) {
    make<vector::MaskedStoreOp>(target, ValueRange(place), isKey, score);
  } else {
    make<vector::StoreOp>(score, target, ValueRange(place));
  }
}

Value AttentionEmitter::storeMaskedScores(Value score, Value i, Value query,
                                          const KeyPanel &panel) {
  Value masked = maskedScores(score, query, panel, /*isCarried=*/true);
  e.storeRow(masked, scores, i, panel.column, panel.lanes);
  return masked;
}

void AttentionEmitter::emitScoresAlone(Value row, int64_t height,
                                       const Panels &panels) {
  e.forLoop("queries", e.index(0), e.index(height), 1, [&](Value i) {
    forEachPanel(panels, [&](const KeyPanel &panel) {
      Value score =
          e.loadRow(scores, i, panel.column, panel.lanes, panel.lanes);
      maskedScores(score, e.add(row, i), panel, /*isCarried=*/true);
    });
  });
}

static arith::FastMathFlags flagsOf(vector::CombiningKind kind) {
  using arith::FastMathFlags;
  return kind == vector::CombiningKind::ADD
             ? FastMathFlags::reassoc
             : FastMathFlags::nnan | FastMathFlags::nsz;
}

Value AttentionEmitter::combine(vector::CombiningKind kind, Value all,
                                Value own) {
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(), flagsOf(kind));
  return all ? vector::makeArithReduction(b, loc, kind, all, own, flags) : own;
}

Value AttentionEmitter::reducePanels(
    Loops loops, const Panels &panels, Value start, vector::CombiningKind kind,
    llvm::function_ref<Value(const KeyPanel &, Value)> body) {
  Value all;
  auto loop = [&](Value begin, Value end, bool isWhole) {
    all = e.forLoop("keys", begin, end, 1, all ? all : start,
                    [&](Value turn, ValueRange carried) {
                      KeyPanel panel = visitedPanel(panels, turn, isWhole);
                      return SmallVector<Value>{body(panel, carried[0])};
                    })[0];
  };
  bool isListed = layout.blocks.size > 0;
  if (layout.skipsPanels && !isListed && loops == Loops::ofWholePanels &&
      visited.haveWhole()) {
    loop(panels.begin, panels.wholeBegin, false);
    loop(panels.wholeBegin, panels.wholeEnd, true);
    loop(panels.wholeEnd, panels.end, false);
  } else if (isListed || (layout.panels && (layout.skipsPanels ||
                                            layout.panels > kUnrolledPanels))) {
    loop(panels.begin, panels.end, false);
  } else {
    for (int64_t i = 0; i < layout.panels; ++i) {
      all = body(panelAt(e.index(i)), all);
    }
  }
  if (layout.tailLanes) {
    auto lanesOf = [](Value vector) {
      return cast<VectorType>(vector.getType()).getNumElements();
    };
    Value own = body(tailPanel(), {});
    int64_t lanes = lanesOf(own);
    for (int64_t from = 0; all && from < lanesOf(all); from += lanes) {
      own = combine(kind, own,
                    make<vector::ExtractStridedSliceOp>(
                        all, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{lanes},
                        ArrayRef<int64_t>{1}));
    }
    all = own;
  }
  return make<vector::ReductionOp>(kind, all, flagsOf(kind));
}

/// What maxima are multiplied with: the factor that the region leaves, and the
/// change of base.
double AttentionEmitter::exponent() {
  return (form.leavesFactor() ? form.factor : 1) / std::log(2.0);
}

/// The product of a maximum in f32 is off by one half at most up to here, which
/// all exponentials of the row share. Far beyond it is off by so much that they
/// are all 0 or infinite.
static double farthestMaximum(double exponent) {
  double largest = std::numeric_limits<float>::max();
  return std::min(0x1p24 / exponent, largest);
}

void AttentionEmitter::emitMaximum(Value i, Value query, const Panels &panels) {
  auto kind = vector::CombiningKind::MAXNUMF;
  auto addScores = [&](const KeyPanel &panel, Value all) {
    int64_t lanes = panel.lanes;
    Value score = e.loadRow(scores, i, panel.column, lanes, lanes);
    bool isTail = panel.valid < lanes;
    bool rewrites = panel.isWhole ? scalesEarly() : rewritesScores();
    if (rewrites || (isTail && !limits)) {
      score = storeMaskedScores(score, i, query, panel);
    }
    return combine(kind, all, score);
  };
  Value maximum =
      reducePanels(Loops::ofWholePanels, panels,
                   e.splat(-kInfinity, layout.panel), kind, addScores);
  make<memref::StoreOp>(maximum, maxima, ValueRange{e.index(0), i});
}

Value AttentionEmitter::areFar(Value from, int64_t height) {
  int64_t lanes = llvm::PowerOf2Ceil(height);
  Value own = e.loadRow(maxima, e.index(0), from, lanes, height);
  return make<arith::CmpFOp>(arith::CmpFPredicate::OGT, make<math::AbsFOp>(own),
                             e.splat(farthestMaximum(exponent()), lanes));
}

/// Whether all scores of a row were -inf if they had been 0 before the masks.
/// The scores themselves may all be -inf too, which is a row of NaN. What a
/// condition on raw scores has masked cannot be asked again.
Value AttentionEmitter::isEmptyRow(Value maximum, Value query,
                                   const Panels &panels) {
  Value isNone = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                     e.scalar(-kInfinity));
  bool masksByRaw = llvm::any_of(form.conditions, [this](Value condition) {
    return form.sourcesOf(condition) & ScoreForm::raw;
  });
  if (masksByRaw) {
    return isNone;
  }
  auto kind = vector::CombiningKind::MAXNUMF;
  auto addPanel = [&](const KeyPanel &panel, Value all) {
    Value zero = e.splat(0, panel.lanes);
    Value none = e.splat(-kInfinity, panel.lanes);
    Value score =
        maskedScores(limits ? limited(zero, panel) : zero, query, panel);
    // A bias of NaN keeps its key, but no maximum sees it.
    Value isKept = make<arith::CmpFOp>(arith::CmpFPredicate::UNE, score, none);
    return combine(kind, all, make<arith::SelectOp>(isKept, zero, none));
  };
  Value ofZeros = reducePanels(
      Loops::one, panels, e.splat(-kInfinity, layout.panel), kind, addPanel);
  Value wereNone = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, ofZeros,
                                       e.scalar(-kInfinity));
  return make<arith::AndIOp>(isNone, wereNone);
}

/// scores -= maximum, maximum = 0 ; in an empty row, 0 for keys that count all
/// the same
void AttentionEmitter::subtractMaximum(Value i, Value query,
                                       const Panels &panels) {
  Value maximum = e.loadScalar(maxima, e.index(0), i), isEmpty;
  if (canBeEmpty()) {
    isEmpty = isEmptyRow(maximum, query, panels);
    maximum = make<arith::SelectOp>(isEmpty, e.scalar(0), maximum);
  }
  forEachPanel(panels, [&](const KeyPanel &panel) {
    int64_t lanes = panel.lanes;
    Value score = e.loadRow(scores, i, panel.column, lanes, lanes);
    Value rest = make<arith::SubFOp>(score, e.splat(maximum, lanes));
    if (canBeEmpty() && op.getEmptyRow() == EmptyRow::uniform) {
      Value zero = e.splat(0, lanes);
      if (panel.valid < lanes) {
        zero = make<arith::SelectOp>(e.laneMask(lanes, panel.valid), zero,
                                     e.splat(-kInfinity, lanes));
      }
      rest = make<arith::SelectOp>(isEmpty, zero, rest);
    }
    e.storeRow(rest, scores, i, panel.column, lanes);
  });
  make<memref::StoreOp>(e.scalar(0), maxima, ValueRange{e.index(0), i});
}

void AttentionEmitter::emitExponentials(Value i, const Panels &panels) {
  Value maximum = e.loadScalar(maxima, e.index(0), i);
  Value shift = make<arith::MulFOp>(maximum, e.scalar(-exponent()));
  int64_t offset = Exp2Op::offsetOfWeights(layout.mostKeys);
  Accuracy accuracy = layout.pairs ? Accuracy::bf16 : Accuracy::f32;
  auto kind = vector::CombiningKind::ADD;
  auto storeExponentials = [&](const KeyPanel &panel, Value sum) -> Value {
    int64_t lanes = panel.lanes;
    Value score = e.loadRow(scores, i, panel.column, lanes, lanes);
    Value exponential =
        make<Exp2Op>(make<math::FmaOp>(score, e.splat(exponent(), lanes),
                                       e.splat(shift, lanes)),
                     offset, accuracy);
    return storeWeights(exponential, i, panel, sum);
  };
  Value total = reducePanels(Loops::one, panels,
                             e.splat(0, layout.panel / layout.interleave), kind,
                             storeExponentials);
  // That of the maximum is nearly 2^offset: only an empty row has no sum.
  storeInverse(total, i, canBeEmpty() && op.getEmptyRow() == EmptyRow::zero);
}

Value AttentionEmitter::storeWeights(Value weights, Value i,
                                     const KeyPanel &panel, Value sum) {
  int64_t lanes = panel.lanes;
  if (!layout.pairs) {
    e.storeRow(weights, scores, i, panel.column, lanes);
    return combine(vector::CombiningKind::ADD, sum, weights);
  }
  auto type = VectorType::get({lanes}, b.getBF16Type());
  Value rounded = make<arith::TruncFOp>(type, weights);
  e.storeRow(rounded, exponentials, i, panel.column, lanes);
  // The sum of what is multiplied: weights add up to one again.
  return make<PairDotOp>(rounded, e.splat(1, type),
                         sum ? sum : e.splat(0, lanes / 2));
}

void AttentionEmitter::storeInverse(Value sum, Value i, bool mayBeZero) {
  Value factor = make<arith::DivFOp>(e.scalar(1), sum);
  if (mayBeZero) {
    Value isZero =
        make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, sum, e.scalar(0));
    factor = make<arith::SelectOp>(isZero, e.scalar(0), factor);
  }
  make<memref::StoreOp>(factor, inverse, ValueRange{i, e.index(0)});
}

void AttentionEmitter::emitWeights(Value row, int64_t height,
                                   const Panels &panels) {
  bool divides = op.getNormalization() == Normalization::sum;
  e.forLoop("queries", e.index(0), e.index(height), 1, [&](Value i) {
    Value query = e.add(row, i);
    prefetchNext(query);
    auto store = [&](const KeyPanel &panel, Value sum) {
      int64_t lanes = panel.lanes;
      Value raw = e.loadRow(scores, i, panel.column, lanes, lanes);
      Value weight = maskedScores(raw, query, panel, /*isCarried=*/true);
      Value isMasked = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, weight,
                                           e.splat(-kInfinity, lanes));
      weight = make<arith::SelectOp>(isMasked, e.splat(0, lanes), weight);
      return storeWeights(weight, i, panel, sum);
    };
    if (divides) {
      Value sum = reducePanels(Loops::ofWholePanels, panels,
                               e.splat(0, layout.panel / layout.interleave),
                               vector::CombiningKind::ADD, store);
      return storeInverse(sum, i, /*mayBeZero=*/true);
    }
    forEachPanel(panels, [&](const KeyPanel &panel) { store(panel, Value()); });
    make<memref::StoreOp>(e.scalar(1), inverse, ValueRange{i, e.index(0)});
  });
}

void AttentionEmitter::emitSoftmax(Value row, int64_t height,
                                   const Panels &panels) {
  auto forEachQuery = [&](llvm::function_ref<void(Value, Value)> body) {
    e.forLoop("queries", e.index(0), e.index(height), 1,
              [&](Value i) { body(i, e.add(row, i)); });
  };
  // All maxima first: their reductions overlap, and no exponential waits for
  // one.
  forEachQuery([&](Value i, Value query) { emitMaximum(i, query, panels); });
  Value anyFar = make<vector::ReductionOp>(vector::CombiningKind::OR,
                                           areFar(e.index(0), height));
  e.ifThen(anyFar, [&] {
    forEachQuery([&](Value i, Value query) {
      Value isFar = make<vector::ExtractOp>(areFar(i, 1), 0);
      e.ifThen(isFar, [&] { subtractMaximum(i, query, panels); });
    });
  });
  forEachQuery([&](Value i, Value query) {
    prefetchNext(query);
    emitExponentials(i, panels);
  });
}

} // namespace hova
