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
#include "dialect/dense/DenseOps.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace hova {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expr AttentionEmitter::isBelow(const KeyPanel &panel, Expr bound) {
  Type i32 = e.builder.getI32Type();
  return e.iota(panel.lanes) + toInteger(panel.key, i32) <
         toInteger(bound, i32);
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// The limits of a panel, of which these lanes hold columns, and those tokens;
/// null: all.
void AttentionEmitter::writeLimits(const KeyPanel &panel, Expr isValid,
                                   Expr tokens) {
  ScoreLanes lanes = *scoreLanes;
  lanes.beginLanes(panel.key, panel.lanes, isValid, tokens);
  for (Value condition : form.conditions) {
    if (form.isAboutKeys(condition)) {
      isValid = isValid & lanes.vectorOf(condition);
    }
  }
  e.store(select(isValid, e.splat(kInfinity, panel.lanes), -kInfinity),
          scratch.limits, 0, {panel.lane, panel.lanes});
}

/// limits[j] = +inf where all conditions on key j alone hold, else -inf; lanes
/// without a column have -inf.
void AttentionEmitter::writeLimits() {
  const BlockLayout &blocks = layout.blocks;
  if (blocks.size) {
    return e.forLoop("keys", layout.panels, [&](Expr index) {
      KeyPanel panel = panelAt(index);
      Expr end = (index / blocks.panels + 1) * blocks.size;
      Expr isValid =
          blocks.isWhole ? Expr() : isBelow(panel, min(end, layout.keys));
      writeLimits(panel, isValid, isValid);
    });
  }
  if (layout.hasRanges) {
    Expr panels = (columns + (layout.panel - 1)) / layout.panel;
    return e.forLoop("keys", panels, [&](Expr index) {
      KeyPanel panel = panelAt(index);
      Expr isValid = isBelow(panel, columns);
      writeLimits(panel, isValid,
                  layout.slots ? isBelow(panel, keys) : isValid);
    });
  }
  auto write = [&](Expr column, int64_t lanes, int64_t keys, int64_t all) {
    writeLimits({{}, column, column, column, lanes}, e.laneMask(lanes, all),
                e.laneMask(lanes, keys));
  };
  int64_t whole = layout.keys / layout.panel * layout.panel;
  if (whole) {
    e.forLoop("keys", 0, whole, layout.panel, [&](Expr column) {
      write(column, layout.panel, layout.panel, layout.panel);
    });
  }
  for (int64_t from = whole; from < layout.limitLanes; from += layout.panel) {
    int64_t lanes = std::min(layout.panel, layout.limitLanes - from);
    write(from, lanes, std::clamp<int64_t>(layout.keys - from, 0, lanes),
          std::clamp<int64_t>(layout.columns - from, 0, lanes));
  }
}

