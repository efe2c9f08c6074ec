//===- AttentionTokenLanes.cpp - Attention inside of short sequences ------===//
// SPDX-License-Identifier: Apache-2.0
//
// A vector holds the 16 queries of a sequence. Scores of all queries with key j
// are the row j of K^T Q, a product whose left operand is the matrix of keys
// read transposed; their maximum, exponentials and sum go down the rows, and
// row c of the result is a product of the values with the exponentials.

#include "codegen/cpu/recipes/AttentionTokenLanes.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/TokenLanes.h"
#include "dialect/DenseOps.h"
#include "dialect/ScoreForm.h"
#include "dialect/Shapes.h"
#include <cmath>

using namespace mlir;

namespace hova {

static constexpr int64_t kTokens = CpuFacts::sequenceTokens;

bool keepsTokensInLanes(AttentionOp op) {
  ScoreForm form(op.scoreRegion());
  bool isPlain = op.getSimilarity().isProduct() && op.hasSoftmax() &&
                 !op.getMemoryKey() && !op.getBlock() && !op.getScores() &&
                 form.isRaw() && form.conditions.empty() &&
                 std::abs(form.factor) <= ScoreForm::kMostFactor;
  return isPlain && shapeOf(op.getKey())[1] == shapeOf(op.getQuery())[1];
}

namespace {
/// The attention of one head in one sequence.
class LanesAttention {
public:
  LanesAttention(TokenLanes &lanes, AttentionOp op)
      : t(lanes), e(lanes.e), b(e.builder), op(op), heads(op.getHeads()),
        keyWidth(shapeOf(op.getQuery())[2] / heads),
        valueWidth(shapeOf(op.getResult())[2] / heads),
        type(VectorType::get({kTokens}, b.getF32Type())) {}

  void emit(Value token, Value head);

private:
  /// As many accumulators as a tile of products has.
  int64_t tileRows() const {
    const CpuSchedule &schedule = e.schedule;
    return schedule.tileRows * schedule.tileColumns / kTokens;
  }
  /// The head of keys and values that a head of queries reads.
  Value keyHead(Value head) const {
    int64_t group = AttentionOp(op).getGroup();
    return group == 1 ? head : e.div(head, group);
  }
  SmallVector<Value> emitScores(Value token, Value head);
  /// Exponentials to the own matrix; returns one over their sum.
  Value emitSoftmax(ArrayRef<Value> scores);

  TokenLanes &t;
  KernelEmitter &e;
  OpBuilder &b;
  AttentionOp op;
  int64_t heads, keyWidth, valueWidth;
  VectorType type;
};
} // namespace

SmallVector<Value> LanesAttention::emitScores(Value token, Value head) {
  SmallVector<Value> scores;
  Value channel = e.mul(head, keyWidth);
  Value keyChannel = e.mul(keyHead(head), keyWidth);
  Value key = t.transposedMatrix(op.getKey()), query = t.matrix(op.getQuery());
  for (int64_t from = 0; from < kTokens; from += tileRows()) {
    int64_t rows = std::min(tileRows(), kTokens - from);
    Value tile =
        e.make<TileProductOp>(VectorType::get({rows, kTokens}, b.getF32Type()),
                              key, e.add(token, from), keyChannel, query,
                              ValueRange{channel, token}, e.index(keyWidth));
    for (int64_t row = 0; row < rows; ++row) {
      scores.push_back(e.make<vector::ExtractOp>(tile, row));
    }
  }
  return scores;
}

/// Adds up, or whatever `combine` does, in a tree.
static Value reduce(SmallVector<Value> values,
                    llvm::function_ref<Value(Value, Value)> combine) {
  while (values.size() > 1) {
    size_t half = llvm::divideCeil(values.size(), size_t(2));
    for (size_t i = 0; i + half < values.size(); ++i) {
      values[i] = combine(values[i], values[i + half]);
    }
    values.resize(half);
  }
  return values.front();
}

Value LanesAttention::emitSoftmax(ArrayRef<Value> scores) {
  // The greatest product with the scale, whose sign decides which score it is.
  double factor = ScoreForm(op.scoreRegion()).factor / std::log(2.0);
  auto flags = arith::FastMathFlags::nnan | arith::FastMathFlags::nsz;
  Value most = reduce({scores.begin(), scores.end()}, [&](Value a, Value b) {
    return factor > 0 ? e.make<arith::MaxNumFOp>(a, b, flags).getResult()
                      : e.make<arith::MinNumFOp>(a, b, flags).getResult();
  });
  Value exponent = e.splat(factor, type), own = t.ownMatrix();
  SmallVector<Value> weights;
  for (auto [j, score] : llvm::enumerate(scores)) {
    // Differences first: a product with the scale alone may overflow.
    Value distance = e.make<arith::SubFOp>(score, most);
    weights.push_back(e.make<Exp2Op>(e.make<arith::MulFOp>(distance, exponent),
                                     Exp2Op::offsetOfWeights(kTokens)));
    e.storeRow(weights.back(), own, e.index(j), e.index(0), kTokens);
  }
  Value sum = reduce(weights, [&](Value a, Value b) -> Value {
    return e.make<arith::AddFOp>(a, b);
  });
  return e.make<arith::DivFOp>(e.splat(1, type), sum);
}

void LanesAttention::emit(Value token, Value head) {
  Value inverse = emitSoftmax(emitScores(token, head));
  Value value = t.matrix(op.getValue()), result = t.matrix(op.getResult());
  Value own = t.ownMatrix(), first = e.mul(head, valueWidth);
  Value firstValue = e.mul(keyHead(head), valueWidth);
  t.forEachTile(valueWidth, tileRows(), [&](Value channel, int64_t rows) {
    auto tileType = VectorType::get({rows, kTokens}, b.getF32Type());
    Value tile = e.make<TileProductOp>(
        tileType, value, e.add(firstValue, channel), token, own,
        ValueRange{e.index(0), e.index(0)}, e.index(kTokens));
    tile = e.make<arith::MulFOp>(
        tile, e.make<vector::BroadcastOp>(tileType, inverse));
    e.make<TileStoreOp>(tile, result, e.add(first, channel), token,
                        IntegerAttr());
  });
}

void emitTokenLanes(TokenLanes &lanes, AttentionOp op) {
  KernelEmitter &e = lanes.e;
  LanesAttention attention(lanes, op);
  e.forLoop("sequences", e.index(0), e.index(lanes.lanes), kTokens,
            [&](Value token) {
              e.forLoop("heads", e.index(0), e.index(op.getHeads()), 1,
                        [&](Value head) { attention.emit(token, head); });
            });
}

} // namespace hova
