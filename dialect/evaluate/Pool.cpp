//===- Pool.cpp - Meaning of rows for all tokens --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/evaluate/Evaluate.h"
#include "dialect/token/TokenOps.h"
#include <cmath>

using namespace mlir;
using namespace hova;

/// The token of an item that a kind picks; the first where there is none.
static int64_t pickedToken(PoolOp op, const HostTensor &by, int64_t item) {
  int64_t tokens = by.getShape()[1], first = item * tokens, picked = 0;
  if (op.getKind() == PoolKind::last) {
    for (int64_t i = 0; i < tokens; ++i) {
      picked = by.as<uint8_t>()[first + i] ? i : picked;
    }
    return picked;
  }
  const int64_t *ids = by.as<int64_t>() + first;
  if (std::optional<int64_t> id = op.getId()) {
    const int64_t *found = std::find(ids, ids + tokens, *id);
    return found == ids + tokens ? 0 : found - ids;
  }
  return std::max_element(ids, ids + tokens) - ids; // the first of the largest
}

/// The mean or the maximum of the tokens of an item that count, for a column.
template <typename T>
static T reduceTokens(PoolOp op, const T *x, const uint8_t *keep,
                      int64_t tokens, int64_t width) {
  bool isMean = op.getKind() == PoolKind::mean;
  T all = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < tokens; ++i) {
    if (keep && !keep[i]) {
      continue;
    }
    T next = x[i * width];
    bool isLarger = count == 0 || std::isnan(next) || next > all;
    all = isMean ? all + next : isLarger ? next : all;
    ++count;
  }
  return isMean && count ? all / static_cast<T>(count) : all;
}

LogicalResult PoolOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  const HostTensor *by = value.optional(getBy());
  int64_t batch = x.getShape()[0], tokens = x.getShape()[1];
  int64_t width = x.getShape()[2];
  HostTensor result(x.getElement(), {batch, width});
  withNumberType(x.getElement(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < batch; ++b) {
      const T *from = x.as<T>() + b * tokens * width;
      T *to = result.mutableAs<T>() + b * width;
      if (movesData()) {
        int64_t token = by ? pickedToken(*this, *by, b) : 0;
        std::copy_n(from + token * width, width, to);
        continue;
      }
      const uint8_t *keep = by ? by->as<uint8_t>() + b * tokens : nullptr;
      for (int64_t c = 0; c < width; ++c) {
        to[c] = reduceTokens(*this, from + c, keep, tokens, width);
      }
    }
  });
  results.push_back(result);
  return success();
}

SmallVector<OpOperand *> PoolOp::getSummands() {
  return getKind() == PoolKind::mean ? SmallVector<OpOperand *>{&getXMutable()}
                                     : SmallVector<OpOperand *>();
}
