//===- LinearAttention.cpp - Meaning of linear attention ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums over keys, to which one key after the other is added, and queries that
// read them. Where the features of keys are relative to a maximum, the sums
// keep it, and are scaled when it grows. And projected tokens. In float32 what
// is narrow is rounded as programs do, which scale what a type of 16 bits has
// no range for.

#include "dialect/Storage.h"
#include "dialect/evaluate/Evaluate.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace mlir;
using namespace hova;

namespace {

/// Sizes and constants of one operation.
struct Features {
  FeatureMap map;
  int64_t heads, keyWidth, valueWidth, count;
  double scale, eps = 0, stabilizer = 0, denominatorEps = 0;
  Storage narrow = Storage::F32; ///< digits of what is multiplied

  bool hasMaximum() const { return map == FeatureMap::softmax; }
};

/// A factor with as many digits as the type that features are rounded to, and
/// the range of f32. Exact in float64.
template <typename T> T rounded(const Features &features, T factor) {
  if constexpr (std::is_same_v<T, float>) {
    if (features.narrow != Storage::F32 && std::isfinite(factor)) {
      int exponent = 0;
      float digits = std::frexp(factor, &exponent);
      return std::ldexp(roundTo(digits, features.narrow), exponent);
    }
  }
  return factor;
}

/// The product of two features counts one over this: softmax ones have a factor
/// of one over the root of their number. So have plain exponentials, but in the
/// exponent (KeySums::shift).
int64_t normalizerOf(const Features &features) {
  return features.map == FeatureMap::softmax ? features.count : 1;
}

/// The maximum that a summary of no valid key has (`hova.key_summary`).
constexpr double kNoMaximum = -1e30;

/// Rows of a summary (`hova.key_summary`): one for each feature, and of those
/// that have a maximum, the sum of the values and the maximum.
int64_t summaryRows(const Features &features) {
  return features.count + (features.hasMaximum() ? 2 : 0);
}

/// What the features of one token are made of: `(scale x w)_r`, and
/// `|scale x|^2 / 2`.
template <typename T> struct Projection {
  std::vector<T> products;
  T halfNorm = 0;

  T maximum() const {
    return *std::max_element(products.begin(), products.end());
  }
};

/// The sums over keys of one batch entry and head.
template <typename T> struct KeySums {
  KeySums(const Features &features)
      : features(features), values(features.count * features.valueWidth),
        ones(features.count), plainValues(features.valueWidth) {}

  /// Makes the sums relative to `maximum`, if that is larger.
  void raise(T maximum) {
    if (!features.hasMaximum() || maximum <= this->maximum) {
      return;
    }
    T factor = evaluateExponential(this->maximum - maximum);
    for (T &sum : values) {
      sum *= factor;
    }
    for (T &sum : ones) {
      sum *= factor;
    }
    this->maximum = maximum;
  }

  /// Adds a key whose products are not above the maximum.
  void add(const Projection<T> &key, const T *value) {
    for (int64_t r = 0; r < features.count; ++r) {
      T feature =
          features.map == FeatureMap::relu
              ? std::max(key.products[r], T(0)) + static_cast<T>(features.eps)
              : evaluateExponential(
                    key.products[r] - key.halfNorm -
                    (features.hasMaximum() ? maximum : shift()));
      feature = rounded(features, feature);
      ones[r] += feature;
      for (int64_t c = 0; c < features.valueWidth; ++c) {
        values[r * features.valueWidth + c] += feature * value[c];
      }
    }
    for (int64_t c = 0; c < features.valueWidth; ++c) {
      plainValues[c] += value[c];
    }
    keys += 1;
  }

  /// The result of a query.
  void read(const Projection<T> &query, T *result) const {
    T peak = features.hasMaximum() ? query.maximum() : shift();
    bool addsEps = features.map != FeatureMap::exp;
    T eps = static_cast<T>(addsEps ? features.eps : 0);
    // Of keys, relu has added it.
    T keyEps = features.hasMaximum() ? eps : T(0);
    T denominator = 0;
    std::vector<T> sums(features.valueWidth);
    for (int64_t r = 0; r < features.count; ++r) {
      T feature =
          features.map == FeatureMap::relu
              ? std::max(query.products[r], T(0)) + eps
              : evaluateExponential(query.products[r] - query.halfNorm - peak) +
                    eps;
      T one = ones[r] + keyEps * keys;
      // Exactly, a mean times its weight is the sum, but for what a division
      // rounds: far numbers show whether sums are divided or not.
      if (std::is_same_v<T, float> && features.narrow != Storage::F32) {
        addMeans(feature, one, keyEps, sums, denominator, r);
        continue;
      }
      denominator += feature * one;
      for (int64_t c = 0; c < features.valueWidth; ++c) {
        sums[c] += feature * (values[r * features.valueWidth + c] +
                              keyEps * plainValues[c]);
      }
    }
    T normalizer = static_cast<T>(normalizerOf(features));
    denominator /= normalizer;
    T stabilizer = static_cast<T>(features.stabilizer);
    denominator += std::abs(denominator) <= stabilizer ? 2 * stabilizer : T(0);
    denominator += static_cast<T>(features.denominatorEps);
    for (int64_t c = 0; c < features.valueWidth; ++c) {
      result[c] =
          denominator == T(0) ? T(0) : sums[c] / normalizer / denominator;
    }
  }

  /// What feature `r` of a query reads, as the mean of the values, weighed by
  /// the sum of the features `one`.
  void addMeans(T feature, T one, T keyEps, std::vector<T> &sums,
                T &denominator, int64_t r) const {
    T weight = rounded(features, feature * one);
    denominator += weight;
    for (int64_t c = 0; c < features.valueWidth && one != T(0); ++c) {
      T sum = values[r * features.valueWidth + c] + keyEps * plainValues[c];
      sums[c] += weight * rounded(features, sum / one);
    }
  }

  /// What is taken off the exponents of features without a maximum: their
  /// factor of one over the root of their number.
  T shift() const {
    return features.map == FeatureMap::exp
               ? static_cast<T>(std::log(double(features.count)) / 2)
               : T(0);
  }

  const Features &features;
  std::vector<T> values, ones, plainValues;
  T keys = 0;
  T maximum = static_cast<T>(kNoMaximum);
};

/// The tokens of one operand that has heads.
template <typename T> class HeadTokens {
public:
  HeadTokens(const HostTensor &tensor, int64_t heads)
      : numbers(tensor), tokens(tensor.getShape()[1]), heads(heads),
        width(tensor.getShape()[2] / heads) {}
  const T *at(int64_t entry, int64_t head, int64_t token) const {
    return numbers.data() + ((entry * tokens + token) * heads + head) * width;
  }

private:
  Numbers<T> numbers;
  int64_t tokens, heads, width;
};

template <typename T> class Projector {
public:
  Projector(const Features &features, const HostTensor *weight)
      : features(features) {
    if (weight) {
      Numbers<T> given(*weight);
      weights.emplace(given.data(), given.data() + weight->size());
      for (T &number : *weights) {
        number = rounded(features, number);
      }
    }
  }
  Projection<T> operator()(const T *x) const {
    Projection<T> result;
    T scale = static_cast<T>(features.scale);
    std::vector<T> scaled(x, x + features.keyWidth);
    for (T &element : scaled) {
      element *= scale;
      result.halfNorm += element * element / 2;
    }
    if (!weights) {
      result.products = scaled;
      return result;
    }
    result.products.assign(features.count, T(0));
    for (int64_t k = 0; k < features.keyWidth; ++k) {
      for (int64_t r = 0; r < features.count; ++r) {
        result.products[r] += scaled[k] * (*weights)[k * features.count + r];
      }
    }
    return result;
  }

private:
  const Features &features;
  std::optional<std::vector<T>> weights;
};

/// The keys of an operation.
template <typename T> struct Keys {
  HeadTokens<T> key, value;
  int64_t readers; ///< heads of queries that read one of keys
  const Projector<T> &project;
  const HostTensor *valid;
  int64_t tokens;

  bool counts(int64_t entry, int64_t token) const {
    return !valid || valid->at(entry * tokens + token) != 0;
  }
  /// Adds keys `from` up to before `to`, relative to the maximum of all.
  void add(KeySums<T> &sums, int64_t entry, int64_t head, int64_t from,
           int64_t to) const {
    std::vector<std::pair<int64_t, Projection<T>>> all;
    for (int64_t token = from; token < to; ++token) {
      if (counts(entry, token)) {
        all.emplace_back(token, project(key.at(entry, head / readers, token)));
        sums.raise(all.back().second.maximum());
      }
    }
    for (const auto &[token, projection] : all) {
      sums.add(projection, value.at(entry, head / readers, token));
    }
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Whole
//===----------------------------------------------------------------------===//

template <typename OpT>
static Features featuresOf(OpT op, const HostTensor &query,
                           const HostTensor *weight, int64_t valueWidth) {
  Features features;
  features.map = op.getMap();
  features.heads = op.getHeads();
  features.keyWidth = query.getShape()[2] / features.heads;
  features.valueWidth = valueWidth;
  features.count = weight ? weight->getShape()[1] : features.keyWidth;
  features.scale = op.getScale().convertToDouble();
  features.eps = op.getEps().convertToDouble();
  if (op.getNarrow()) {
    features.narrow = storageOf(getElementTypeOrSelf(op->getOperand(0)));
  }
  return features;
}

LogicalResult
LinearAttentionOp::evaluate(ArrayRef<HostTensor> operands,
                            SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &query = value(getQuery()), &key = value(getKey()),
                   &values = value(getValue());
  const HostTensor *weight = value.optional(getFeatures());
  int64_t keyHeads = getKeyValueHeads().value_or(getHeads());
  Features features =
      featuresOf(*this, query, weight, values.getShape()[2] / keyHeads);
  features.stabilizer = getStabilizer().convertToDouble();
  features.denominatorEps = getDenominatorEps().convertToDouble();
  int64_t queries = query.getShape()[1], tokens = key.getShape()[1];
  HostTensor result(
      value.resultElement(),
      {query.getShape()[0], queries, features.heads * features.valueWidth});
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Projector<T> project(features, weight);
    HeadTokens<T> reading(query, features.heads);
    Keys<T> keys{{key, keyHeads},
                 {values, keyHeads},
                 features.heads / keyHeads,
                 project,
                 value.optional(getKeyValid()),
                 tokens};
    int64_t units = query.getShape()[0] * features.heads;
    forEachInParallel(units, [&](int64_t unit) {
      int64_t entry = unit / features.heads, head = unit % features.heads;
      KeySums<T> sums(features);
      if (!getCausal()) {
        keys.add(sums, entry, head, 0, tokens);
      }
      for (int64_t i = 0; i < queries; ++i) {
        if (getCausal()) {
          keys.add(sums, entry, head, i, i + 1);
        }
        sums.read(project(reading.at(entry, head, i)),
                  result.mutableAs<T>() +
                      ((entry * queries + i) * features.heads + head) *
                          features.valueWidth);
      }
    });
  });
  results.push_back(result);
  return success();
}

// Features are not negative, so that values alone have signs.
SmallVector<OpOperand *> LinearAttentionOp::getSummands() {
  return {&getValueMutable()};
}

//===----------------------------------------------------------------------===//
// In blocks
//===----------------------------------------------------------------------===//

/// Rows of a block of a summary, `columns` elements each.
template <typename T> static void writeSums(const KeySums<T> &sums, T *block) {
  const Features &features = sums.features;
  int64_t columns = features.valueWidth + 1;
  for (int64_t r = 0; r < features.count; ++r) {
    std::copy_n(sums.values.data() + r * features.valueWidth,
                features.valueWidth, block + r * columns);
    block[r * columns + features.valueWidth] = sums.ones[r];
  }
  if (features.hasMaximum()) {
    T *extra = block + features.count * columns;
    std::copy_n(sums.plainValues.data(), features.valueWidth, extra);
    extra[features.valueWidth] = sums.keys;
    bool any = sums.keys > T(0);
    std::fill_n(extra + columns, columns,
                any ? sums.maximum * static_cast<T>(llvm::numbers::log2e)
                    : static_cast<T>(kNoMaximum));
  }
}

/// Adds the sums of a block to those of the blocks before it.
template <typename T> static void mergeSums(KeySums<T> &sums, const T *block) {
  const Features &features = sums.features;
  int64_t columns = features.valueWidth + 1;
  T factor = 1;
  if (features.hasMaximum()) {
    const T *extra = block + features.count * columns;
    if (extra[features.valueWidth] == T(0)) {
      return;
    }
    T maximum = extra[columns] / static_cast<T>(llvm::numbers::log2e);
    sums.raise(maximum);
    factor = evaluateExponential(maximum - sums.maximum);
    for (int64_t c = 0; c < features.valueWidth; ++c) {
      sums.plainValues[c] += extra[c];
    }
    sums.keys += extra[features.valueWidth];
  }
  for (int64_t r = 0; r < features.count; ++r) {
    for (int64_t c = 0; c < features.valueWidth; ++c) {
      sums.values[r * features.valueWidth + c] +=
          factor * block[r * columns + c];
    }
    sums.ones[r] += factor * block[r * columns + features.valueWidth];
  }
}

LogicalResult KeySummaryOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &key = value(getKey()), &values = value(getValue());
  const HostTensor *weight = value.optional(getFeatures());
  Features features =
      featuresOf(*this, key, weight, values.getShape()[2] / getHeads());
  int64_t tokens = key.getShape()[1], size = getBlock();
  int64_t blocks = llvm::divideCeil(tokens, size);
  int64_t rows = summaryRows(features);
  HostTensor result(value.resultElement(),
                    {key.getShape()[0], features.heads, blocks, rows,
                     features.valueWidth + 1});
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Projector<T> project(features, weight);
    Keys<T> keys{{key, features.heads},
                 {values, features.heads},
                 /*readers=*/1,
                 project,
                 value.optional(getKeyValid()),
                 tokens};
    forEachInParallel(
        key.getShape()[0] * features.heads * blocks, [&](int64_t unit) {
          int64_t block = unit % blocks, pair = unit / blocks;
          KeySums<T> sums(features);
          keys.add(sums, pair / features.heads, pair % features.heads,
                   block * size, std::min((block + 1) * size, tokens));
          writeSums(sums, result.mutableAs<T>() +
                              unit * rows * (features.valueWidth + 1));
        });
  });
  results.push_back(result);
  return success();
}

