//===- Attention.cpp - Meaning of attention -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The definition, not an algorithm: for every batch entry and head all raw
// scores of the keys that queries see, then what the region makes of them, then
// a softmax over the kept keys, then the product with the values. Queries of a
// block see keys of their own, in the order of the definition.

#include "dialect/attention/AttentionOps.h"
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
        block(op.getBlock().value_or(queries)),
        blocks(op.getBlock() ? llvm::divideCeil(queries, block) : 1),
        random(value.optional(op.getRandomBlocks())),
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
  int64_t block;  ///< queries that see the same keys
  int64_t blocks; ///< 1: all queries see all keys
  const HostTensor *random;
  /// Type of the probabilities that values are multiplied with, in float32.
  Storage storage;
  ScoreRegion region;
  SmallVector<const HostTensor *> captured;

  std::vector<int64_t> seenKeys(int64_t head, int64_t queryBlock) const;

private:
  SmallVector<int64_t> seenBlocks(int64_t head, int64_t queryBlock) const;
};

} // namespace

/// Blocks that the queries of block `queryBlock` see, as often as they do.
SmallVector<int64_t> Attention::seenBlocks(int64_t head,
                                           int64_t queryBlock) const {
  bool seesAll = queryBlock == 0 || queryBlock == blocks - 1;
  SmallVector<int64_t> seen;
  for (int64_t other : llvm::seq(blocks)) {
    bool isGlobal = other == 0 || other == blocks - 1;
    bool isNeighbour = std::abs(other - queryBlock) <= 1;
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
        random->at((head * (blocks - 2) + queryBlock - 1) * count + entry));
    if (drawn >= 0 && drawn < blocks) {
      seen.push_back(drawn);
    }
  }
  return seen;
}

/// The keys that the queries of block `queryBlock` see, as often as they do.
std::vector<int64_t> Attention::seenKeys(int64_t head,
                                         int64_t queryBlock) const {
  std::vector<int64_t> seen;
  auto see = [&](int64_t begin, int64_t end) {
    for (int64_t key = begin; key < end; ++key) {
      seen.push_back(key);
    }
  };
  if (blocks == 1) {
    see(0, columns);
    return seen;
  }
  for (int64_t other : seenBlocks(head, queryBlock)) {
    see(other * block, std::min((other + 1) * block, keys));
  }
  return seen;
}

/// Columns `head*width ..` of the listed rows of one batch entry, dense.
template <typename T, typename Rows>
static std::vector<T> headRows(const T *data, int64_t entry, int64_t head,
                               const Rows &list, int64_t rows, int64_t heads,
                               int64_t width) {
  std::vector<T> result;
  result.reserve(list.size() * width);
  for (int64_t i : list) {
    const T *row = data + ((entry * rows + i) * heads + head) * width;
    result.insert(result.end(), row, row + width);
  }
  return result;
}

/// `q k^T`.
template <typename T>
static void products(const Attention &attention, const std::vector<T> &q,
                     const std::vector<T> &k, std::vector<T> &scores) {
  MatrixView<T> transposed{k.data(), 1, attention.keyWidth};
  int64_t queries = q.size() / attention.keyWidth;
  multiply(q.data(), transposed, nullptr, scores.data(), queries,
           attention.keyWidth, k.size() / attention.keyWidth,
           /*parallel=*/false);
}

/// Sums of terms; `vector` may be null.
template <typename T>
static void sumTerms(const Attention &attention, const std::vector<T> &q,
                     const std::vector<T> &k, const T *vector,
                     std::vector<T> &scores) {
  int64_t queries = q.size() / attention.keyWidth;
  int64_t columns = k.size() / attention.keyWidth;
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      T sum = 0;
      for (int64_t a = 0; a < attention.keyWidth; ++a) {
        sum += static_cast<T>(attention.similarity.evaluateTerm(
            q[i * attention.keyWidth + a], k[j * attention.keyWidth + a],
            vector ? vector[a] : 0));
      }
      scores[i * columns + j] = sum;
    }
  }
}

/// Scores of one query become weights without a softmax: 0 where masked.
template <typename T>
static void weightsRow(const Attention &attention, ScoreRow<T> &scores,
                       MutableArrayRef<T> row) {
  T sum = 0;
  for (auto [weight, score, kept] :
       llvm::zip_equal(row, scores.scores(), scores.kept())) {
    bool isMasked = score == -std::numeric_limits<T>::infinity();
    weight = kept && !isMasked ? score : T(0);
    sum += weight;
  }
  if (attention.normalization == Normalization::sum) {
    for (T &weight : row) {
      weight = sum == 0 ? T(0) : weight / sum;
    }
  }
}

/// Raw scores of one query become probabilities: 0 where masked. What the
/// region carries is copied to `given`, unless that is null.
template <typename T>
static void softmaxRow(const Attention &attention, HeadScores<T> &scores,
                       int64_t query, MutableArrayRef<T> row, T *given) {
  ScoreRow<T> &scored = scores.run(query, row.data());
  std::vector<bool> kept = scores.findKept(query);
  llvm::copy(scored.scores(), row.begin());
  if (given) {
    std::copy_n(scored.carried()->data(), attention.keys, given);
  }
  if (attention.normalization != Normalization::softmax) {
    return weightsRow(attention, scored, row);
  }
  T peak = -std::numeric_limits<T>::infinity();
  bool any = false, undefined = false;
  for (auto [score, isKept] : llvm::zip(row, kept)) {
    any |= isKept;
    if (isKept) {
      undefined |= std::isnan(score);
      peak = std::max(peak, score);
    }
  }
  if (!any) {
    llvm::fill(row, T(0));
    if (attention.emptyRow == EmptyRow::uniform) {
      llvm::fill(row.take_front(attention.keys),
                 T(1) / static_cast<T>(attention.keys));
    }
    return;
  }
  // max() drops a NaN that comes second; the row must not.
  if (undefined) {
    peak = std::numeric_limits<T>::quiet_NaN();
  }
  T sum = 0;
  for (auto [score, isKept] : llvm::zip(row, kept)) {
    score = isKept ? evaluateExponential(score - peak) : T(0);
    sum += score;
  }
  for (T &share : row) {
    share /= sum;
  }
}

