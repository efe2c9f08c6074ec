//===- LinearAttentionOps.cpp - Verifiers, dims and costs -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/linear_attention/LinearAttentionOps.h"
#include "dialect/Shapes.h"
#include "dialect/Storage.h"
#include "dialect/attention/AttentionOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace hova;

static constexpr int64_t kDynamic = ShapedType::kDynamic;

//===----------------------------------------------------------------------===//
// What the operations have in common
//===----------------------------------------------------------------------===//

static int64_t perHead(int64_t width, int64_t heads) {
  return combine(width, heads, std::divides<>());
}

static int64_t blocksOf(int64_t tokens, int64_t block) {
  return combine(tokens, block, [](int64_t a, int64_t b) -> int64_t {
    return llvm::divideCeil(a, b);
  });
}

/// How many features a head of `width` columns has.
static int64_t featureCount(Value features, int64_t width) {
  return features ? shapeOf(features).back() : width;
}

static LogicalResult verifyHeads(Operation *op, int64_t heads,
                                 ArrayRef<int64_t> widths) {
  for (int64_t width : widths) {
    if (width != kDynamic && width % heads != 0) { // C1, C2
      return op->emitOpError("expects widths divisible by ")
             << heads << " heads, got " << width;
    }
  }
  return success();
}

/// `width` is that of a head of what the features are made from.
static LogicalResult verifyFeatures(Operation *op, FeatureMap map,
                                    Value features, int64_t width) {
  if (!features) {
    if (map == FeatureMap::relu) {
      return success();
    }
    return op->emitOpError(
        "expects features, which only relu does without"); // C2, C3
  }
  ArrayRef<int64_t> shape = shapeOf(features);
  if (shape.size() != 2 || !agree(shape[0], width)) { // C2, C3
    return op->emitOpError("expects features of shape ")
           << shapeText({width, kDynamic}) << ", got " << shapeText(shape);
  }
  return success();
}

static LogicalResult verifyKeyValid(Operation *op, Value valid,
                                    ArrayRef<int64_t> key) {
  if (!valid || agree(shapeOf(valid), key.take_front(2))) { // C4, C5
    return success();
  }
  return op->emitOpError("expects key_valid of shape ")
         << shapeText(key.take_front(2)) << ", got "
         << shapeText(shapeOf(valid));
}

static LogicalResult verifyConstants(Operation *op, const APFloat &scale,
                                     ArrayRef<APFloat> others) {
  bool good =
      scale.isFinite() && llvm::all_of(others, [](const APFloat &number) {
        return number.isFinite() && !(number < APFloat(0.0));
      });
  if (!good) { // C6, C7, C8
    return op->emitOpError("expects a finite scale, and a finite eps, "
                           "stabilizer and denominator_eps of at least 0");
  }
  return success();
}

/// `factors` are null where there are none.
static LogicalResult verifyNarrow(Operation *op, bool isNarrow,
                                  ArrayRef<Value> factors) {
  Type element = getElementTypeOrSelf(factors.front());
  bool isStored = storageOf(element) != Storage::F32 &&
                  llvm::all_of(factors, [&](Value factor) {
                    return !factor || getElementTypeOrSelf(factor) == element;
                  });
  if (!isNarrow || isStored) {
    return success();
  }
  return op->emitOpError("expects factors of one type of 16 bits where it is "
                         "narrow, got ")
         << element << " first"; // C7, C8, C10
}

static LogicalResult verifyResult(Operation *op, ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  if (!agree(shape, expected)) { // C5, C7
    return op->emitOpError("expects a result of shape ")
           << shapeText(expected) << ", got " << shapeText(shape);
  }
  return success();
}

/// What enters a product with activations. The features are of f32: they are
/// small, and stand in exponents.
static bool isActivation(Operation *op, unsigned index, Value features,
                         Value valid) {
  Value operand = op->getOperand(index);
  return operand != features && operand != valid;
}

