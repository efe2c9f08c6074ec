//===- AttentionSoftmax.cpp - Masks, powers and sums of score rows --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Works on the scores of a row block in scratch. A first loop over rows applies
// scale, bias and masks and finds maxima; a second takes powers and sums.
// Masked scores are -inf, whose power is 0, so the second needs no mask again.
// Which keys are padding is one row for all queries of a batch entry: limits of
// -inf and +inf, applied where scores are stored. Where there is no other mask
// and no bias, scores are read as they are; without limits the last, partial
// panel is treated apart.

#include "dialect/TileOps.h"
#include "passes/tile/AttentionEmitter.h"
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

Value AttentionEmitter::broadcastRow(Value operand, Value query) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  Value row = shape[0] == 1 ? e.index(0) : batch;
  row = e.mul(row, shape[1]);
  row = shape[1] == 1 ? row : e.add(row, head);
  row = e.mul(row, shape[2]);
  return shape[2] == 1 ? row : e.add(row, query);
}

/// limits[j] = key_valid[j] ? +inf : -inf; lanes without a key are not valid.
void AttentionEmitter::writeLimits() {
  Value valid = e.buffer(op.getKeyValid());
  auto write = [&](Value column, int64_t lanes, int64_t keys) {
    Value bytes = e.loadLanes(valid, batch, column, lanes, keys);
    Value isValid = make<arith::CmpIOp>(
        arith::CmpIPredicate::ne, bytes,
        make<arith::ConstantOp>(b.getZeroAttr(bytes.getType())));
    Value limit = make<arith::SelectOp>(isValid, constant(kInfinity, lanes),
                                        constant(-kInfinity, lanes));
    e.storeRow(limit, limits, e.index(0), column, lanes);
  };
  int64_t whole = layout.keys / layout.panel * layout.panel;
  if (whole) {
    e.forLoop(e.index(0), e.index(whole), layout.panel,
              [&](Value column) { write(column, layout.panel, layout.panel); });
  }
  if (whole < layout.limitLanes) {
    write(e.index(whole), layout.limitLanes - whole, layout.keys - whole);
  }
}

/// NaN is not less, so it becomes the limit: -inf where a key is padding, and
/// +inf, whose power is NaN again, where it is not.
Value AttentionEmitter::limited(Value scores, const KeyPanel &panel) {
  Value limit =
      e.loadRow(limits, e.index(0), panel.column, panel.lanes, panel.lanes);
  if (limit.getType() != scores.getType()) {
    limit = make<vector::BroadcastOp>(scores.getType(), limit);
  }
  Value isLess = make<arith::CmpFOp>(arith::CmpFPredicate::OLT, scores, limit);
  return make<arith::SelectOp>(isLess, scores, limit);
}

