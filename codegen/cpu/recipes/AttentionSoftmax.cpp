//===- AttentionSoftmax.cpp - Masks, exponentials and sums of scores ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Works on the scores of a row block in scratch. A first loop over rows applies
// scale, bias and masks and finds maxima; a second takes exponentials and sums.
// Masked scores are -inf, whose exponential is 0, so the second needs no mask
// again. It subtracts the maximum within the multiply-add that changes the
// base, which a row of large scores cannot bear; such a row loses its maximum
// first. Which keys are padding is one row for all queries of a batch entry:
// limits of -inf and +inf, applied where scores are stored. Where there is no
// other mask and no bias, scores are read as they are; without limits the last,
// partial panel is treated apart.

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

Value AttentionEmitter::keyIndices(const KeyPanel &panel) {
  SmallVector<Attribute> lanes;
  for (int64_t i = 0; i < panel.lanes; ++i) {
    lanes.push_back(b.getI32IntegerAttr(i));
  }
  auto type = VectorType::get({panel.lanes}, b.getI32Type());
  Value iota = make<arith::ConstantOp>(DenseElementsAttr::get(type, lanes));
  Value first = make<arith::IndexCastOp>(b.getI32Type(), panel.column);
  return make<arith::AddIOp>(iota, splat(first, panel.lanes));
}

Value AttentionEmitter::isBelow(const KeyPanel &panel, Value bound) {
  Value limit = make<arith::IndexCastOp>(b.getI32Type(), bound);
  return make<arith::CmpIOp>(arith::CmpIPredicate::slt, keyIndices(panel),
                             splat(limit, panel.lanes));
}

Value AttentionEmitter::findBiasEntry() {
  if (!op.getScoreBias() || !op.getBiasIndex()) {
    return batch;
  }
  Value entry = e.rem(batch, shapeOf(op.getBiasIndex()).back());
  Value number = e.loadScalar(e.buffer(op.getBiasIndex()), e.index(0), entry);
  return make<arith::IndexCastOp>(b.getIndexType(), number);
}

Value AttentionEmitter::broadcastRow(Value operand, Value entry, Value query) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  Value row = shape[0] == 1 ? e.index(0) : entry;
  row = e.mul(row, shape[1]);
  row = shape[1] == 1 ? row : e.add(row, head);
  row = e.mul(row, shape[2]);
  return shape[2] == 1 ? row : e.add(row, query);
}

/// limits[j] = key_valid[j] ? +inf : -inf, and +inf for slots; lanes without a
/// column are not valid.
void AttentionEmitter::writeLimits() {
  Value valid = e.buffer(op.getKeyValid());
  auto isValidKey = [&](Value column, int64_t lanes, int64_t keys) -> Value {
    Value bytes = e.loadLanes(valid, batch, column, lanes, keys);
    return make<arith::CmpIOp>(
        arith::CmpIPredicate::ne, bytes,
        make<arith::ConstantOp>(b.getZeroAttr(bytes.getType())));
  };
  auto store = [&](Value isValid, Value column, int64_t lanes) {
    Value limit = make<arith::SelectOp>(isValid, constant(kInfinity, lanes),
                                        constant(-kInfinity, lanes));
    e.storeRow(limit, limits, e.index(0), column, lanes);
  };
  int64_t whole = layout.keys / layout.panel * layout.panel;
  if (whole) {
    e.forLoop("keys", e.index(0), e.index(whole), layout.panel,
              [&](Value column) {
                store(isValidKey(column, layout.panel, layout.panel), column,
                      layout.panel);
              });
  }
  for (int64_t from = whole; from < layout.limitLanes; from += layout.panel) {
    int64_t lanes = std::min(layout.panel, layout.limitLanes - from);
    int64_t keys = std::clamp<int64_t>(layout.keys - from, 0, lanes);
    int64_t all = std::clamp<int64_t>(layout.columns - from, 0, lanes);
    Value isValid = keys ? isValidKey(e.index(from), lanes, keys) : Value();
    if (layout.slots) {
      Value isSlot =
          make<arith::XOrIOp>(e.laneMask(lanes, keys), e.laneMask(lanes, all));
      isValid = isValid ? make<arith::OrIOp>(isValid, isSlot) : isSlot;
    }
    store(isValid, e.index(from), lanes);
  }
}

/// NaN is not less, so it becomes the limit: -inf where a key is padding, and
/// +inf, whose exponential is NaN again, where it is not.
Value AttentionEmitter::limited(Value scores, const KeyPanel &panel) {
  Value limit =
      e.loadRow(limits, e.index(0), panel.column, panel.lanes, panel.lanes);
  if (limit.getType() != scores.getType()) {
    limit = make<vector::BroadcastOp>(scores.getType(), limit);
  }
  Value isLess = make<arith::CmpFOp>(arith::CmpFPredicate::OLT, scores, limit);
  return make<arith::SelectOp>(isLess, scores, limit);
}