namespace {
/// Dims and axes of the columns of heads; of inner columns alone where the
/// widths are not known.
struct HeadColumns {
  int64_t keyWidth, valueWidth;
  AffineExpr of(AffineExpr head, AffineExpr column, int64_t width) const {
    bool known =
        !ShapedType::isDynamic(keyWidth) && !ShapedType::isDynamic(valueWidth);
    return known ? head * width + column : column;
  }
};
} // namespace

/// The head of keys that a head of queries reads, of which `group` share one.
static AffineExpr sharedHead(AffineExpr head, int64_t group) {
  return group == 1 ? head : head.floorDiv(group);
}

//===----------------------------------------------------------------------===//
// LinearAttentionOp
//===----------------------------------------------------------------------===//

LogicalResult LinearAttentionOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQuery()), k = shapeOf(getKey()),
                    v = shapeOf(getValue());
  int64_t heads = getHeads();
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || !agree(q[0], k[0]) ||
      !agree(k[0], v[0]) || !agree(k[1], v[1])) { // C1
    return emitOpError("expects query [batch, q_len, width], key and value "
                       "[batch, kv_len, width], got ")
           << shapeText(q) << ", " << shapeText(k) << " and " << shapeText(v);
  }
  int64_t keyHeads = countKeyHeads();
  if (failed(verifySharedHeads(*this, heads, keyHeads, q, k, v))) { // C2
    return failure();
  }
  int64_t width = combine(v[2], heads / keyHeads, std::multiplies<>());
  if (failed(verifyFeatures(*this, getMap(), getFeatures(),
                            perHead(q[2], heads))) ||     // C3
      failed(verifyKeyValid(*this, getKeyValid(), k)) ||  // C4
      failed(verifyResult(*this, {q[0], q[1], width}))) { // C5
    return failure();
  }
  if (getCausal() && !agree(q[1], k[1])) { // C6
    return emitOpError("expects as many queries as keys where it is causal, "
                       "got ")
           << q[1] << " and " << k[1];
  }
  if (getMap() == FeatureMap::exp && !getEps().isZero()) { // C7
    return emitOpError("expects no eps with exp features, got ")
           << getEps().convertToDouble();
  }
  if (failed(verifyNarrow(*this, getNarrow(),
                          {getQuery(), getKey(), getValue()}))) { // C8
    return failure();
  }
  return verifyConstants(
      *this, getScale(),
      {getEps(), getStabilizer(), getDenominatorEps()}); // C7
}

IterationSpace LinearAttentionOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> q = shapeOf(getQuery()), v = shapeOf(getValue());
  int64_t heads = getHeads();
  HeadColumns columns{perHead(q[2], heads), perHead(v[2], countKeyHeads())};
  AffineExpr batch = builder.parallel("batch", q[0]);
  AffineExpr head = builder.parallel("head", heads);
  AffineExpr keyHead = sharedHead(head, heads / countKeyHeads());
  AffineExpr query = builder.parallel("query", q[1]);
  AffineExpr channel = builder.parallel("channel", columns.valueWidth);
  AffineExpr key = builder.reduction("key", v[1]);
  AffineExpr inner = builder.reduction("inner", columns.keyWidth);
  builder.operand(0, {batch, query, columns.of(head, inner, columns.keyWidth)});
  builder.operand(1,
                  {batch, key, columns.of(keyHead, inner, columns.keyWidth)});
  builder.operand(
      2, {batch, key, columns.of(keyHead, channel, columns.valueWidth)});
  for (OpOperand &operand : (*this)->getOpOperands().drop_front(3)) {
    if (operand.get() == getKeyValid()) {
      builder.operand(operand.getOperandNumber(), {batch, key});
    } else {
      int64_t count = shapeOf(getFeatures()).back();
      builder.operand(operand.getOperandNumber(),
                      {inner, builder.reduction("feature", count)});
    }
  }
  builder.result({batch, query, columns.of(head, channel, columns.valueWidth)});
  builder.setUnits({batch, head});
  return builder.build();
}