/// `probabilities v`. Keys that a query does not see have the weight 0, and no
/// part in its row whatever their values are.
template <typename T>
static std::vector<T> pool(const Attention &attention,
                           const std::vector<T> &probabilities,
                           const std::vector<T> &v, int64_t count) {
  int64_t width = attention.valueWidth, columns = v.size() / width;
  std::vector<T> pooled(count * width);
  multiply(probabilities.data(), MatrixView<T>{v.data(), width, 1}, nullptr,
           pooled.data(), count, columns, width, /*parallel=*/false);
  if (llvm::all_of(v, [](T number) { return std::isfinite(number); })) {
    return pooled;
  }
  llvm::fill(pooled, T(0));
  for (int64_t place = 0, e = probabilities.size(); place < e; ++place) {
    T weight = probabilities[place];
    const T *value = v.data() + place % columns * width;
    for (int64_t c = 0; weight != 0 && c < width; ++c) {
      pooled[place / columns * width + c] += weight * value[c];
    }
  }
  return pooled;
}

/// Numbers of the operands; null for those that there are not.
template <typename T> struct AttentionNumbers {
  const T *query, *key, *value, *scoreVector, *memoryKey, *memoryValue;
};

/// The queries of block `block` of one batch entry and head of the result.
template <typename T>
static void attend(const Attention &attention, int64_t entry, int64_t head,
                   int64_t block, const AttentionNumbers<T> &numbers, T *result,
                   T *given) {
  // Consecutive heads of queries share one of keys.
  int64_t shared = head / (attention.heads / attention.keyHeads);
  int64_t end = std::min((block + 1) * attention.block, attention.queries);
  auto queries = llvm::seq(block * attention.block, end);
  std::vector<int64_t> keys = attention.seenKeys(head, block);
  // Keys or values, then the slots, which all batch entries share. Where there
  // are some, all keys are seen.
  ArrayRef<int64_t> tokens(keys);
  if (attention.columns > attention.keys) {
    tokens = tokens.take_front(attention.keys);
  }
  auto withSlots = [&](const T *data, const T *memory, int64_t width) {
    std::vector<T> rows = headRows(data, entry, shared, tokens, attention.keys,
                                   attention.keyHeads, width);
    std::vector<T> slots = headRows(
        memory, 0, shared, llvm::seq(attention.columns - attention.keys),
        attention.columns - attention.keys, attention.keyHeads, width);
    rows.insert(rows.end(), slots.begin(), slots.end());
    return rows;
  };
  std::vector<T> q =
      headRows(numbers.query, entry, head, queries, attention.queries,
               attention.heads, attention.keyWidth);
  std::vector<T> k =
      withSlots(numbers.key, numbers.memoryKey, attention.keyWidth);
  std::vector<T> v =
      withSlots(numbers.value, numbers.memoryValue, attention.valueWidth);
  int64_t count = queries.size(), columns = keys.size();
  std::vector<T> scores(count * columns);
  const T *vector = numbers.scoreVector
                        ? numbers.scoreVector + head * attention.keyWidth
                        : nullptr;
  if (isa<DotAttr>(attention.similarity)) {
    products(attention, q, k, scores);
  } else {
    sumTerms(attention, q, k, vector, scores);
  }
  HeadScores<T> region(attention.region, attention.captured, keys, entry, head);
  for (auto [i, query] : llvm::enumerate(queries)) {
    int64_t row = (entry * attention.heads + head) * attention.queries + query;
    softmaxRow(attention, region, query,
               MutableArrayRef(scores).slice(i * columns, columns),
               given ? given + row * attention.keys : nullptr);
  }
  if constexpr (std::is_same_v<T, float>) {
    for (T &probability : scores) {
      probability = roundTo(probability, attention.storage);
    }
  }
  std::vector<T> pooled = pool(attention, scores, v, count);
  for (auto [i, query] : llvm::enumerate(queries)) {
    int64_t row = entry * attention.queries + query;
    std::copy_n(pooled.data() + i * attention.valueWidth, attention.valueWidth,
                result + (row * attention.heads + head) * attention.valueWidth);
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
    int64_t heads = attention.heads, blocks = attention.blocks;
    forEachInParallel(attention.batch * heads * blocks, [&](int64_t unit) {
      attend(attention, unit / blocks / heads, unit / blocks % heads,
             unit % blocks, numbers, result.mutableAs<T>(),
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
  double most = getMost().convertToDouble();
  results.push_back(
      evaluateEach(value(getX()), value.resultElement(), [&](auto logarithm) {
        using T = decltype(logarithm);
        return std::min(std::exp(logarithm), static_cast<T>(most));
      }));
  return success();
}

//===----------------------------------------------------------------------===//
// Tables of indices
//===----------------------------------------------------------------------===//

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
