//===- Attention.cpp - Meaning of attention -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The definition, not an algorithm: for every batch entry and head all scores,
// then masks, then a softmax over the kept keys, then the product with the
// values.

#include "dialect/AttentionOps.h"
#include "dialect/evaluate/Evaluate.h"
#include <cmath>
#include <limits>
#include <vector>

using namespace mlir;
using namespace hova;

namespace {

/// A score operand `[batch|1, heads|1, q_len|1, kv_len|1]`, indexed as if it
/// had been broadcast.
class BroadcastScores {
public:
  explicit BroadcastScores(const HostTensor *tensor) : tensor(tensor) {
    int64_t stride = 1;
    for (int axis = 3; tensor && axis >= 0; --axis) {
      int64_t dim = tensor->getShape()[axis];
      strides[axis] = dim == 1 ? 0 : stride;
      stride *= dim;
    }
  }
  explicit operator bool() const { return tensor; }
  /// Batch entry b takes entry `entries[b mod size]` of the first axis.
  void setEntries(const HostTensor *index) { entries = index; }
  double at(int64_t batch, int64_t head, int64_t query, int64_t key) const {
    if (entries) {
      batch = static_cast<int64_t>(entries->at(batch % entries->size()));
    }
    return tensor->at(batch * strides[0] + head * strides[1] +
                      query * strides[2] + key * strides[3]);
  }

private:
  const HostTensor *tensor;
  const HostTensor *entries = nullptr;
  int64_t strides[4] = {0, 0, 0, 0};
};

/// Everything of one attention but the number type.
struct Attention {
  Attention(const AttentionParameters &parameters, const HostTensor &query,
            const HostTensor &key, const HostTensor &value)
      : kind(parameters.kind), emptyRow(parameters.emptyRow),
        scale(parameters.scale), temperature(parameters.temperature),
        causal(parameters.causal), batch(query.getShape()[0]),
        heads(parameters.heads), queries(query.getShape()[1]),
        keys(key.getShape()[1]),
        columns(keys + (parameters.memoryKey
                            ? parameters.memoryKey->getShape()[0]
                            : 0)),
        keyWidth(query.getShape()[2] / heads),
        valueWidth(value.getShape()[2] / heads), bias(parameters.scoreBias),
        mask(parameters.mask), keyValid(parameters.keyValid),
        storage(parameters.storage) {
    bias.setEntries(parameters.biasIndex);
  }

  AttentionKind kind;
  EmptyRow emptyRow;
  double scale, temperature;
  std::optional<int64_t> causal;
  int64_t batch, heads, queries, keys;
  int64_t columns; ///< keys, and the slots of a memory behind them
  int64_t keyWidth, valueWidth;
  BroadcastScores bias, mask;
  const HostTensor *keyValid;
  Storage storage;