SmallVector<OpOperand *> KeySummaryOp::getSummands() {
  return {&getValueMutable()};
}

LogicalResult MergeSummariesOp::evaluate(ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &summary = value(getSummary());
  SmallVector<int64_t> shape(summary.getShape());
  int64_t blocks = shape[2], blockElements = shape[3] * shape[4];
  Features features{};
  features.map = getMap();
  features.valueWidth = shape[4] - 1;
  features.count = shape[3] - (features.hasMaximum() ? 2 : 0);
  shape[2] = getExclusive() ? blocks : 1;
  HostTensor result(value.resultElement(), shape);
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> slots(summary);
    forEachInParallel(shape[0] * shape[1], [&](int64_t unit) {
      KeySums<T> sums(features);
      T *merged = result.mutableAs<T>() + unit * shape[2] * blockElements;
      for (int64_t block = 0; block < blocks; ++block) {
        if (getExclusive()) {
          writeSums(sums, merged + block * blockElements);
        }
        mergeSums(sums, slots.data() + (unit * blocks + block) * blockElements);
      }
      if (!getExclusive()) {
        writeSums(sums, merged);
      }
    });
  });
  results.push_back(result);
  return success();
}

SmallVector<OpOperand *> MergeSummariesOp::getSummands() {
  // The exponent in a summary of softmax is no sum.
  if (getMap() == FeatureMap::softmax) {
    return {};
  }
  return {&getSummaryMutable()};
}