Value AttentionEmitter::maskedScores(Value row, Value query,
                                     const KeyPanel &panel) {
  int64_t lanes = panel.lanes;
  Value column = panel.column;
  bool isTail = panel.valid < lanes;
  Value score = e.loadRow(scores, row, column, lanes, lanes);
  if (!rewritesScores() && (!isTail || limits)) {
    return score;
  }
  auto isKey = [&](Value bound) {
    Value limit = make<arith::IndexCastOp>(b.getI32Type(), bound);
    return make<arith::CmpIOp>(arith::CmpIPredicate::slt, keyIndices(panel),
                               splat(limit, lanes));
  };
  Value inside;
  if (isTail) {
    inside = e.laneMask(lanes, panel.valid);
  } else if (layout.skipsPanels && layout.keys % layout.panel) {
    inside = isKey(e.index(layout.keys));
  }
  auto load = [&](Value memref, Value at) -> Value {
    auto type = VectorType::get(
        {lanes}, cast<MemRefType>(memref.getType()).getElementType());
    if (!inside) {
      return make<vector::LoadOp>(type, memref, ValueRange{at, column});
    }
    Value zero = make<arith::ConstantOp>(b.getZeroAttr(type));
    return make<vector::MaskedLoadOp>(type, memref, ValueRange{at, column},
                                      inside, zero);
  };
  if (scalesEarly()) {
    Value bias = op.getScoreBias()
                     ? load(e.buffer(op.getScoreBias()),
                            broadcastRow(op.getScoreBias(), query))
                     : constant(0, lanes);
    score = make<math::FmaOp>(score, constant(scale, lanes), bias);
    score = limits ? limited(score, panel) : score;
  }
  Value keep = limits ? Value() : inside;
  auto restrict = [&](Value mask) {
    keep = keep ? make<arith::AndIOp>(keep, mask) : mask;
  };
  if (op.getCausal()) {
    restrict(isKey(causalLimit(query)));
  }
  if (op.getMask()) {
    Value bytes =
        load(e.buffer(op.getMask()), broadcastRow(op.getMask(), query));
    restrict(make<arith::CmpIOp>(
        arith::CmpIPredicate::ne, bytes,
        make<arith::ConstantOp>(b.getZeroAttr(bytes.getType()))));
  }
  if (keep) {
    score = make<arith::SelectOp>(keep, score, constant(-kInfinity, lanes));
  }
  e.storeRow(score, scores, row, column, lanes);
  return score;
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
    all = e.forLoop(
        e.index(0), panels, 1, start, [&](Value index, ValueRange carried) {
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

void AttentionEmitter::emitMaximum(Value i, Value query, Value panels) {
  auto kind = vector::CombiningKind::MAXNUMF;
  Value maximum =
      reducePanels(panels, constant(-kInfinity, layout.panel), kind,
                   [&](const KeyPanel &panel, Value all) {
                     return combine(kind, all, maskedScores(i, query, panel));
                   });
  make<memref::StoreOp>(maximum, inverse, ValueRange{i, e.index(0)});
}

void AttentionEmitter::emitPowers(Value i, Value panels) {
  double exponent = (scalesEarly() ? 1 : scale) / std::log(2.0);
  auto scalar = [&](double value) -> Value {
    return make<arith::ConstantOp>(b.getF32FloatAttr(value));
  };
  Value maximum = e.loadScalar(inverse, i, e.index(0)), isEmpty;
  if (canBeEmpty()) {
    // Without a kept key the maximum is -inf, and so is every score.
    isEmpty = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                  scalar(-kInfinity));
    maximum = make<arith::SelectOp>(isEmpty, scalar(0), maximum);
  }
  Value shift = make<arith::MulFOp>(maximum, scalar(-exponent));
  auto kind = vector::CombiningKind::ADD;
  auto addPowers = [&](const KeyPanel &panel, Value sum) -> Value {
    int64_t lanes = panel.lanes;
    Value score = e.loadRow(scores, i, panel.column, lanes, lanes);
    Value power = make<Exp2Op>(make<math::FmaOp>(
        score, constant(exponent, lanes), splat(shift, lanes)));
    auto type = VectorType::get({lanes}, layout.pairs ? b.getBF16Type()
                                                      : b.getF32Type());
    if (layout.pairs) {
      power = make<arith::TruncFOp>(type, power);
    }
    if (canBeEmpty() && op.getEmptyRow() == EmptyRow::uniform) {
      Value kept = make<arith::CmpFOp>(arith::CmpFPredicate::UNE, score,
                                       constant(-kInfinity, lanes));
      Value one = e.splat(1, type);
      if (panel.valid < lanes) {
        one = make<arith::SelectOp>(e.laneMask(lanes, panel.valid), one,
                                    e.splat(0, type));
      }
      // The maximum does not see NaN: a row of NaN is not an empty one.
      Value filled = make<arith::SelectOp>(kept, power, one);
      power = make<arith::SelectOp>(isEmpty, filled, power);
    }
    e.storeRow(power, layout.pairs ? powers : scores, i, panel.column, lanes);
    if (!layout.pairs) {
      return combine(kind, sum, power);
    }
    // The sum of what is multiplied: weights add up to one again.
    return make<PairDotOp>(power, e.splat(1, type),
                           sum ? sum : constant(0, lanes / 2));
  };
  Value total = reducePanels(
      panels, constant(0, layout.panel / layout.together), kind, addPowers);
  Value factor = make<arith::DivFOp>(scalar(1), total);
  if (canBeEmpty()) {
    Value isZero =
        make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, total, scalar(0));
    factor = make<arith::SelectOp>(isZero, scalar(0), factor);
  }
  make<memref::StoreOp>(factor, inverse, ValueRange{i, e.index(0)});
}

void AttentionEmitter::emitSoftmax(Value row, int64_t height, Value panels) {
  // All maxima first: their reductions overlap, and no power waits for one.
  e.forLoop(e.index(0), e.index(height), 1,
            [&](Value i) { emitMaximum(i, e.add(row, i), panels); });
  e.forLoop(e.index(0), e.index(height), 1, [&](Value i) {
    askForNext(e.add(row, i));
    emitPowers(i, panels);
  });
}

} // namespace hova
