//===- AttentionSoftmax.cpp - Masks, powers and sums of score rows --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Works on the scores of a row block in scratch. A first loop over rows applies
// scale, bias and masks and finds maxima; a second takes powers and sums.
// Masked scores are -inf, so the second needs no mask again. Where there is no
// mask or bias, only the last, partial panel is treated apart.

#include "dialect/TileOps.h"
#include "passes/tile/AttentionEmitter.h"
#include <cmath>

using namespace mlir;

namespace hova {

Value AttentionEmitter::keyIndices(Value panel) {
  SmallVector<Attribute> lanes;
  for (int64_t i = 0; i < layout.panel; ++i) {
    lanes.push_back(b.getI32IntegerAttr(i));
  }
  auto type = VectorType::get({layout.panel}, b.getI32Type());
  Value iota = make<arith::ConstantOp>(DenseElementsAttr::get(type, lanes));
  Value first =
      make<arith::IndexCastOp>(b.getI32Type(), e.mul(panel, layout.panel));
  return make<arith::AddIOp>(iota, splat(first));
}

Value AttentionEmitter::broadcastRow(Value operand, Value query) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  Value row = shape[0] == 1 ? e.index(0) : batch;
  row = e.mul(row, shape[1]);
  row = shape[1] == 1 ? row : e.add(row, head);
  row = e.mul(row, shape[2]);
  return shape[2] == 1 ? row : e.add(row, query);
}

Value AttentionEmitter::maskedScores(Value row, Value query, Value panel,
                                     bool isTail) {
  Value column = e.mul(panel, layout.panel);
  Value score = e.loadRow(scores, row, column, layout.panel, layout.panel);
  if (!isGeneral() && !isTail) {
    return score;
  }
  auto isKey = [&](Value bound) {
    Value limit = make<arith::IndexCastOp>(b.getI32Type(), bound);
    return make<arith::CmpIOp>(arith::CmpIPredicate::slt, keyIndices(panel),
                               splat(limit));
  };
  Value inside;
  if (hasTail()) {
    inside = isTail && !isGeneral()
                 ? e.laneMask(layout.panel, layout.keys % layout.panel)
                 : isKey(e.index(layout.keys));
  }
  auto load = [&](Value memref, Value at) -> Value {
    auto type = VectorType::get(
        {layout.panel}, cast<MemRefType>(memref.getType()).getElementType());
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
                     : constant(0);
    score = make<math::FmaOp>(score, constant(scale), bias);
  }
  Value keep = inside;
  auto restrict = [&](Value mask) {
    keep = keep ? make<arith::AndIOp>(keep, mask) : mask;
  };
  auto restrictBytes = [&](Value memref, Value at) {
    Value bytes = load(memref, at);
    restrict(make<arith::CmpIOp>(
        arith::CmpIPredicate::ne, bytes,
        make<arith::ConstantOp>(b.getZeroAttr(bytes.getType()))));
  };
  if (op.getCausal()) {
    restrict(isKey(causalLimit(query)));
  }
  if (op.getKeyValid()) {
    restrictBytes(e.buffer(op.getKeyValid()), batch);
  }
  if (op.getMask()) {
    restrictBytes(e.buffer(op.getMask()), broadcastRow(op.getMask(), query));
  }
  if (keep) {
    score = make<arith::SelectOp>(
        keep, score, constant(-std::numeric_limits<double>::infinity()));
  }
  e.storeRow(score, scores, row, column, layout.panel);
  return score;
}

Value AttentionEmitter::foldPanels(
    Value panels, Value start,
    llvm::function_ref<Value(Value, bool, Value)> body) {
  bool tailApart = hasTail() && !isGeneral();
  Value whole = tailApart ? e.index(layout.panels - 1) : panels;
  Value result = e.forLoop(
      e.index(0), whole, 1, start, [&](Value panel, ValueRange carried) {
        return SmallVector<Value>{body(panel, false, carried[0])};
      })[0];
  return tailApart ? body(whole, true, result) : result;
}

void AttentionEmitter::emitSoftmax(Value row, int64_t height, Value panels) {
  double infinity = std::numeric_limits<double>::infinity();
  double exponent = (scalesEarly() ? 1 : scale) / std::log(2.0);
  Value zero = e.index(0);
  auto scalar = [&](double value) -> Value {
    return make<arith::ConstantOp>(b.getF32FloatAttr(value));
  };
  // All maxima first: their reductions overlap, and no power waits for one.
  e.forLoop(zero, e.index(height), 1, [&](Value i) {
    Value query = e.add(row, i);
    Value top = foldPanels(panels, constant(-infinity),
                           [&](Value panel, bool isTail, Value carried) {
                             return make<arith::MaxNumFOp>(
                                 carried, maskedScores(i, query, panel, isTail),
                                 kMaxFlags);
                           });
    Value maximum = make<vector::ReductionOp>(vector::CombiningKind::MAXNUMF,
                                              top, kMaxFlags);
    make<memref::StoreOp>(maximum, inverse, ValueRange{i, zero});
  });
  bool canBeEmpty = isGeneral();
  bool uniform = canBeEmpty && op.getEmptyRow() == EmptyRow::uniform;
  e.forLoop(zero, e.index(height), 1, [&](Value i) {
    Value maximum = e.loadScalar(inverse, i, zero);
    Value isEmpty;
    if (canBeEmpty) {
      // Without a kept key the maximum is -inf, and so is every score.
      isEmpty = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                    scalar(-infinity));
      maximum = make<arith::SelectOp>(isEmpty, scalar(0), maximum);
    }
    Value shift = splat(make<arith::MulFOp>(maximum, scalar(-exponent)));
    Value sum = foldPanels(
        panels, constant(0),
        [&](Value panel, bool isTail, Value carried) -> Value {
          Value column = e.mul(panel, layout.panel);
          Value score =
              e.loadRow(scores, i, column, layout.panel, layout.panel);
          Value power =
              make<Exp2Op>(make<math::FmaOp>(score, constant(exponent), shift));
          Value kept;
          if (canBeEmpty || isTail) {
            // Masked scores are -inf; NaN stays.
            kept = make<arith::CmpFOp>(arith::CmpFPredicate::UNE, score,
                                       constant(-infinity));
            power = make<arith::SelectOp>(kept, power, constant(0));
          }
          if (uniform) {
            Value inside = make<arith::CmpIOp>(
                arith::CmpIPredicate::slt, keyIndices(panel),
                make<arith::ConstantOp>(DenseElementsAttr::get(
                    VectorType::get({layout.panel}, b.getI32Type()),
                    b.getI32IntegerAttr(layout.keys))));
            Value one = make<arith::SelectOp>(inside, constant(1), constant(0));
            // The maximum does not see NaN: a row of NaN is not an empty one.
            Value filled = make<arith::SelectOp>(kept, power, one);
            power = make<arith::SelectOp>(isEmpty, filled, power);
          }
          e.storeRow(power, scores, i, column, layout.panel);
          return make<arith::AddFOp>(carried, power);
        });
    Value total = make<vector::ReductionOp>(vector::CombiningKind::ADD, sum,
                                            FastMath::reassoc);
    Value factor = make<arith::DivFOp>(scalar(1), total);
    if (canBeEmpty) {
      Value isZero =
          make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, total, scalar(0));
      factor = make<arith::SelectOp>(isZero, scalar(0), factor);
    }
    make<memref::StoreOp>(factor, inverse, ValueRange{i, zero});
  });
}

} // namespace hova