/// NaN is not less, so it becomes the limit: -inf where a key is padding, and
/// +inf, whose exponential is NaN again, where it is not.
Expr AttentionEmitter::limited(Expr scores, const KeyPanel &panel) {
  Expr limit = e.load(scratch.limits, 0, {panel.lane, panel.lanes})
                   .broadcast(scores.getType());
  return op.hasSoftmax() ? select(scores < limit, scores, limit)
                         : select(limit > 0, scores, 0);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Expr AttentionEmitter::maskedScores(Expr raw, Expr query, const KeyPanel &panel,
                                    bool isCarried) {
  Expr inside;
  if (!panel.isWhole) {
    inside = e.laneMask(panel.lanes, panel.valid);
    if (!inside && layout.mayLeaveKeys) {
      inside = isBelow(panel, columns);
    }
  }
  Expr isKey = layout.slots ? isBelow(panel, keys) : inside;
  ScoreLanes lanes = *scoreLanes;
  lanes.setIndex(form.region.getQuery(), query);
  lanes.beginLanes(panel.key, panel.lanes, inside, isKey);
  lanes.setRaw(raw);
  Expr score = raw;
  if (scalesEarly()) {
    ScoreYieldOp yield = form.region.getYield();
    score = lanes.vectorOf(leavesFactor() ? form.early : yield.getScore());
    if (isCarried && op.getScores()) {
      storeScores(lanes.vectorOf(yield.getCarried()), query, panel, isKey);
    }
    score = scratch.limits ? limited(score, panel) : score;
  }
  Expr keep = scratch.limits ? Expr() : inside;
  for (Value condition : form.conditions) {
    if (!panel.isWhole && !form.isAboutKeys(condition)) {
      keep = keep & lanes.vectorOf(condition);
    }
  }
  return select(keep, score, op.hasSoftmax() ? -kInfinity : 0);
}

/// The result that is the scores, at the lanes that hold keys: all, or those of
/// the mask.
void AttentionEmitter::storeScores(Expr score, Expr query,
                                   const KeyPanel &panel, Expr isKey) {
  Expr pair = batch * layout.heads + head;
  e.store(
      score,
      {e.buffer(op.getScores()), {pair * layout.queries + query, panel.key}},
      panel.lanes, isKey);
}

void AttentionEmitter::emitScoresAlone() {
  e.forLoop("queries", height, [&](Expr i) {
    forEachPanel([&](const KeyPanel &panel) {
      maskedScores(loadScores(i, panel), row + i, panel, /*isCarried=*/true);
    });
  });
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

/// What maxima are multiplied with: the factor that the region leaves, and the
/// change of base.
double AttentionEmitter::exponent() {
  return (form.leavesFactor() ? form.factor : 1) / std::log(2.0);
}

void AttentionEmitter::emitMaximum(Expr i) {
  auto addScores = [&](const KeyPanel &panel, Expr all) {
    Expr score = loadScores(i, panel);
    bool isTail = panel.valid < panel.lanes;
    bool rewrites = panel.isWhole ? scalesEarly() : rewritesScores();
    if (rewrites || (isTail && !scratch.limits)) {
      score = maskedScores(score, row + i, panel, /*isCarried=*/true);
      e.store(score, scratch.scores, i, panel.scores());
    }
    return combine(Kind::MAXNUMF, all, score);
  };
  e.store(reducePanels(Loops::ofWholePanels, e.splat(-kInfinity, layout.panel),
                       Kind::MAXNUMF, addScores),
          maxima, 0, i);
}

/// Up to `farthest` the product of a maximum in f32 is off by one half at most,
/// which all exponentials of the row share. Far beyond it is off by so much
/// that they are all 0 or infinite.
Expr AttentionEmitter::areFar(Expr from, int64_t height) {
  double largest = std::numeric_limits<float>::max();
  double farthest = std::min(0x1p24 / exponent(), largest);
  int64_t lanes = llvm::PowerOf2Ceil(height);
  return abs(e.load(maxima, 0, {from, lanes, height})) > farthest;
}

/// Whether all scores of a row were -inf if they had been 0 before the masks.
/// The scores themselves may all be -inf too, which is a row of NaN. What a
/// condition on raw scores has masked cannot be asked again.
Expr AttentionEmitter::isEmptyRow(Expr maximum, Expr query) {
  Expr isNone = maximum == -kInfinity;
  bool masksByRaw = llvm::any_of(form.conditions, [this](Value condition) {
    return form.sourcesOf(condition) & ScoreForm::raw;
  });
  if (masksByRaw) {
    return isNone;
  }
  auto addPanel = [&](const KeyPanel &panel, Expr all) {
    Expr zero = e.splat(0, panel.lanes);
    Expr score = maskedScores(scratch.limits ? limited(zero, panel) : zero,
                              query, panel);
    // A bias of NaN keeps its key, but no maximum sees it.
    return combine(Kind::MAXNUMF, all,
                   select(score != -kInfinity, zero, -kInfinity));
  };
  Expr ofZeros = reducePanels(Loops::one, e.splat(-kInfinity, layout.panel),
                              Kind::MAXNUMF, addPanel);
  return isNone & (ofZeros == -kInfinity);
}

/// scores -= maximum, maximum = 0 ; in an empty row, 0 for keys that count all
/// the same
void AttentionEmitter::subtractMaximum(Expr i) {
  Expr maximum = e.load(maxima, 0, i), isEmpty;
  if (canBeEmpty()) {
    isEmpty = isEmptyRow(maximum, row + i);
    maximum = select(isEmpty, 0, maximum);
  }
  forEachPanel([&](const KeyPanel &panel) {
    Expr rest = loadScores(i, panel) - maximum;
    if (isEmpty && op.getEmptyRow() == EmptyRow::uniform) {
      Expr isKey = layout.mayLeaveKeys ? isBelow(panel, columns)
                                       : e.laneMask(panel.lanes, panel.valid);
      Expr none = select(isKey, e.splat(0, panel.lanes), -kInfinity);
      rest = select(isEmpty, none, rest);
    }
    e.store(rest, scratch.scores, i, panel.scores());
  });
  e.store(0, maxima, 0, i);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitExponentials(Expr i) {
  Expr shift = e.load(maxima, 0, i) * -exponent();
  int64_t offset = Exp2Op::offsetOfWeights(layout.mostKeys);
  Accuracy accuracy = layout.pairs ? Accuracy::bf16 : Accuracy::f32;
  auto storeExponentials = [&](const KeyPanel &panel, Expr sum) {
    Expr distance = fma(loadScores(i, panel), exponent(), shift);
    return storeWeights(exp2(distance, offset, accuracy), i, panel, sum);
  };
  Expr total =
      reducePanels(Loops::one, e.splat(0, layout.panel / layout.interleave),
                   Kind::ADD, storeExponentials);
  // That of the maximum is nearly 2^offset: only an empty row has no sum.
  storeInverse(total, i, canBeEmpty() && op.getEmptyRow() == EmptyRow::zero);
}

Expr AttentionEmitter::storeWeights(Expr weights, Expr i, const KeyPanel &panel,
                                    Expr sum) {
  if (!layout.pairs) {
    e.store(weights, scratch.scores, i, panel.scores());
    return combine(Kind::ADD, sum, weights);
  }
  Type type = VectorType::get({panel.lanes}, e.builder.getBF16Type());
  Expr rounded = e.compute<arith::TruncFOp>(type, weights);
  e.store(rounded, scratch.exponentials, i, panel.scores());
  // The sum of what is multiplied: weights add up to one again.
  return e.compute<PairDotOp>(rounded, Expr(1).in(e.builder, type),
                              sum ? sum : e.splat(0, panel.lanes / 2));
}

void AttentionEmitter::storeInverse(Expr sum, Expr i, bool mayBeZero) {
  Expr factor = e.scalar(1) / sum;
  e.store(mayBeZero ? select(sum == 0, 0, factor) : factor, scratch.inverse, i,
          0);
}

void AttentionEmitter::emitWeights() {
  auto storeRow = [&](Expr i) {
    auto store = [&](const KeyPanel &panel, Expr sum) {
      Expr weight = maskedScores(loadScores(i, panel), row + i, panel,
                                 /*isCarried=*/true);
      weight = select(weight == -kInfinity, 0, weight);
      return storeWeights(weight, i, panel, sum);
    };
    if (op.getNormalization() == Normalization::sum) {
      Expr sum = reducePanels(Loops::ofWholePanels,
                              e.splat(0, layout.panel / layout.interleave),
                              Kind::ADD, store);
      return storeInverse(sum, i, /*mayBeZero=*/true);
    }
    forEachPanel([&](const KeyPanel &panel) { store(panel, {}); });
    e.store(1, scratch.inverse, i, 0);
  };
  e.forLoop("queries", height, [&](Expr i) {
    prefetchNext(row + i);
    storeRow(i);
  });
}

void AttentionEmitter::emitSoftmax() {
  // All maxima first: their reductions overlap, and no exponential waits for
  // one.
  e.forLoop("queries", height, [&](Expr i) { emitMaximum(i); });
  Expr anyFar = e.compute<vector::ReductionOp>(Kind::OR, areFar(0, height));
  e.ifThen(anyFar, [&] {
    e.forLoop("queries", height, [&](Expr i) {
      e.ifThen(areFar(i, 1)[0], [&] { subtractMaximum(i); });
    });
  });
  e.forLoop("queries", height, [&](Expr i) {
    prefetchNext(row + i);
    emitExponentials(i);
  });
}

} // namespace hova
