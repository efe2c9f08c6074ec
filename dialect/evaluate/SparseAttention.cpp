//===- SparseAttention.cpp - Meaning of attention to blocks of keys -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every block of queries collects the keys that it sees, in the order of the
// definition. A query's row is the softmax of the scores of those that the
// region keeps, times their values.

#include "dialect/SparseAttentionOps.h"
#include "dialect/evaluate/Score.h"
#include "llvm/ADT/Sequence.h"
#include <limits>
#include <vector>

using namespace mlir;
using namespace hova;

namespace {
/// Everything of one operation but its numbers.
struct SparseAttention {
  SparseAttention(BlockSparseAttentionOp op, const OperandValues &value)
      : batch(value(op.getQuery()).getShape()[0]),
        tokens(value(op.getQuery()).getShape()[1]), heads(op.getHeads()),
        keyHeads(op.getKeyValueHeads().value_or(heads)),
        keyWidth(value(op.getQuery()).getShape()[2] / heads),
        valueWidth(value(op.getValue()).getShape()[2] / keyHeads),
        block(op.getBlock()), blocks((tokens + block - 1) / block),
        random(value.optional(op.getRandomBlocks())),
        storage(storageOf(getElementTypeOrSelf(op.getValue()))),
        region(op.scoreRegion()) {
    for (Value tensor : op.getCaptured()) {
      captured.push_back(&value(tensor));
    }
  }

  int64_t batch, tokens, heads, keyHeads, keyWidth, valueWidth, block, blocks;
  const HostTensor *random;
  /// Type of the probabilities that values are multiplied with, in float32.
  Storage storage;
  ScoreRegion region;
  SmallVector<const HostTensor *> captured;

  /// Blocks that the queries of block `own` see, as often as they do.
  SmallVector<int64_t> seenBlocks(int64_t head, int64_t own) const {
    bool seesAll = own == 0 || own == blocks - 1;
    SmallVector<int64_t> seen;
    for (int64_t other : llvm::seq(blocks)) {
      bool isGlobal = other == 0 || other == blocks - 1;
      bool isNeighbour = std::abs(other - own) <= 1;
      if (seesAll || isGlobal || isNeighbour) {
        seen.push_back(other);
      }
    }
    if (!random || seesAll) {
      return seen;
    }
    int64_t count = random->getShape()[2];
    for (int64_t entry : llvm::seq(count)) {
      int64_t drawn = static_cast<int64_t>(
          random->at((head * (blocks - 2) + own - 1) * count + entry));
      if (drawn >= 0 && drawn < blocks) {
        seen.push_back(drawn);
      }
    }
    return seen;
  }

  std::vector<int64_t> seenKeys(int64_t head, int64_t own) const {
    std::vector<int64_t> keys;
    for (int64_t other : seenBlocks(head, own)) {
      int64_t end = std::min((other + 1) * block, tokens);
      for (int64_t key = other * block; key < end; ++key) {
        keys.push_back(key);
      }
    }
    return keys;
  }
};
} // namespace

/// The row of one query and head, which sees `keys`; `q` is its query, keys and
/// values begin at the batch entry's and the head's first.
template <typename T>
static void attend(const SparseAttention &attention, ArrayRef<int64_t> keys,
                   HeadScores<T> &region, int64_t query, const T *q,
                   const T *key, const T *value, T *row) {
  std::fill_n(row, attention.valueWidth, T(0));
  std::vector<T> scores;
  for (int64_t j : keys) {
    const T *k = key + j * attention.keyHeads * attention.keyWidth;
    T score = 0;
    for (int64_t c = 0; c < attention.keyWidth; ++c) {
      score += q[c] * k[c];
    }
    scores.push_back(score);
  }
  scores = region.run(query, scores.data()).scores();
  std::vector<bool> kept = region.findKept(query);
  constexpr T none = -std::numeric_limits<T>::infinity();
  T peak = none;
  bool isUndefined = false;
  for (auto [score, isKept] : llvm::zip(scores, kept)) {
    if (isKept) {
      isUndefined |= std::isnan(score);
      peak = std::max(peak, score);
    }
  }
  if (isUndefined) {
    peak = std::numeric_limits<T>::quiet_NaN(); // max() drops it
  }
  if (peak == none) {
    return;
  }
  T sum = 0;
  for (auto [score, isKept] : llvm::zip(scores, kept)) {
    score = isKept ? evaluateExponential(score - peak) : T(0);
    sum += score;
  }
  for (auto [j, weight, isKept] : llvm::zip(keys, scores, kept)) {
    const T *v = value + j * attention.keyHeads * attention.valueWidth;
    T probability = weight / sum;
    if constexpr (std::is_same_v<T, float>) {
      probability = roundTo(probability, attention.storage);
    }
    for (int64_t c = 0; isKept && c < attention.valueWidth; ++c) {
      row[c] += probability * v[c];
    }
  }
}

LogicalResult
BlockSparseAttentionOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  SparseAttention attention(*this, value);
  int64_t tokens = attention.tokens, heads = attention.heads;
  HostTensor result(value.resultElement(),
                    {attention.batch, tokens, heads * attention.valueWidth});
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> q(value(getQuery())), k(value(getKey())), v(value(getValue()));
    int64_t blocks = attention.blocks;
    forEachInParallel(attention.batch * heads * blocks, [&](int64_t unit) {
      int64_t block = unit % blocks, head = unit / blocks % heads;
      int64_t entry = unit / blocks / heads;
      // Rows of all heads, of which this is the place of the first of one.
      auto placeOf = [&](int64_t token, int64_t width) {
        return ((entry * tokens + token) * heads + head) * width;
      };
      // The same of the keys' heads, each of which several heads may read.
      int64_t readers = heads / attention.keyHeads;
      int64_t firstKey = entry * tokens * attention.keyHeads + head / readers;
      std::vector<int64_t> keys = attention.seenKeys(head, block);
      HeadScores<T> region(attention.region, attention.captured, keys, entry,
                           head);
      int64_t end = std::min((block + 1) * attention.block, tokens);
      for (int64_t i = block * attention.block; i < end; ++i) {
        attend<T>(attention, keys, region, i,
                  q.data() + placeOf(i, attention.keyWidth),
                  k.data() + firstKey * attention.keyWidth,
                  v.data() + firstKey * attention.valueWidth,
                  result.mutableAs<T>() + placeOf(i, attention.valueWidth));
      }
    });
  });
  results.push_back(result);
  return success();
}

LogicalResult IndexTableOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor result(HostTensor::Element::I64, x.getShape());
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    double number = std::nearbyint(x.at(i));
    bool isIndex = number >= 0 && number <= std::numeric_limits<int32_t>::max();
    result.mutableAs<int64_t>()[i] =
        isIndex ? static_cast<int64_t>(number) : -1;
  }
  results.push_back(result);
  return success();
}
