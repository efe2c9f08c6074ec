//===- AttentionTokenLanes.cpp - Attention inside of short sequences ------===//
// SPDX-License-Identifier: Apache-2.0
//
// A vector holds the 16 queries of a sequence. Scores of all queries with key j
// are the row j of K^T Q, a product whose left operand is the matrix of keys
// read transposed; their maximum, exponentials and sum go down the rows, and
// row c of the result is a product of the values with the exponentials.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/recipes/TokenLanes.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/score/ScoreForm.h"
#include <cmath>

using namespace mlir;

namespace hova {

static constexpr int64_t kTokens = CpuFacts::sequenceTokens;

/// Whether the attention is one without masks and biases.
static bool isPlain(AttentionOp op) {
  ScoreForm form(op.scoreRegion());
  return op.getSimilarity().isProduct() && op.hasSoftmax() &&
         !op.getMemoryKey() && !op.getBlock() && !op.getScores() &&
         form.isRaw() && form.conditions.empty() &&
         std::abs(form.factor) <= ScoreForm::kMostFactor &&
         shapeOf(op.getKey())[1] == shapeOf(op.getQuery())[1];
}

/// Adds up, or whatever `combine` does, in a tree.
static Expr reduceTree(SmallVector<Expr> values,
                       llvm::function_ref<Expr(Expr, Expr)> combine) {
  while (values.size() > 1) {
    size_t half = llvm::divideCeil(values.size(), size_t(2));
    for (size_t i = 0; i + half < values.size(); ++i) {
      values[i] = combine(values[i], values[i + half]);
    }
    values.resize(half);
  }
  return values.front();
}

/// 2^(factor * score), of scores a row for each key, to `weights`, up to a
/// factor of each column; returns one over their sums.
static Expr emitSoftmax(KernelEmitter &e, SmallVector<Expr> scores,
                        double factor, Value weights) {
  // The greatest product with the scale, whose sign decides which score it is.
  auto kind = factor > 0 ? vector::CombiningKind::MAXNUMF
                         : vector::CombiningKind::MINNUMF;
  Expr most =
      reduceTree(scores, [&](Expr a, Expr b) { return combine(kind, a, b); });
  for (auto [j, score] : llvm::enumerate(scores)) {
    // Differences first: a product with the scale alone may overflow.
    score = exp2((score - most) * factor, Exp2Op::offsetOfWeights(kTokens));
    e.store(score, weights, j, {0, kTokens});
  }
  return 1.0 / reduceTree(scores, std::plus<Expr>());
}

/// The loops of all heads of all sequences of a tile.
static void emitLanes(TokenLanes &t, AttentionOp op) {
  KernelEmitter &e = t.e;
  double factor = ScoreForm(op.scoreRegion()).factor / std::log(2.0);
  int64_t heads = op.getHeads();
  int64_t keyWidth = shapeOf(op.getQuery())[2] / heads;
  int64_t valueWidth = shapeOf(op.getResult())[2] / heads;
  // As many accumulators as a tile of products has.
  int64_t most = e.schedule.tileRows * e.schedule.tileColumns / kTokens;
  Value query = t.matrix(op.getQuery()), value = t.matrix(op.getValue());
  Value key = t.matrix(op.getKey(), /*isTransposed=*/true);
  Value result = t.matrix(op.getResult()), weights = t.scratchMatrix();
  auto emitHead = [&](Expr token, Expr head) {
    // The head of keys and values that a head of queries reads.
    Expr keyHead = head / op.getGroup();
    SmallVector<Expr> scores;
    for (int64_t from = 0; from < kTokens; from += most) {
      TilePlace place(from, 0, std::min(most, kTokens - from), kTokens);
      Expr tile = e.multiply(place, {key, {token + from, keyHead * keyWidth}},
                             {query, {head * keyWidth, token}}, keyWidth);
      for (int64_t row = 0; row < place.rows; ++row) {
        scores.push_back(tile[row]);
      }
    }
    Expr inverse = emitSoftmax(e, scores, factor, weights);
    t.forEachTile(valueWidth, most, [&](const TilePlace &tile) {
      TilePlace place(head * valueWidth + tile.row, token, tile.rows, kTokens);
      Expr sums =
          e.multiply(place, {value, {keyHead * valueWidth + tile.row, token}},
                     {weights, {0, 0}}, kTokens);
      e.store(sums * inverse, result, place);
    });
  };
  e.forLoop("sequences", 0, t.lanes, kTokens, [&](Expr token) {
    e.forLoop("heads", heads, [&](Expr head) { emitHead(token, head); });
  });
}

namespace {
struct AttentionLanes
    : CpuTokenLanesOpInterface::ExternalModel<AttentionLanes, AttentionOp> {
  std::optional<std::string> declineTokenLanes(Operation *op) const {
    return isPlain(cast<AttentionOp>(op))
               ? std::nullopt
               : std::optional<std::string>(
                     "softmax attention of as many queries as keys, not "
                     "causal, with a scale that is not 0, without masks and "
                     "biases");
  }
  void emitTokenLanes(Operation *op, TokenLanes &lanes) const {
    emitLanes(lanes, cast<AttentionOp>(op));
  }
};
} // namespace

void attachAttentionTokenLanes(MLIRContext &context) {
  AttentionOp::attachInterface<AttentionLanes>(context);
}

} // namespace hova
