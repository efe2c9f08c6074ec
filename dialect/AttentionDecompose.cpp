//===- AttentionDecompose.cpp - Compound attention as simpler operations --===//
// SPDX-License-Identifier: Apache-2.0
//
// Horizontal, vertical and omni attention written with linear layers,
// element-wise operations and plain attention. The sums X W_A2 and X W_U1
// become linears of the query projection's input, so that merging projections
// of one input makes them columns of its product.

#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"
#include <cmath>

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
  Value norm(Value x, Value gain, Value bias, FloatAttr eps) {
    return LayerNormOp::create(rewriter, loc, x.getType(), x, gain, bias, eps);
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

/// The block over the sorted states, with the pool at its place.
FailureOr<SmallVector<Value>>
OmniAttentionOp::decompose(RewriterBase &rewriter) {
  Composer build(rewriter, *this);
  OperandRange weights = getWeights();
  auto bias = [&](int index) {
    return getAttentionBias() ? Value(weights[12 + index]) : Value();
  };
  ArrayRef<int64_t> state = shapeOf(getStates()[0]);
  int64_t layers = getStates().size();
  SmallVector<int64_t> sorted(state);
  sorted[1] = combine(state[1], layers, std::multiplies<>());
  bool before = getNorm() == NormPlacement::pre_ln;

  auto pool = [&](Value x) {
    return build.make<LayerPoolOp>(getResult().getType(), x, layers);
  };
  auto norm = [&](Value x, int index) {
    return build.norm(x, weights[index], weights[index + 1], getEpsAttr());
  };

  Value z = build.make<IndexSortOp>(Composer::like(getStates()[0], sorted),
                                    getStates());
  Value in = before ? norm(z, 0) : z;
  Value query = build.linear(in, weights[2], bias(0));
  Value key = build.linear(in, weights[3], bias(1));
  Value value = build.linear(in, weights[4], bias(2));
  IntegerAttr causal;
  if (getCausal() != OmniCausal::none) {
    causal = rewriter.getI64IntegerAttr(
        getCausal() == OmniCausal::block ? layers : 1);
  }
  int64_t width = shapeOf(weights[2])[1];
  double scale = 1 / std::sqrt(static_cast<double>(width) / getHeads());
  Value heads = build.make<AttentionOp>(query.getType(), AttentionKind::softmax,
                                        query, key, value, Value(), Value(),
                                        Value(), Value(), Value(), getHeads(),
                                        APFloat(scale), causal, EmptyRow::zero);
  Value attended = build.linear(heads, weights[5], bias(3));
  Value a = build.add(before ? attended : norm(attended, 0), z);
  if (getPool() == OmniPool::after_attention) {
    a = pool(a);
  }
  Value hidden =
      build.activation(getActivation(), build.linear(before ? norm(a, 6) : a,
                                                     weights[8], weights[9]));
  Value ffn = build.linear(hidden, weights[10], weights[11]);
  Value out = build.add(before ? ffn : norm(ffn, 6), a);
  return SmallVector<Value>{getPool() == OmniPool::after_block ? pool(out)
                                                               : out};
}