  bool keeps(int64_t entry, int64_t head, int64_t query, int64_t key) const {
    if (key >= keys) {
      return true; // a slot
    }
    if (causal && floorDivide(key, *causal) >
                      floorDivide(query + keys - queries, *causal)) {
      return false;
    }
    if (keyValid && keyValid->at(entry * keys + key) == 0) {
      return false;
    }
    if (mask && mask.at(entry, head, query, key) == 0) {
      return false;
    }
    return !bias || bias.at(entry, head, query, key) !=
                        -std::numeric_limits<double>::infinity();
  }

private:
  /// With more queries than keys the aligned position can be negative.
  static int64_t floorDivide(int64_t value, int64_t by) {
    return value >= 0 ? value / by : -((by - 1 - value) / by);
  }
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

/// `scale q k^T`.
template <typename T>
static void scaledProducts(const Attention &attention, const std::vector<T> &q,
                           const std::vector<T> &k, std::vector<T> &scores) {
  MatrixView<T> transposed{k.data(), 1, attention.keyWidth};
  multiply(q.data(), transposed, nullptr, scores.data(), attention.queries,
           attention.keyWidth, attention.columns, /*parallel=*/false);
  for (T &score : scores) {
    score *= static_cast<T>(attention.scale);
  }
}

/// `w . tanh(q + k)`.
template <typename T>
static void additiveScores(const Attention &attention, const std::vector<T> &q,
                           const std::vector<T> &k, const T *vector,
                           std::vector<T> &scores) {
  for (int64_t i = 0; i < attention.queries; ++i) {
    for (int64_t j = 0; j < attention.columns; ++j) {
      T sum = 0;
      for (int64_t a = 0; a < attention.keyWidth; ++a) {
        sum += vector[a] * std::tanh(q[i * attention.keyWidth + a] +
                                     k[j * attention.keyWidth + a]);
      }
      scores[i * attention.columns + j] = sum;
    }
  }
}

/// Scores of one query become probabilities: 0 where masked. Before, they are
/// copied to `given`, unless that is null.
template <typename T>
static void softmaxRow(const Attention &attention, int64_t entry, int64_t head,
                       int64_t query, T *row, T *given) {
  std::vector<bool> kept(attention.columns);
  T peak = -std::numeric_limits<T>::infinity();
  bool any = false, undefined = false;
  for (int64_t j = 0; j < attention.columns; ++j) {
    if (attention.bias && j < attention.keys) {
      row[j] += static_cast<T>(attention.bias.at(entry, head, query, j));
    }
    if (given && j < attention.keys) {
      given[j] = row[j];
    }
    row[j] /= static_cast<T>(attention.temperature);
    kept[j] = attention.keeps(entry, head, query, j);
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
  auto rows = [&](const T *data, int64_t count, int64_t width) {
    return headRows(data, entry, head, count, attention.heads, width);
  };
  // Keys or values, then the slots, which all batch entries share.
  auto withSlots = [&](const T *data, const T *memory, int64_t width) {
    std::vector<T> own = rows(data, attention.keys, width);
    std::vector<T> slots =
        headRows(memory, 0, head, attention.columns - attention.keys,
                 attention.heads, width);
    own.insert(own.end(), slots.begin(), slots.end());
    return own;
  };
  std::vector<T> q = rows(numbers.query, attention.queries, attention.keyWidth);
  std::vector<T> k =
      withSlots(numbers.key, numbers.memoryKey, attention.keyWidth);
  std::vector<T> v =
      withSlots(numbers.value, numbers.memoryValue, attention.valueWidth);
  std::vector<T> scores(attention.queries * attention.columns);
  if (attention.kind == AttentionKind::additive) {
    additiveScores(attention, q, k,
                   numbers.scoreVector + head * attention.keyWidth, scores);
  } else {
    scaledProducts(attention, q, k, scores);
  }
  for (int64_t i = 0; i < attention.queries; ++i) {
    int64_t row = (entry * attention.heads + head) * attention.queries + i;
    softmaxRow(attention, entry, head, i, scores.data() + i * attention.columns,
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

HostTensor hova::evaluateAttention(const AttentionParameters &parameters,
                                   const HostTensor &query,
                                   const HostTensor &key,
                                   const HostTensor &value,
                                   HostTensor::Element element,
                                   HostTensor *scores) {
  int64_t heads = parameters.heads;
  Attention attention{parameters, query, key, value};
  if (scores) {
    *scores = HostTensor(
        element, {attention.batch, heads, attention.queries, attention.keys});
  }
  HostTensor result(
      element, {query.getShape()[0], query.getShape()[1], value.getShape()[2]});
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> q(query), k(key), v(value);
    std::optional<Numbers<T>> optional[3];
    const HostTensor *given[] = {parameters.scoreVector, parameters.memoryKey,
                                 parameters.memoryValue};
    const T *data[3] = {};
    for (int i = 0; i < 3; ++i) {
      if (given[i]) {
        data[i] = optional[i].emplace(*given[i]).data();
      }
    }
    AttentionNumbers<T> numbers{q.data(), k.data(), v.data(),
                                data[0],  data[1],  data[2]};
    forEachInParallel(attention.batch * heads, [&](int64_t unit) {
      attend(attention, unit / heads, unit % heads, numbers,
             result.mutableAs<T>(), scores ? scores->mutableAs<T>() : nullptr);
    });
  });
  return result;
}

LogicalResult AttentionOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  AttentionParameters parameters;
  parameters.kind = getKind();
  parameters.emptyRow = getEmptyRow();
  parameters.heads = getHeads();
  parameters.scale = getScale().convertToDouble();
  parameters.temperature = getTemperature().convertToDouble();
  parameters.causal = getCausal();
  parameters.scoreVector = value.optional(getScoreVector());
  parameters.scoreBias = value.optional(getScoreBias());
  parameters.biasIndex = value.optional(getBiasIndex());
  parameters.mask = value.optional(getMask());
  parameters.keyValid = value.optional(getKeyValid());
  parameters.memoryKey = value.optional(getMemoryKey());
  parameters.memoryValue = value.optional(getMemoryValue());
  parameters.storage = storageOf(getElementTypeOrSelf(getValue()));
  HostTensor scores;
  results.push_back(evaluateAttention(
      parameters, value(getQuery()), value(getKey()), value(getValue()),
      value.resultElement(), getScores() ? &scores : nullptr));
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