/// The features of queries and keys, their products with the values, and the
/// sums of the denominators.
std::optional<int64_t> LinearAttentionOp::getAttentionMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> q = shapeOf(getQuery()), v = shapeOf(getValue());
  int64_t batch = staticSize({q[0]}), heads = getHeads();
  int64_t keyHeads = countKeyHeads();
  int64_t tokens = staticSize({q[1]}) * heads + staticSize({v[1]}) * keyHeads;
  int64_t keyWidth = staticSize({q[2]}) / heads;
  int64_t features = staticSize({featureCount(getFeatures(), keyWidth)});
  int64_t projected = getFeatures() ? features * keyWidth : 0;
  return batch * tokens *
         (projected + features * (staticSize({v[2]}) / keyHeads) + features);
}

bool LinearAttentionOp::isStored(unsigned index) {
  return isActivation(*this, index, getFeatures(), getKeyValid());
}

OpOperand &LinearAttentionOp::getRowOperand() { return getQueryMutable(); }

std::string LinearAttentionOp::getRowRangeSubject() { return "attention"; }

std::optional<Decline> LinearAttentionOp::declineRowRange(int64_t offset,
                                                          int64_t count) {
  if (!getCausal()) {
    return std::nullopt;
  }
  return Decline{"row i of causal linear attention is that of key i",
                 "the attention is not causal"};
}

Operation *LinearAttentionOp::computeRowRange(RewriterBase &rewriter,
                                              Value rows, int64_t offset,
                                              int64_t count) {
  return cloneWithRows(rewriter, getQueryMutable(), rows, count);
}

//===----------------------------------------------------------------------===//
// KeySummaryOp
//===----------------------------------------------------------------------===//

LogicalResult KeySummaryOp::verify() {
  ArrayRef<int64_t> k = shapeOf(getKey()), v = shapeOf(getValue());
  int64_t heads = getHeads();
  if (k.size() != 3 || v.size() != 3 ||
      !agree(k.take_front(2), v.take_front(2))) { // C1
    return emitOpError("expects key and value [batch, kv_len, width], got ")
           << shapeText(k) << " and " << shapeText(v);
  }
  if (failed(verifyHeads(*this, heads, {k[2], v[2]}))) { // C2
    return failure();
  }
  int64_t keyWidth = perHead(k[2], heads);
  if (failed(verifyFeatures(*this, getMap(), getFeatures(), keyWidth)) || // C3
      failed(verifyKeyValid(*this, getKeyValid(), k))) {                  // C4
    return failure();
  }
  int64_t rows = combine(featureCount(getFeatures(), keyWidth),
                         summaryExtraRows(getMap()), std::plus<>());
  int64_t columns = combine(perHead(v[2], heads), int64_t(1), std::plus<>());
  if (failed(verifyResult(*this, {k[0], heads, blocksOf(k[1], getBlock()), rows,
                                  columns}))) { // C5
    return failure();
  }
  if (getMap() != FeatureMap::relu && !getEps().isZero()) { // C6
    return emitOpError("expects no eps but with relu features, got ")
           << getEps().convertToDouble();
  }
  if (failed(verifyNarrow(*this, getNarrow(), {getKey(), getValue()}))) { // C7
    return failure();
  }
  return verifyConstants(*this, getScale(), {getEps()}); // C6
}