Value AttentionEmitter::maskedScores(Value score, Value query,
                                     const KeyPanel &panel, bool isKept) {
  int64_t lanes = panel.lanes;
  Value column = panel.column;
  Value inside;
  if (panel.valid < lanes) {
    inside = e.laneMask(lanes, panel.valid);
  } else if (layout.skipsPanels && layout.keys % layout.panel) {
    inside = isBelow(panel, e.index(layout.keys));
  }
  // Biases and masks are about keys, not about slots.
  Value isSlot, isKey = inside;
  if (layout.slots) {
    isKey = isBelow(panel, e.index(layout.keys));
    isSlot = make<arith::XOrIOp>(isKey, e.laneMask(lanes, lanes));
  }
  auto load = [&](Value memref, Value at) -> Value {
    auto type = VectorType::get(
        {lanes}, cast<MemRefType>(memref.getType()).getElementType());
    if (!isKey) {
      return make<vector::LoadOp>(type, memref, ValueRange{at, column});
    }
    Value zero = make<arith::ConstantOp>(b.getZeroAttr(type));
    return make<vector::MaskedLoadOp>(type, memref, ValueRange{at, column},
                                      isKey, zero);
  };
  if (scalesEarly()) {
    Value bias = op.getScoreBias()
                     ? load(e.buffer(op.getScoreBias()),
                            broadcastRow(op.getScoreBias(), biasEntry, query))
                     : constant(0, lanes);
    score = make<math::FmaOp>(score, constant(scale, lanes), bias);
    if (isKept && op.getScores()) {
      storeScores(score, query, panel, isKey);
    }
    score = limits ? limited(score, panel) : score;
  }
  Value keep = limits ? Value() : inside;
  auto restrict = [&](Value mask) {
    mask = isSlot ? make<arith::OrIOp>(mask, isSlot) : mask;
    keep = keep ? make<arith::AndIOp>(keep, mask) : mask;
  };
  if (op.getCausal()) {
    restrict(isBelow(panel, causalLimit(query)));
  }
  if (op.getMask()) {
    Value bytes =
        load(e.buffer(op.getMask()), broadcastRow(op.getMask(), batch, query));
    restrict(make<arith::CmpIOp>(
        arith::CmpIPredicate::ne, bytes,
        make<arith::ConstantOp>(b.getZeroAttr(bytes.getType()))));
  }
  return keep ? make<arith::SelectOp>(keep, score, constant(-kInfinity, lanes))
              : score;
}

/// The result that is the scores, at the lanes that hold keys: all, or those of
/// the mask.
void AttentionEmitter::storeScores(Value score, Value query,
                                   const KeyPanel &panel, Value isKey) {
  Value row = e.add(e.mul(batch, layout.heads), head);
  row = e.add(e.mul(row, layout.queries), query);
  Value place[] = {row, panel.column};
  Value target = e.buffer(op.getScores());
  if (isKey) {
    make<vector::MaskedStoreOp>(target, ValueRange(place), isKey, score);
  } else {
    make<vector::StoreOp>(score, target, ValueRange(place));
  }
}

Value AttentionEmitter::storeMaskedScores(Value score, Value i, Value query,
                                          const KeyPanel &panel) {
  Value masked = maskedScores(score, query, panel, /*isKept=*/true);
  e.storeRow(masked, scores, i, panel.column, panel.lanes);
  return masked;
}