LogicalResult
SummaryAttentionOp::evaluate(ArrayRef<HostTensor> operands,
                             SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &query = value(getQuery()), &summary = value(getSummary());
  const HostTensor *weight = value.optional(getFeatures());
  Features features =
      featuresOf(*this, query, weight, summary.getShape()[4] - 1);
  features.stabilizer = getStabilizer().convertToDouble();
  features.denominatorEps = getDenominatorEps().convertToDouble();
  int64_t queries = query.getShape()[1], size = getBlock();
  int64_t keyHeads = summary.getShape()[1], blocks = summary.getShape()[2];
  int64_t readers = features.heads / keyHeads;
  int64_t blockElements = summary.getShape()[3] * summary.getShape()[4];
  HostTensor result(
      value.resultElement(),
      {query.getShape()[0], queries, features.heads * features.valueWidth});
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Projector<T> project(features, weight);
    HeadTokens<T> reading(query, features.heads);
    Numbers<T> slots(summary);
    std::optional<Keys<T>> keys;
    if (getKey()) {
      keys.emplace(Keys<T>{{value(getKey()), keyHeads},
                           {value(getValue()), keyHeads},
                           readers,
                           project,
                           value.optional(getKeyValid()),
                           queries});
    }
    int64_t units = query.getShape()[0] * features.heads;
    forEachInParallel(units, [&](int64_t unit) {
      int64_t entry = unit / features.heads, head = unit % features.heads;
      KeySums<T> sums(features);
      int64_t firstSlot = (entry * keyHeads + head / readers) * blocks;
      auto merge = [&](KeySums<T> &into, int64_t block) {
        mergeSums(into, slots.data() + (firstSlot + block) * blockElements);
      };
      for (int64_t block = 0; !keys && block < blocks; ++block) {
        merge(sums, block);
      }
      // Of a causal block: the blocks before it, and its keys so far.
      std::optional<KeySums<T>> blockSums;
      for (int64_t i = 0; i < queries; ++i) {
        T *row = result.mutableAs<T>() +
                 ((entry * queries + i) * features.heads + head) *
                     features.valueWidth;
        Projection<T> projection = project(reading.at(entry, head, i));
        if (!keys) {
          sums.read(projection, row);
          continue;
        }
        if (i % size == 0) {
          if (getMerged()) {
            blockSums.emplace(features);
            merge(*blockSums, i / size);
          } else {
            if (i > 0) {
              merge(sums, i / size - 1);
            }
            blockSums.emplace(sums);
          }
        }
        keys->add(*blockSums, entry, head, i, i + 1);
        blockSums->read(projection, row);
      }
    });
  });
  results.push_back(result);
  return success();
}