IterationSpace KeySummaryOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> k = shapeOf(getKey()), v = shapeOf(getValue());
  ArrayRef<int64_t> result = shapeOf(getResult());
  int64_t heads = getHeads(), block = getBlock();
  HeadColumns columns{perHead(k[2], heads), perHead(v[2], heads)};
  AffineExpr batch = builder.parallel("batch", k[0]);
  AffineExpr head = builder.parallel("head", heads);
  AffineExpr part = builder.parallel("token_block", result[2]);
  AffineExpr row = builder.parallel("row", result[3]);
  AffineExpr column = builder.parallel("column", result[4]);
  AffineExpr token = part * block + builder.reduction("token", block);
  AffineExpr inner = builder.reduction("inner", columns.keyWidth);
  AffineExpr channel = builder.reduction("channel", columns.valueWidth);
  builder.operand(0, {batch, token, columns.of(head, inner, columns.keyWidth)});
  // A column of the result reads its own channel; the last reads none.
  builder.operand(
      1, {batch, token, columns.of(head, channel, columns.valueWidth)});
  for (OpOperand &operand : (*this)->getOpOperands().drop_front(2)) {
    if (operand.get() == getKeyValid()) {
      builder.operand(operand.getOperandNumber(), {batch, token});
    } else {
      int64_t count = shapeOf(getFeatures()).back();
      builder.operand(operand.getOperandNumber(),
                      {inner, builder.reduction("feature", count)});
    }
  }
  builder.result({batch, head, part, row, column});
  builder.setUnits({batch, head, part});
  return builder.build();
}

std::optional<int64_t> KeySummaryOp::getAttentionMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> k = shapeOf(getKey()), v = shapeOf(getValue());
  int64_t heads = getHeads(), keyWidth = staticSize({k[2]}) / heads;
  int64_t features = staticSize({featureCount(getFeatures(), keyWidth)});
  int64_t projected = getFeatures() ? features * keyWidth : 0;
  return staticSize(k.take_front(2)) * heads *
         (projected + features * (staticSize({v[2]}) / heads) + features);
}

bool KeySummaryOp::isStored(unsigned index) {
  return isActivation(*this, index, getFeatures(), getKeyValid());
}

//===----------------------------------------------------------------------===//
// MergeSummariesOp
//===----------------------------------------------------------------------===//

LogicalResult MergeSummariesOp::verify() {
  ArrayRef<int64_t> s = shapeOf(getSummary());
  int64_t extra = summaryExtraRows(getMap());
  if (s.size() != 5 || (s[3] != kDynamic && s[3] <= extra)) { // C1
    return emitOpError("expects summary [batch, heads, blocks, rows, columns] "
                       "of more than ")
           << extra << " rows, got " << shapeText(s);
  }
  return verifyResult(
      *this, {s[0], s[1], getExclusive() ? s[2] : 1, s[3], s[4]}); // C2
}

/// Rows of softmax read the row of the maximum besides their own.
IterationSpace MergeSummariesOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> s = shapeOf(getSummary());
  AffineExpr batch = builder.parallel("batch", s[0]);
  AffineExpr head = builder.parallel("head", s[1]);
  AffineExpr part = builder.parallel("merged_block", shapeOf(getResult())[2]);
  AffineExpr row = builder.parallel("row", s[3]);
  AffineExpr column = builder.parallel("column", s[4]);
  builder.operand(0, {batch, head, builder.reduction("block", s[2]),
                      builder.reduction("read_row", s[3]), column});
  builder.result({batch, head, part, row, column});
  builder.setUnits({batch, head, part});
  return builder.build();
}

std::optional<int64_t> MergeSummariesOp::getAttentionMacs() { return 0; }

/// Sums stay f32.
bool MergeSummariesOp::isStored(unsigned) { return false; }

//===----------------------------------------------------------------------===//
// SummaryAttentionOp
//===----------------------------------------------------------------------===//

int64_t SummaryAttentionOp::getGroup() {
  int64_t keyHeads = shapeOf(getSummary())[1];
  return keyHeads == kDynamic ? 1 : getHeads() / keyHeads;
}