void AttentionEmitter::emitScoresAlone(Value row, int64_t height,
                                       Value panels) {
  e.forLoop("queries", e.index(0), e.index(height), 1, [&](Value i) {
    forEachPanel(panels, [&](const KeyPanel &panel) {
      Value score =
          e.loadRow(scores, i, panel.column, panel.lanes, panel.lanes);
      maskedScores(score, e.add(row, i), panel, /*isKept=*/true);
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
    Value panels, Value start, vector::CombiningKind kind,
    llvm::function_ref<Value(const KeyPanel &, Value)> body) {
  Value all;
  if (layout.panels &&
      (layout.skipsPanels || layout.panels > kUnrolledPanels)) {
    all =
        e.forLoop("keys", e.index(0), panels, 1, start,
                  [&](Value index, ValueRange carried) {
                    return SmallVector<Value>{body(panelAt(index), carried[0])};
                  })[0];
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

/// What maxima are multiplied with: the scale, unless scores have it already,
/// the inverse temperature and the change of base.
double AttentionEmitter::exponent() {
  return (scalesEarly() ? 1 : scale) / temperature / std::log(2.0);
}

/// The product of a maximum in f32 is off by one half at most up to here, which
/// all exponentials of the row share. Far beyond it is off by so much that they
/// are all 0 or infinite.
static double farthestMaximum(double exponent) {
  double largest = std::numeric_limits<float>::max();
  return std::min(0x1p24 / exponent, largest);
}

void AttentionEmitter::emitMaximum(Value i, Value query, Value panels) {
  auto kind = vector::CombiningKind::MAXNUMF;
  auto addScores = [&](const KeyPanel &panel, Value all) {
    int64_t lanes = panel.lanes;
    Value score = e.loadRow(scores, i, panel.column, lanes, lanes);
    bool isTail = panel.valid < lanes;
    if (rewritesScores() || (isTail && !limits)) {
      score = storeMaskedScores(score, i, query, panel);
    }
    return combine(kind, all, score);
  };
  Value maximum =
      reducePanels(panels, constant(-kInfinity, layout.panel), kind, addScores);
  make<memref::StoreOp>(maximum, maxima, ValueRange{e.index(0), i});
}

Value AttentionEmitter::areFar(Value from, int64_t height) {
  int64_t lanes = llvm::PowerOf2Ceil(height);
  Value own = e.loadRow(maxima, e.index(0), from, lanes, height);
  return make<arith::CmpFOp>(arith::CmpFPredicate::OGT, make<math::AbsFOp>(own),
                             constant(farthestMaximum(exponent()), lanes));
}

/// Whether all scores of a row were -inf if they had been 0 before the masks.
/// The scores themselves may all be -inf too, which is a row of NaN.
Value AttentionEmitter::isEmptyRow(Value query, Value panels) {
  auto kind = vector::CombiningKind::MAXNUMF;
  auto addPanel = [&](const KeyPanel &panel, Value all) {
    Value zero = constant(0, panel.lanes);
    Value none = constant(-kInfinity, panel.lanes);
    Value score =
        maskedScores(limits ? limited(zero, panel) : zero, query, panel);
    // A bias of NaN keeps its key, but no maximum sees it.
    Value isKept = make<arith::CmpFOp>(arith::CmpFPredicate::UNE, score, none);
    return combine(kind, all, make<arith::SelectOp>(isKept, zero, none));
  };
  Value maximum =
      reducePanels(panels, constant(-kInfinity, layout.panel), kind, addPanel);
  return make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                             e.scalar(-kInfinity));
}

/// scores -= maximum, maximum = 0 ; in an empty row, 0 for keys that count all
/// the same
void AttentionEmitter::subtractMaximum(Value i, Value query, Value panels) {
  Value maximum = e.loadScalar(maxima, e.index(0), i), isEmpty;
  if (canBeEmpty()) {
    isEmpty = isEmptyRow(query, panels);
    maximum = make<arith::SelectOp>(isEmpty, e.scalar(0), maximum);
  }
  forEachPanel(panels, [&](const KeyPanel &panel) {
    int64_t lanes = panel.lanes;
    Value score = e.loadRow(scores, i, panel.column, lanes, lanes);
    Value rest = make<arith::SubFOp>(score, splat(maximum, lanes));
    if (canBeEmpty() && op.getEmptyRow() == EmptyRow::uniform) {
      Value zero = constant(0, lanes);
      if (panel.valid < lanes) {
        zero = make<arith::SelectOp>(e.laneMask(lanes, panel.valid), zero,
                                     constant(-kInfinity, lanes));
      }
      rest = make<arith::SelectOp>(isEmpty, zero, rest);
    }
    e.storeRow(rest, scores, i, panel.column, lanes);
  });
  make<memref::StoreOp>(e.scalar(0), maxima, ValueRange{e.index(0), i});
}

void AttentionEmitter::emitExponentials(Value i, Value panels) {
  Value maximum = e.loadScalar(maxima, e.index(0), i);
  Value shift = make<arith::MulFOp>(maximum, e.scalar(-exponent()));
  auto kind = vector::CombiningKind::ADD;
  auto storeExponentials = [&](const KeyPanel &panel, Value sum) -> Value {
    int64_t lanes = panel.lanes;
    Value score = e.loadRow(scores, i, panel.column, lanes, lanes);
    Value exponential = make<Exp2Op>(make<math::FmaOp>(
        score, constant(exponent(), lanes), splat(shift, lanes)));
    if (!layout.pairs) {
      e.storeRow(exponential, scores, i, panel.column, lanes);
      return combine(kind, sum, exponential);
    }
    auto type = VectorType::get({lanes}, b.getBF16Type());
    Value rounded = make<arith::TruncFOp>(type, exponential);
    e.storeRow(rounded, exponentials, i, panel.column, lanes);
    // The sum of what is multiplied: weights add up to one again.
    return make<PairDotOp>(rounded, e.splat(1, type),
                           sum ? sum : constant(0, lanes / 2));
  };
  Value total =
      reducePanels(panels, constant(0, layout.panel / layout.interleave), kind,
                   storeExponentials);
  Value factor = make<arith::DivFOp>(e.scalar(1), total);
  if (canBeEmpty() && op.getEmptyRow() == EmptyRow::zero) {
    // The exponential of the maximum is nearly 1: only an empty row has no sum.
    Value isEmpty =
        make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, total, e.scalar(0));
    factor = make<arith::SelectOp>(isEmpty, e.scalar(0), factor);
  }
  make<memref::StoreOp>(factor, inverse, ValueRange{i, e.index(0)});
}

void AttentionEmitter::emitSoftmax(Value row, int64_t height, Value panels) {
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
