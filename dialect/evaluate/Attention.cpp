//===- Attention.cpp - Meaning of attention -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The definition, not an algorithm: for every batch entry and head all raw
// scores, then what the region makes of them, then a softmax over the kept
// keys, then the product with the values.

#include "dialect/AttentionOps.h"
#include "dialect/evaluate/Score.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>
#include <limits>
#include <vector>

using namespace mlir;
using namespace hova;

namespace {

/// Sizes of one attention.
struct Attention {
  Attention(AttentionOp op, const OperandValues &value)
      : similarity(op.getSimilarity()), normalization(op.getNormalization()),
        emptyRow(op.getEmptyRow()), batch(value(op.getQuery()).getShape()[0]),
        heads(op.getHeads()), queries(value(op.getQuery()).getShape()[1]),
        keys(value(op.getKey()).getShape()[1]),
        columns(keys + (op.getMemoryKey()
                            ? value(op.getMemoryKey()).getShape()[0]
                            : 0)),
        keyWidth(value(op.getQuery()).getShape()[2] / heads),
        keyHeads(op.getKeyValueHeads().value_or(heads)),
        valueWidth(value(op.getValue()).getShape()[2] / keyHeads),
        storage(storageOf(getElementTypeOrSelf(op.getValue()))),
        region(op.scoreRegion()) {
    for (Value tensor : op.getCaptured()) {
      captured.push_back(&value(tensor));
    }
  }

  SimilarityAttrInterface similarity;
  Normalization normalization;
  EmptyRow emptyRow;
  int64_t batch, heads, queries, keys;
  int64_t columns; ///< keys, and the slots of a memory after them
  int64_t keyWidth;
  int64_t keyHeads; ///< of keys and values
  int64_t valueWidth;
  /// Type of the probabilities that values are multiplied with, in float32.
  Storage storage;
  ScoreRegion region;
  SmallVector<const HostTensor *> captured;
};

} // namespace

/// Columns `head*width ..` of all rows of one batch entry, dense.
template <typename T>
static std::vector<T> headRows(const T *data, int64_t entry, int64_t head,
                               int64_t rows, int64_t heads, int64_t width) {
  std::vector<T> result(rows * width);
  for (int64_t i = 0; i < rows; ++i) {
    const T *row = data + ((entry * rows + i) * heads + head) * width;
    std::copy_n(row, width, result.data() + i * width);
  }
  return result;
}

/// `q k^T`.
template <typename T>
static void products(const Attention &attention, const std::vector<T> &q,
                     const std::vector<T> &k, std::vector<T> &scores) {
  MatrixView<T> transposed{k.data(), 1, attention.keyWidth};
  multiply(q.data(), transposed, nullptr, scores.data(), attention.queries,
           attention.keyWidth, attention.columns, /*parallel=*/false);
}

/// Sums of terms; `vector` may be null.
template <typename T>
static void sumTerms(const Attention &attention, const std::vector<T> &q,
                     const std::vector<T> &k, const T *vector,
                     std::vector<T> &scores) {
  for (int64_t i = 0; i < attention.queries; ++i) {
    for (int64_t j = 0; j < attention.columns; ++j) {
      T sum = 0;
      for (int64_t a = 0; a < attention.keyWidth; ++a) {
        sum += static_cast<T>(attention.similarity.evaluateTerm(
            q[i * attention.keyWidth + a], k[j * attention.keyWidth + a],
            vector ? vector[a] : 0));
      }
      scores[i * attention.columns + j] = sum;
    }
  }
}

/// Scores of one query become weights without a softmax: 0 where masked.
template <typename T>
static void weightsRow(const Attention &attention, ScoreRow<T> &scores,
                       T *row) {
  T sum = 0;
  for (int64_t j = 0; j < attention.columns; ++j) {
    T score = scores.scores()[j];
    bool isMasked = score == -std::numeric_limits<T>::infinity();
    row[j] = scores.isKept(j) && !isMasked ? score : T(0);
    sum += row[j];
  }
  if (attention.normalization == Normalization::sum) {
    for (int64_t j = 0; j < attention.columns; ++j) {
      row[j] = sum == 0 ? T(0) : row[j] / sum;
    }
  }
}

/// Raw scores of one query become probabilities: 0 where masked. What the
/// region carries is copied to `given`, unless that is null.
template <typename T>
static void softmaxRow(const Attention &attention, HeadScores<T> &scores,
                       int64_t query, T *row, T *given) {
  ScoreRow<T> &own = scores.run(query, row);
  std::vector<bool> kept = scores.findKept(query);
  std::copy_n(own.scores().data(), attention.columns, row);
  if (given) {
    std::copy_n(own.carried()->data(), attention.keys, given);
  }
  if (attention.normalization != Normalization::softmax) {
    return weightsRow(attention, own, row);
  }
  T peak = -std::numeric_limits<T>::infinity();
  bool any = false, undefined = false;
  for (int64_t j = 0; j < attention.columns; ++j) {
    any |= kept[j];
    if (kept[j]) {
      undefined |= std::isnan(row[j]);
      peak = std::max(peak, row[j]);
    }
  }
  if (!any) {
    T share = attention.emptyRow == EmptyRow::uniform
                  ? T(1) / static_cast<T>(attention.keys)
                  : T(0);
    std::fill_n(row, attention.columns, T(0));
    std::fill_n(row, attention.keys, share);
    return;
  }
  // max() drops a NaN that comes second; the row must not.
  if (undefined) {
    peak = std::numeric_limits<T>::quiet_NaN();
  }
  T sum = 0;
  for (int64_t j = 0; j < attention.columns; ++j) {
    row[j] = kept[j] ? evaluateExponential(row[j] - peak) : T(0);
    sum += row[j];
  }
  for (int64_t j = 0; j < attention.columns; ++j) {
    row[j] /= sum;
  }
}