LogicalResult SummaryAttentionOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQuery()), s = shapeOf(getSummary());
  int64_t heads = getHeads();
  if (q.size() != 3) { // C1
    return emitOpError("expects query [batch, q_len, width], got ")
           << shapeText(q);
  }
  if (failed(verifyHeads(*this, heads, {q[2]}))) { // C1
    return failure();
  }
  int64_t keyWidth = perHead(q[2], heads);
  if (failed(verifyFeatures(*this, getMap(), getFeatures(), keyWidth))) { // C2
    return failure();
  }
  int64_t rows = combine(featureCount(getFeatures(), keyWidth),
                         summaryExtraRows(getMap()), std::plus<>());
  int64_t keyHeads = s.size() == 5 ? s[1] : kDynamic;
  if (!agree(s, {q[0], kDynamic, kDynamic, rows, kDynamic}) ||
      (keyHeads != kDynamic &&
       (keyHeads == 0 || heads % keyHeads != 0))) { // C3
    return emitOpError("expects summary of shape ")
           << shapeText({q[0], heads, kDynamic, rows, kDynamic})
           << ", or of heads that divide these, got " << shapeText(s);
  }
  auto widthOf = [&](int64_t count) {
    return combine(s[4], count, [](int64_t columns, int64_t heads) {
      return (columns - 1) * heads;
    });
  };
  SmallVector<int64_t> expected{q[0], q[1], widthOf(heads)};
  SmallVector<int64_t> key{q[0], q[1],
                           combine(keyWidth, keyHeads, std::multiplies<>())};
  SmallVector<int64_t> value{q[0], q[1], widthOf(keyHeads)};
  if ((getKey() != nullptr) != (getValue() != nullptr) ||
      (getKey() && (!agree(shapeOf(getKey()), key) ||
                    !agree(shapeOf(getValue()), value)))) { // C4
    return emitOpError("expects key and value together, of shapes ")
           << shapeText(key) << " and " << shapeText(value);
  }
  if (getKeyValid() && !getKey()) { // C5
    return emitOpError("expects key_valid with key alone");
  }
  if (failed(verifyKeyValid(*this, getKeyValid(), q))) { // C5
    return failure();
  }
  if (getKey() && !agree(s[2], blocksOf(q[1], getBlock()))) { // C6
    return emitOpError("expects a summary of ")
           << blocksOf(q[1], getBlock()) << " blocks where it is causal, got "
           << s[2];
  }
  if (failed(verifyResult(*this, expected))) { // C7
    return failure();
  }
  if (getMap() == FeatureMap::exp && !getEps().isZero()) { // C8
    return emitOpError("expects no eps with exp features, got ")
           << getEps().convertToDouble();
  }
  if (getMerged() && !getKey()) { // C9
    return emitOpError("expects key and value beside a merged summary");
  }
  if (failed(verifyNarrow(*this, getNarrow(),
                          {getQuery(), getKey(), getValue()}))) { // C10
    return failure();
  }
  return verifyConstants(
      *this, getScale(),
      {getEps(), getStabilizer(), getDenominatorEps()}); // C8
}

IterationSpace SummaryAttentionOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> q = shapeOf(getQuery()), s = shapeOf(getSummary());
  int64_t heads = getHeads(), block = getBlock();
  HeadColumns columns{perHead(q[2], heads),
                      perHead(shapeOf(getResult())[2], heads)};
  AffineExpr batch = builder.parallel("batch", q[0]);
  AffineExpr head = builder.parallel("head", heads);
  AffineExpr part = builder.parallel("query_block", blocksOf(q[1], block));
  AffineExpr query = part * block + builder.parallel("query", block);
  AffineExpr channel = builder.parallel("channel", columns.valueWidth);
  AffineExpr inner = builder.reduction("inner", columns.keyWidth);
  AffineExpr key = part * block + builder.reduction("key", block);
  AffineExpr keyHead = sharedHead(head, getGroup());
  builder.operand(0, {batch, query, columns.of(head, inner, columns.keyWidth)});
  builder.operand(1, {batch, keyHead, builder.reduction("merged", s[2]),
                      builder.reduction("row", s[3]),
                      builder.reduction("column", s[4])});
  for (OpOperand &operand : (*this)->getOpOperands().drop_front(2)) {
    Value value = operand.get();
    unsigned index = operand.getOperandNumber();
    if (index == 2 && getKey()) {
      builder.operand(
          index, {batch, key, columns.of(keyHead, inner, columns.keyWidth)});
    } else if (index == 3 && getKey()) {
      builder.operand(
          index,
          {batch, key, columns.of(keyHead, channel, columns.valueWidth)});
    } else if (value == getKeyValid()) {
      builder.operand(index, {batch, key});
    } else {
      builder.operand(
          index, {inner, builder.reduction("feature", shapeOf(value).back())});
    }
  }
  builder.result({batch, query, columns.of(head, channel, columns.valueWidth)});
  builder.setUnits({batch, head, part});
  return builder.build();
}

