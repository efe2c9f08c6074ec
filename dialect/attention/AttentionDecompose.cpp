//===- AttentionDecompose.cpp - Compound attention as simpler operations --===//
// SPDX-License-Identifier: Apache-2.0
//
// Horizontal and vertical attention written with linear layers and element-wise
// operations. The sums X W_A2 and X W_U1 become linears of the query
// projection's input, so that merging projections of one input makes them
// columns of its product.

#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/dense/DenseOps.h"

using namespace mlir;
using namespace hova;

namespace {
/// Builds operations at one place; locations get the path of the compound
/// operation with the part's name appended.
class Composer {
public:
  Composer(RewriterBase &rewriter, Operation *op)
      : rewriter(rewriter), loc(op->getLoc()) {
    rewriter.setInsertionPoint(op);
  }

  Value linear(Value x, Value weight, Value bias = {}) {
    SmallVector<int64_t> shape(shapeOf(x));
    shape.back() = shapeOf(weight)[1];
    return LinearOp::create(rewriter, loc, like(x, shape), x, weight, bias,
                            /*transposed=*/false);
  }
  Value activation(ActivationKind kind, Value x) {
    return ActivationOp::create(rewriter, loc, x.getType(), kind, x);
  }
  Value add(Value lhs, Value rhs) {
    return AddOp::create(rewriter, loc, lhs, rhs);
  }
  Value multiply(Value lhs, Value rhs) {
    return MultiplyOp::create(rewriter, loc, lhs, rhs);
  }
  template <typename OpTy, typename... Args> Value make(Args &&...args) {
    return OpTy::create(rewriter, loc, std::forward<Args>(args)...);
  }
  static RankedTensorType like(Value x, ArrayRef<int64_t> shape) {
    return RankedTensorType::get(
        shape, cast<RankedTensorType>(x.getType()).getElementType());
  }

private:
  RewriterBase &rewriter;
  Location loc;
};
} // namespace

/// shift = X W_A2 ; B = head_logits(H, shift) ; scale_heads(H, B).
FailureOr<SmallVector<Value>>
HeadReweightOp::decompose(RewriterBase &rewriter) {
  Composer build(rewriter, *this);
  Value shift = build.linear(getX(), getInputWeight());
  ArrayRef<int64_t> h = shapeOf(getHeadsIn());
  Value logits = build.make<HeadLogitsOp>(
      Composer::like(getHeadsIn(),
                     {h[0], h[1], static_cast<int64_t>(getHeads())}),
      getHeadsIn(), shift, getHeadWeight(), getScoreWeight(), getScoreBias(),
      getHeads());
  return SmallVector<Value>{
      build.make<ScaleHeadsOp>(getHeadsIn().getType(), getHeadsIn(), logits)};
}

/// U = relu(X W_U1 + Y W_U2) ; Y * sigmoid(U W_U + b_U).
FailureOr<SmallVector<Value>> ChannelGateOp::decompose(RewriterBase &rewriter) {
  Composer build(rewriter, *this);
  Value fromInput = build.linear(getX(), getInputWeight());
  Value fromOutput = build.linear(getY(), getOutputWeight());
  Value hidden =
      build.activation(ActivationKind::relu, build.add(fromOutput, fromInput));
  Value gate =
      build.activation(ActivationKind::sigmoid,
                       build.linear(hidden, getGateWeight(), getGateBias()));
  return SmallVector<Value>{build.multiply(gate, getY())};
}