/// Numbers of the operands; null for those that there are not.
template <typename T> struct AttentionNumbers {
  const T *query, *key, *value, *scoreVector, *memoryKey, *memoryValue;
};

/// One batch entry and head of the result.
template <typename T>
static void attend(const Attention &attention, int64_t entry, int64_t head,
                   const AttentionNumbers<T> &numbers, T *result, T *given) {
  // Consecutive heads of queries share one of keys.
  int64_t shared = head / (attention.heads / attention.keyHeads);
  // Keys or values, then the slots, which all batch entries share.
  auto withSlots = [&](const T *data, const T *memory, int64_t width) {
    std::vector<T> own = headRows(data, entry, shared, attention.keys,
                                  attention.keyHeads, width);
    std::vector<T> slots =
        headRows(memory, 0, shared, attention.columns - attention.keys,
                 attention.keyHeads, width);
    own.insert(own.end(), slots.begin(), slots.end());
    return own;
  };
  std::vector<T> q = headRows(numbers.query, entry, head, attention.queries,
                              attention.heads, attention.keyWidth);
  std::vector<T> k =
      withSlots(numbers.key, numbers.memoryKey, attention.keyWidth);
  std::vector<T> v =
      withSlots(numbers.value, numbers.memoryValue, attention.valueWidth);
  std::vector<T> scores(attention.queries * attention.columns);
  const T *vector = numbers.scoreVector
                        ? numbers.scoreVector + head * attention.keyWidth
                        : nullptr;
  if (isa<DotAttr>(attention.similarity)) {
    products(attention, q, k, scores);
  } else {
    sumTerms(attention, q, k, vector, scores);
  }
  HeadScores<T> region(attention.region, attention.captured,
                       llvm::to_vector(llvm::seq<int64_t>(attention.columns)),
                       entry, head);
  for (int64_t i = 0; i < attention.queries; ++i) {
    int64_t row = (entry * attention.heads + head) * attention.queries + i;
    softmaxRow(attention, region, i, scores.data() + i * attention.columns,
               given ? given + row * attention.keys : nullptr);
  }
  if constexpr (std::is_same_v<T, float>) {
    for (T &probability : scores) {
      probability = roundTo(probability, attention.storage);
    }
  }
  std::vector<T> pooled(attention.queries * attention.valueWidth);
  multiply(scores.data(), MatrixView<T>{v.data(), attention.valueWidth, 1},
           nullptr, pooled.data(), attention.queries, attention.columns,
           attention.valueWidth, /*parallel=*/false);
  for (int64_t i = 0; i < attention.queries; ++i) {
    std::copy_n(pooled.data() + i * attention.valueWidth, attention.valueWidth,
                result +
                    ((entry * attention.queries + i) * attention.heads + head) *
                        attention.valueWidth);
  }
}

LogicalResult AttentionOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  Attention attention(*this, value);
  HostTensor::Element element = value.resultElement();
  HostTensor scores;
  if (getScores()) {
    scores = HostTensor(element, {attention.batch, attention.heads,
                                  attention.queries, attention.keys});
  }
  HostTensor result(element, {attention.batch, attention.queries,
                              attention.heads * attention.valueWidth});
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> q(value(getQuery())), k(value(getKey())), v(value(getValue()));
    std::optional<Numbers<T>> optional[3];
    Value given[] = {getScoreVector(), getMemoryKey(), getMemoryValue()};
    const T *data[3] = {};
    for (int i = 0; i < 3; ++i) {
      if (given[i]) {
        data[i] = optional[i].emplace(value(given[i])).data();
      }
    }
    AttentionNumbers<T> numbers{q.data(), k.data(), v.data(),
                                data[0],  data[1],  data[2]};
    int64_t heads = attention.heads;
    forEachInParallel(attention.batch * heads, [&](int64_t unit) {
      attend(attention, unit / heads, unit % heads, numbers,
             result.mutableAs<T>(),
             getScores() ? scores.mutableAs<T>() : nullptr);
    });
  });
  results.push_back(result);
  if (getScores()) {
    results.push_back(scores);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Heads of length one
//===----------------------------------------------------------------------===//

LogicalResult NormalizeHeadsOp::evaluate(ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  const HostTensor *gain = value.optional(getGain());
  int64_t heads = getHeads(), width = x.getShape().back() / heads;
  HostTensor result(value.resultElement(), x.getShape());
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> input(x);
    std::optional<Numbers<T>> factors;
    if (gain) {
      factors.emplace(*gain);
    }
    T least = static_cast<T>(getEps().convertToDouble());
    for (int64_t head = 0, e = rowCount(x.getShape()) * heads; head < e;
         ++head) {
      const T *in = input.data() + head * width;
      T squares = 0;
      for (int64_t c = 0; c < width; ++c) {
        squares += in[c] * in[c];
      }
      T factor = (factors ? (*factors)[head % heads] : T(1)) /
                 std::max(std::sqrt(squares), least);
      for (int64_t c = 0; c < width; ++c) {
        result.mutableAs<T>()[head * width + c] = factor * in[c];
      }
    }
  });
  results.push_back(result);
  return success();
}

LogicalResult HeadFactorsOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  HostTensor result(value.resultElement(), x.getShape());
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> logarithm(x);
    T most = static_cast<T>(getMost().convertToDouble());
    for (int64_t i = 0, e = x.size(); i < e; ++i) {
      result.mutableAs<T>()[i] = std::min(std::exp(logarithm[i]), most);
    }
  });
  results.push_back(result);
  return success();
}