SmallVector<OpOperand *> SummaryAttentionOp::getSummands() {
  // The exponent in a summary of softmax is no sum, and its features are 1 at
  // most.
  if (getMap() == FeatureMap::softmax) {
    return {};
  }
  SmallVector<OpOperand *> summands = {&getSummaryMutable()};
  llvm::append_range(summands, llvm::make_pointer_range(getValueMutable()));
  return summands;
}

//===----------------------------------------------------------------------===//
// Projected tokens
//===----------------------------------------------------------------------===//

LogicalResult ProjectTokensOp::evaluate(ArrayRef<HostTensor> operands,
                                        SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0], &weight = operands[1];
  int64_t tokens = x.getShape()[1], width = x.getShape()[2];
  int64_t projected = weight.getShape()[1];
  OperandValues value(*this, operands);
  HostTensor result(value.resultElement(), {x.getShape()[0], projected, width});
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> numbers(x), weights(weight);
    T *sums = result.mutableAs<T>();
    forEachInParallel(x.getShape()[0] * projected, [&](int64_t unit) {
      int64_t entry = unit / projected, r = unit % projected;
      T *row = sums + unit * width;
      std::fill_n(row, width, T(0));
      for (int64_t j = 0; j < tokens; ++j) {
        T weight = weights[j * projected + r];
        for (int64_t c = 0; c < width; ++c) {
          row[c] += weight * numbers[(entry * tokens + j) * width + c];
        }
      }
    });
  });
  results.push_back(result);
  return success();
}

SmallVector<OpOperand *> ProjectTokensOp::getSummands() {
  return {&getXMutable(), &getWeightMutable()};
}
