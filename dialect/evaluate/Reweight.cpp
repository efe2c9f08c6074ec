//===- Reweight.cpp - Meaning of horizontal and vertical attention --------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/attention/AttentionOps.h"
#include "dialect/evaluate/Evaluate.h"
#include <vector>

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

//===----------------------------------------------------------------------===//
// Horizontal attention
//===----------------------------------------------------------------------===//

/// `B[t, m] = relu(H_m[t] W_A1 + shift[t]) . W_B + b_B`; the heads of a token
/// are rows of a `[tokens*heads, head_dim]` matrix.
static HostTensor headLogits(const HostTensor &headsIn, const HostTensor &shift,
                             const HostTensor &headWeight,
                             const HostTensor &scoreWeight,
                             const HostTensor *scoreBias, int64_t heads,
                             Element element) {
  SmallVector<int64_t> shape(headsIn.getShape());
  int64_t tokens = rowCount(shape), width = shape.back() / heads;
  int64_t hidden = headWeight.getShape()[1];
  shape.back() = heads;
  HostTensor result(element, shape);
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> h(headsIn), moved(shift), matrix(headWeight), score(scoreWeight);
    T constant = scoreBias ? Numbers<T>(*scoreBias)[0] : T(0);
    std::vector<T> inner(tokens * heads * hidden);
    multiply(h.data(), MatrixView<T>{matrix.data(), hidden, 1}, nullptr,
             inner.data(), tokens * heads, width, hidden, /*parallel=*/true);
    for (int64_t row = 0; row < tokens * heads; ++row) {
      T sum = 0;
      for (int64_t a = 0; a < hidden; ++a) {
        T value = inner[row * hidden + a] + moved[row / heads * hidden + a];
        sum += (value < T(0) ? T(0) : value) * score[a];
      }
      result.mutableAs<T>()[row] = sum + constant;
    }
  });
  return result;
}

/// `alpha = softmax over heads`, `alpha_m H_m`.
static HostTensor scaleHeads(const HostTensor &headsIn,
                             const HostTensor &logits, Element element) {
  HostTensor result(element, headsIn.getShape());
  int64_t heads = logits.getShape().back();
  int64_t width = headsIn.getShape().back() / heads;
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> h(headsIn), b(logits);
    std::vector<T> alpha(heads);
    for (int64_t t = 0, e = rowCount(logits.getShape()); t < e; ++t) {
      const T *row = b.data() + t * heads;
      T peak = *std::max_element(row, row + heads), sum = 0;
      for (int64_t m = 0; m < heads; ++m) {
        alpha[m] = evaluateExponential(row[m] - peak);
        sum += alpha[m];
      }
      for (int64_t c = 0; c < heads * width; ++c) {
        int64_t index = t * heads * width + c;
        result.mutableAs<T>()[index] = alpha[c / width] / sum * h[index];
      }
    }
  });
  return result;
}

LogicalResult HeadReweightOp::evaluate(ArrayRef<HostTensor> operands,
                                       SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  Element element = value.resultElement();
  HostTensor shift = evaluateLinear(value(getX()), value(getInputWeight()),
                                    nullptr, /*transposed=*/false, element);
  HostTensor logits =
      headLogits(value(getHeadsIn()), shift, value(getHeadWeight()),
                 value(getScoreWeight()), value.optional(getScoreBias()),
                 getHeads(), element);
  results.push_back(scaleHeads(value(getHeadsIn()), logits, element));
  return success();
}

LogicalResult HeadLogitsOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(headLogits(value(getHeadsIn()), value(getShift()),
                               value(getHeadWeight()), value(getScoreWeight()),
                               value.optional(getScoreBias()), getHeads(),
                               value.resultElement()));
  return success();
}

LogicalResult ScaleHeadsOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  results.push_back(scaleHeads(value(getHeadsIn()), value(getLogits()),
                               value.resultElement()));
  return success();
}

//===----------------------------------------------------------------------===//
// Vertical attention
//===----------------------------------------------------------------------===//

LogicalResult ChannelGateOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  Element element = value.resultElement();
  auto product = [&](const HostTensor &x, const HostTensor &weight,
                     const HostTensor *bias) {
    return evaluateLinear(x, weight, bias, /*transposed=*/false, element);
  };
  HostTensor hidden = evaluateActivation(
      ActivationKind::relu,
      evaluateSum(product(value(getX()), value(getInputWeight()), nullptr),
                  product(value(getY()), value(getOutputWeight()), nullptr),
                  element),
      element);
  HostTensor beta = evaluateActivation(
      ActivationKind::sigmoid,
      product(hidden, value(getGateWeight()), value.optional(getGateBias())),
      element);
  HostTensor result(element, beta.getShape());
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> gate(beta), gated(value(getY()));
    for (int64_t i = 0, e = result.size(); i < e; ++i) {
      result.mutableAs<T>()[i] = gate[i] * gated[i];
    }
  });
  results.push_back(result);
  return success();
}