/// A causal block computes the features of its keys again, and the products of
/// its queries with them.
std::optional<int64_t> SummaryAttentionOp::getAttentionMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> q = shapeOf(getQuery());
  int64_t heads = getHeads(), keyWidth = staticSize({q[2]}) / heads;
  int64_t valueWidth = staticSize({shapeOf(getResult())[2]}) / heads;
  int64_t features = staticSize({featureCount(getFeatures(), keyWidth)});
  int64_t projected = getFeatures() ? features * keyWidth : 0;
  int64_t tokens = staticSize({q[1]});
  int64_t perHead = tokens * (projected + features * valueWidth + features);
  if (getKey()) {
    // The keys' features again, and all pairs of each block.
    int64_t block = getBlock(), last = tokens % block;
    int64_t pairs = tokens / block * block * block + last * last;
    perHead += tokens * projected + pairs * (features + valueWidth);
  }
  return staticSize({q[0]}) * heads * perHead;
}

/// The summary is sums, which stay f32.
bool SummaryAttentionOp::isStored(unsigned index) {
  return index != 1 && isActivation(*this, index, getFeatures(), getKeyValid());
}

/// The features of all queries, in f32.
int64_t SummaryAttentionOp::getInnerBytes() {
  if (!hasStaticShapes(*this)) {
    return 0;
  }
  ArrayRef<int64_t> q = shapeOf(getQuery());
  int64_t heads = getHeads();
  int64_t features = featureCount(getFeatures(), perHead(q[2], heads));
  return staticSize(q.take_front(2)) * heads * features * 4;
}

//===----------------------------------------------------------------------===//
// ProjectTokensOp
//===----------------------------------------------------------------------===//

LogicalResult ProjectTokensOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), weight = shapeOf(getWeight());
  if (x.size() != 3) { // C1
    return emitOpError("expects x [batch, tokens, width], got ")
           << shapeText(x);
  }
  if (weight.size() != 2 || !agree(weight[0], x[1])) { // C2
    return emitOpError("expects a weight of shape ")
           << shapeText({x[1], kDynamic}) << ", got " << shapeText(weight);
  }
  return verifyResult(*this, {x[0], weight[1], x[2]}); // C3
}

/// Each sum is over all tokens, so threads divide columns.
IterationSpace ProjectTokensOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> x = shapeOf(getX());
  AffineExpr batch = builder.parallel("batch", x[0]);
  AffineExpr row = builder.parallel("projected", shapeOf(getWeight())[1]);
  AffineExpr column = builder.parallel("column", x[2]);
  AffineExpr token = builder.reduction("token", x[1]);
  builder.operand(0, {batch, token, column});
  builder.operand(1, {token, row});
  builder.result({batch, row, column});
  builder.setUnits({batch});
  builder.setBlockDim(column);
  return builder.build();
}

std::optional<int64_t> ProjectTokensOp::getLinearMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  return staticSize(shapeOf(getX())) * staticSize({shapeOf(getWeight())[1]});
}

bool ProjectTokensOp::isStored(unsigned) { return true; }

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

StringRef LinearAttentionOp::getSiteKind() { return "attention"; }
StringRef SummaryAttentionOp::getSiteKind() { return "attention"; }
StringRef ProjectTokensOp::getSiteKind() { return "token projection"; }

void HovaDialect::registerLinearAttentionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/linear_attention/LinearAttentionOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/linear_attention/LinearAttentionOps.cpp.inc"
