//===- AttentionOps.cpp - Verifiers and costs of attention ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/attention/AttentionOps.h"
#include "dialect/Shapes.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace hova;

static constexpr int64_t kDynamic = ShapedType::kDynamic;

static bool divides(int64_t divisor, int64_t dim) {
  return dim == kDynamic || dim % divisor == 0;
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

/// Slots are rows as those of key and value.
static LogicalResult verifyMemory(AttentionOp op) {
  if (!op.getMemoryKey() && !op.getMemoryValue()) {
    return success();
  }
  auto shapeOrNone = [](Value value) {
    return value ? shapeOf(value) : ArrayRef<int64_t>();
  };
  ArrayRef<int64_t> keys = shapeOrNone(op.getMemoryKey()),
                    values = shapeOrNone(op.getMemoryValue());
  int64_t slots = keys.empty() ? kDynamic : keys.front();
  if (slots == 0 || !agree(keys, {slots, shapeOf(op.getKey())[2]}) ||
      !agree(values, {slots, shapeOf(op.getValue())[2]})) { // C10
    return op.emitOpError("expects memory_key and memory_value [slots, width] "
                          "with the widths of key and value, got ")
           << shapeText(keys) << " and " << shapeText(values);
  }
  return success();
}

/// Below, the global blocks and the window are not apart.
static constexpr int64_t kLeastBlocks = 4;

SmallVector<int64_t> hova::alwaysSeenBlocks(int64_t block, int64_t blocks) {
  if (block == 0 || block == blocks - 1) {
    return llvm::to_vector(llvm::seq<int64_t>(blocks));
  }
  SmallVector<int64_t> seen = {0, block - 1, block, block + 1, blocks - 1};
  seen.erase(llvm::unique(seen), seen.end()); // ascending as they are
  return seen;
}

static LogicalResult verifyBlocks(AttentionOp op) {
  if (!op.getBlock()) {
    return op.getRandomBlocks() // C13
               ? op.emitOpError("expects a block beside random_blocks")
               : success();
  }
  int64_t queries = shapeOf(op.getQuery())[1], blocks = op.getBlocks();
  if (!agree(queries, shapeOf(op.getKey())[1])) { // C12
    return op.emitOpError("expects as many queries as keys with a block, got ")
           << queries << " and " << shapeOf(op.getKey())[1];
  }
  if (blocks != kDynamic && blocks < kLeastBlocks) { // C12
    return op.emitOpError("expects at least ")
           << kLeastBlocks << " blocks of " << *op.getBlock() << " tokens, got "
           << blocks;
  }
  if (op.getMemoryKey() || op.getScores()) { // C12
    return op.emitOpError("expects neither a memory nor scores as a result "
                          "with a block");
  }
  if (op.getEmptyRow() != EmptyRow::zero) { // C11
    return op.emitOpError("expects empty_row zero with a block");
  }
  SmallVector<int64_t> table = {static_cast<int64_t>(op.getHeads()),
                                combine(blocks, int64_t(2), std::minus<>()),
                                kDynamic};
  Value random = op.getRandomBlocks();
  if (random && !agree(shapeOf(random), table)) { // C13
    return op.emitOpError("expects random_blocks of shape ")
           << shapeText(table) << ", got " << shapeText(shapeOf(random));
  }
  return success();
}

LogicalResult hova::verifySharedHeads(Operation *op, int64_t heads,
                                      int64_t keyHeads, ArrayRef<int64_t> query,
                                      ArrayRef<int64_t> key,
                                      ArrayRef<int64_t> value) {
  if (!divides(heads, query[2]) || heads % keyHeads != 0 ||
      !divides(keyHeads, key[2]) || !divides(keyHeads, value[2])) {
    return op->emitOpError("expects ")
           << heads << " heads and " << keyHeads
           << " of keys and values, which divide them and the widths, got "
           << query[2] << ", " << key[2] << " and " << value[2];
  }
  int64_t queryWidth = combine(query[2], heads, std::divides<>());
  int64_t keyWidth = combine(key[2], keyHeads, std::divides<>());
  if (!agree(queryWidth, keyWidth)) {
    return op->emitOpError("expects heads of query and key to share their "
                           "width, got ")
           << queryWidth << " and " << keyWidth;
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQuery()), k = shapeOf(getKey()),
                    v = shapeOf(getValue());
  int64_t heads = getHeads();
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || !agree(q[0], k[0]) ||
      !agree(k[0], v[0]) || !agree(k[1], v[1])) { // C1
    return emitOpError("expects query [batch, q_len, width], key and value "
                       "[batch, kv_len, width], got ")
           << shapeText(q) << ", " << shapeText(k) << " and " << shapeText(v);
  }
  if (failed(verifySharedHeads(*this, heads, countKeyHeads(), q, k, v))) {
    return failure(); // C2, C3
  }
  SmallVector<int64_t> expected{q[0], q[1],
                                combine(v[2], getGroup(), std::multiplies<>())};
  if (!agree(shapeOf(getResult()), expected)) { // C4
    return emitOpError("expects a result of shape ")
           << shapeText(expected) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  bool hasVector = getSimilarity().hasVector();
  if (hasVector != static_cast<bool>(getScoreVector()) ||
      (hasVector && !agree(shapeOf(getScoreVector()), {q[2]}))) { // C5
    return emitOpError("expects score_vector exactly where the similarity has "
                       "a vector, with one element per column of the query");
  }
  Value given = getScores();
  SmallVector<int64_t> scores{q[0], heads, q[1], k[1]};
  if (given && (!agree(shapeOf(given), scores) ||
                !getElementTypeOrSelf(given).isF32())) { // C9
    return emitOpError("expects scores ")
           << shapeText(scores) << " of f32, got " << given.getType();
  }
  if (!hasSoftmax() && getEmptyRow() != EmptyRow::zero) { // C11
    return emitOpError("expects empty_row zero without a softmax: the weights "
                       "of a row without kept keys are 0");
  }
  return failed(verifyMemory(*this)) ? failure() // C10
                                     : verifyBlocks(*this);
}

LogicalResult AttentionOp::verifyRegions() { // C6 to C9
  return verifyScoreRegion(*this, getScoreRegion(), getCaptured(),
                           /*carriesScores=*/static_cast<bool>(getScores()));
}

void AttentionOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  nameScoreArguments(region, setName);
}

int64_t AttentionOp::getSlots() {
  return getMemoryKey() ? shapeOf(getMemoryKey()).front() : 0;
}

int64_t AttentionOp::getBlocks() {
  return combine(shapeOf(getQuery())[1], static_cast<int64_t>(*getBlock()),
                 [](int64_t tokens, int64_t block) -> int64_t {
                   return llvm::divideCeil(tokens, block);
                 });
}

int64_t AttentionOp::getRandomCount() {
  return getRandomBlocks() ? shapeOf(getRandomBlocks()).back() : 0;
}

/// Which keys a block of queries reads is data.
IterationSpace AttentionOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> q = shapeOf(getQuery()), v = shapeOf(getValue());
  int64_t heads = getHeads();
  auto perHead = [&](int64_t width, int64_t count) {
    return combine(width, count, std::divides<>());
  };
  int64_t keyWidth = perHead(q[2], heads);
  int64_t valueWidth = perHead(v[2], countKeyHeads());
  AffineExpr batch = builder.parallel("batch", q[0]);
  AffineExpr head = builder.parallel("head", heads);
  AffineExpr part, query;
  if (std::optional<int64_t> block = getBlock()) {
    part = builder.parallel("query_block", getBlocks());
    query = part * *block + builder.parallel("query", *block);
  } else {
    query = builder.parallel("query", q[1]);
  }
  AffineExpr channel = builder.parallel("channel", valueWidth);
  AffineExpr key = builder.reduction("key", v[1]);
  AffineExpr inner = builder.reduction("inner", keyWidth);
  // Where widths are not known, neither is where a head begins.
  bool known =
      !ShapedType::isDynamic(keyWidth) && !ShapedType::isDynamic(valueWidth);
  AffineExpr keyHead = getGroup() == 1 ? head : head.floorDiv(getGroup());
  auto queryColumn = known ? head * keyWidth + inner : inner;
  auto keyColumn = known ? keyHead * keyWidth + inner : inner;
  auto valueColumn = known ? keyHead * valueWidth + channel : channel;
  auto resultColumn = known ? head * valueWidth + channel : channel;
  builder.operand(0, {batch, query, queryColumn});
  builder.operand(1, {batch, key, keyColumn});
  builder.operand(2, {batch, key, valueColumn});
  AffineExpr slot =
      getMemoryKey() ? builder.reduction("slot", getSlots()) : AffineExpr();
  auto captured = scoreRegion().getCaptured();
  unsigned firstCaptured = getODSOperandIndexAndLength(7).first;
  for (OpOperand &operand : (*this)->getOpOperands().drop_front(3)) {
    Value value = operand.get();
    unsigned index = operand.getOperandNumber();
    if (index >= firstCaptured) {
      // Which elements are read may depend on data.
      auto axes = axesOfReads(captured[index - firstCaptured],
                              {batch, head, query, key}, builder.constant(0));
      if (axes) {
        builder.operand(index, *axes);
      }
    } else if (value == getScoreVector()) {
      builder.operand(index, {queryColumn});
    } else if (value == getMemoryKey()) {
      builder.operand(index, {slot, keyColumn});
    } else if (value == getMemoryValue()) {
      builder.operand(index, {slot, valueColumn});
    }
  }
  builder.result({batch, query, resultColumn});
  if (getScores()) {
    builder.result({batch, head, query, key});
  }
  if (part) {
    builder.setUnits({batch, head, part});
  } else {
    builder.setUnits({batch, head});
    builder.setBlockDim(query);
  }
  return builder.build();
}

/// Of whole blocks, as the papers count: neither a mask nor an unused entry nor
/// a short last block lowers it.
int64_t AttentionOp::countPairs() {
  int64_t queries = shapeOf(getQuery())[1];
  if (!getBlock()) {
    return queries * (shapeOf(getKey())[1] + getSlots());
  }
  int64_t size = *getBlock(), blocks = getBlocks(), seen = 0;
  for (int64_t block : llvm::seq(blocks)) {
    bool isGlobal = block == 0 || block == blocks - 1;
    seen += alwaysSeenBlocks(block, blocks).size() +
            (isGlobal ? 0 : getRandomCount());
  }
  return seen * size * size;
}

std::optional<int64_t> AttentionOp::getAttentionMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> q = shapeOf(getQuery()), v = shapeOf(getValue());
  int64_t valueWidth = givesScoresAlone() ? 0 : v[2] * getGroup();
  return q[0] * countPairs() * (q[2] + valueWidth);
}

/// Scores that are no product have operands of f32.
bool AttentionOp::isStored(unsigned index) {
  Value operand = (*this)->getOperand(index);
  bool entersScores = index < 2 || operand == getMemoryKey();
  bool isPooled = index == 2 || operand == getMemoryValue();
  return (isPooled && !givesScoresAlone()) ||
         (entersScores && getSimilarity().isProduct());
}

/// Scores are f32.
ResultStorage AttentionOp::getResultStorage(unsigned index) {
  return index == 0 ? ResultStorage::rounded : ResultStorage::wide;
}

//===----------------------------------------------------------------------===//
// Some of the queries
//===----------------------------------------------------------------------===//

OpOperand &AttentionOp::getRowOperand() { return getQueryMutable(); }

std::string AttentionOp::getRowRangeSubject() { return "attention"; }

std::optional<Decline> AttentionOp::declineRowRange(int64_t offset,
                                                    int64_t count) {
  if (getScores()) {
    return Decline{"attention gives the scores of all queries",
                   "no other layer reads its scores"};
  }
  // Queries of the first and of the last block alone see the keys of all.
  if (std::optional<int64_t> block = getBlock();
      block && offset + count > *block && offset < (getBlocks() - 1) * *block) {
    return Decline{"queries see other keys in each block",
                   "rows of the first or of the last block are demanded"};
  }
  return std::nullopt;
}

Operation *AttentionOp::computeRowRange(RewriterBase &rewriter, Value rows,
                                        int64_t offset, int64_t count) {
  auto some = cast<AttentionOp>(
      cloneWithRows(rewriter, getQueryMutable(), rows, count));
  some.removeBlockAttr();
  some.getRandomBlocksMutable().clear();
  shiftQueries(rewriter, some.scoreRegion(), offset);
  return some;
}

//===----------------------------------------------------------------------===//
// Heads of length one
//===----------------------------------------------------------------------===//

LogicalResult NormalizeHeadsOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  int64_t heads = getHeads();
  if (x.empty() || !divides(heads, x.back())) { // C1
    return emitOpError("expects a last dimension divisible by ")
           << heads << " heads, got " << shapeText(x);
  }
  if (getGain() && !agree(shapeOf(getGain()), {heads})) { // C2
    return emitOpError("expects a gain of shape ")
           << heads << ", got " << shapeText(shapeOf(getGain()));
  }
  if (!(static_cast<float>(getEps().convertToDouble()) > 0)) { // C3
    return emitOpError("expects eps > 0 in f32, got ")
           << getEps().convertToDouble();
  }
  return success();
}

IterationSpace NormalizeHeadsOp::getIterationSpace() {
  return rowSpace(*this, 1).ignoringPosition();
}

LogicalResult HeadFactorsOp::verify() {
  if (shapeOf(getX()).size() != 1) { // C1
    return emitOpError("expects a vector with an element per head, got ")
           << shapeText(shapeOf(getX()));
  }
  double most = getMost().convertToDouble();
  if (!(most > 0) || !std::isfinite(most)) { // C2
    return emitOpError("expects most to be positive and finite, got ") << most;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tables of indices
//===----------------------------------------------------------------------===//

LogicalResult IndexTableOp::verify() {
  if (!agree(shapeOf(getX()), shapeOf(getResult()))) { // C1
    return emitOpError("expects a result of shape ")
           << shapeText(shapeOf(getX())) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Horizontal attention
//===----------------------------------------------------------------------===//

LogicalResult HeadReweightOp::verify() {
  ArrayRef<int64_t> h = shapeOf(getHeadsIn()), x = shapeOf(getX());
  int64_t heads = getHeads();
  if (h.size() != 3 || x.size() != 3 || !divides(heads, h[2]) ||
      !agree(h.take_front(2), x.take_front(2))) { // C1
    return emitOpError("expects heads_in and x [batch, tokens, width] with ")
           << heads << " heads dividing the first's width, got " << shapeText(h)
           << " and " << shapeText(x);
  }
  int64_t width = h[2] == kDynamic ? kDynamic : h[2] / heads;
  if (!agree(shapeOf(getHeadWeight()), {width, width})) { // C2
    return emitOpError("expects head_weight of shape ")
           << shapeText({width, width}) << ", got "
           << shapeText(shapeOf(getHeadWeight()));
  }
  if (!agree(shapeOf(getInputWeight()), {x[2], width})) { // C3
    return emitOpError("expects input_weight of shape ")
           << shapeText({x[2], width}) << ", got "
           << shapeText(shapeOf(getInputWeight()));
  }
  if (!agree(shapeOf(getScoreWeight()), {width}) ||
      (getScoreBias() && !agree(shapeOf(getScoreBias()), {1}))) { // C4
    return emitOpError("expects score_weight of shape ")
           << shapeText({width}) << " and score_bias of shape 1";
  }
  return success();
}

std::optional<int64_t> HeadReweightOp::getLinearMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> h = shapeOf(getHeadsIn()), x = shapeOf(getX());
  int64_t width = staticSize({h[2]}) / getHeads();
  return staticSize(h.take_front(2)) *
         (getHeads() * width * width + staticSize({x[2]}) * width +
          getHeads() * width);
}

IterationSpace HeadReweightOp::getIterationSpace() {
  return rowSpace(*this, 2).ignoringPosition();
}

bool HeadReweightOp::isStored(unsigned index) {
  return index == 2 || index == 3;
}

LogicalResult HeadLogitsOp::verify() {
  ArrayRef<int64_t> h = shapeOf(getHeadsIn()), s = shapeOf(getShift());
  ArrayRef<int64_t> weight = shapeOf(getHeadWeight());
  int64_t heads = getHeads();
  if (h.size() != 3 || s.size() != 3 || weight.size() != 2 ||
      !agree(h.take_front(2), s.take_front(2)) || !divides(heads, h[2]) ||
      !agree(weight, {h[2] == kDynamic ? kDynamic : h[2] / heads, s[2]}) ||
      !agree(shapeOf(getScoreWeight()), {s[2]})) { // C1
    return emitOpError(
               "expects heads_in [batch, tokens, heads*head_dim], shift "
               "[batch, tokens, hidden], head_weight [head_dim, "
               "hidden] and score_weight [hidden], got ")
           << shapeText(h) << ", " << shapeText(s) << ", " << shapeText(weight)
           << " and " << shapeText(shapeOf(getScoreWeight()));
  }
  if (!agree(shapeOf(getResult()), {h[0], h[1], heads})) { // C2
    return emitOpError("expects a result of shape ")
           << shapeText({h[0], h[1], heads}) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  if (getScoreBias() && !agree(shapeOf(getScoreBias()), {1})) { // C3
    return emitOpError("expects a score_bias of shape 1, got ")
           << shapeText(shapeOf(getScoreBias()));
  }
  return success();
}

std::optional<int64_t> HeadLogitsOp::getLinearMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  int64_t rows = staticSize(shapeOf(getHeadsIn()).take_front(2));
  ArrayRef<int64_t> weight = shapeOf(getHeadWeight());
  return rows * getHeads() * (staticSize(weight) + staticSize({weight[1]}));
}

IterationSpace HeadLogitsOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> weight = shapeOf(getHeadWeight());
  SmallVector<AffineExpr> rows = builder.rows();
  AffineExpr head = builder.parallel("head", getHeads());
  AffineExpr channel = builder.reduction("channel", weight[0]);
  AffineExpr hidden = builder.reduction("hidden", weight[1]);
  auto inRow = [&](AffineExpr column) {
    SmallVector<AffineExpr> axes = rows;
    axes.push_back(column);
    return axes;
  };
  bool known = !ShapedType::isDynamic(weight[0]);
  builder.operand(0, inRow(known ? head * weight[0] + channel : channel));
  builder.operand(1, inRow(hidden));
  builder.operand(2, {channel, hidden});
  builder.operand(3, {hidden});
  if (getScoreBias()) {
    builder.operand(4, {builder.constant(0)});
  }
  builder.result(inRow(head));
  return builder.build().ignoringPosition();
}

bool HeadLogitsOp::isStored(unsigned index) { return index == 0 || index == 2; }

LogicalResult ScaleHeadsOp::verify() {
  ArrayRef<int64_t> h = shapeOf(getHeadsIn()), b = shapeOf(getLogits());
  if (h.size() != 3 || b.size() != 3 ||
      !agree(h.take_front(2), b.take_front(2)) ||
      (b[2] != kDynamic && (b[2] == 0 || !divides(b[2], h[2])))) { // C1
    return emitOpError("expects heads_in [batch, tokens, heads*head_dim] and "
                       "logits [batch, tokens, heads], got ")
           << shapeText(h) << " and " << shapeText(b);
  }
  return success();
}

IterationSpace ScaleHeadsOp::getIterationSpace() {
  return rowSpace(*this, 2).ignoringPosition();
}

/// The scaled heads are read by a product, and so are of the type themselves.
bool ScaleHeadsOp::isStored(unsigned index) { return index == 0; }

ResultStorage ScaleHeadsOp::getResultStorage(unsigned index) {
  return ResultStorage::ofOperands;
}

//===----------------------------------------------------------------------===//
// Vertical attention
//===----------------------------------------------------------------------===//

LogicalResult ChannelGateOp::verify() {
  ArrayRef<int64_t> y = shapeOf(getY()), x = shapeOf(getX());
  if (y.size() != 3 || x.size() != 3 ||
      !agree(y.take_front(2), x.take_front(2))) { // C1
    return emitOpError("expects y and x to share [batch, tokens], got ")
           << shapeText(y) << " and " << shapeText(x);
  }
  ArrayRef<int64_t> gate = shapeOf(getGateWeight());
  int64_t hidden = gate.empty() ? kDynamic : gate[0];
  if (!agree(shapeOf(getInputWeight()), {x[2], hidden}) ||
      !agree(shapeOf(getOutputWeight()), {y[2], hidden})) { // C2
    return emitOpError("expects input_weight ")
           << shapeText({x[2], hidden}) << " and output_weight "
           << shapeText({y[2], hidden}) << ", got "
           << shapeText(shapeOf(getInputWeight())) << " and "
           << shapeText(shapeOf(getOutputWeight()));
  }
  if (!agree(gate, {hidden, y[2]}) ||
      (getGateBias() && !agree(shapeOf(getGateBias()), {y[2]}))) { // C3
    return emitOpError("expects gate_weight ")
           << shapeText({hidden, y[2]})
           << " and a gate_bias of the width of y, "
           << "got " << shapeText(gate);
  }
  return success();
}

std::optional<int64_t> ChannelGateOp::getLinearMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> y = shapeOf(getY());
  return staticSize(y.take_front(2)) * (staticSize(shapeOf(getInputWeight())) +
                                        staticSize(shapeOf(getOutputWeight())) +
                                        staticSize(shapeOf(getGateWeight())));
}

IterationSpace ChannelGateOp::getIterationSpace() {
  return rowSpace(*this, 2).ignoringPosition();
}

bool ChannelGateOp::isStored(unsigned index) { return index >= 2 && index < 5; }

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

StringRef AttentionOp::getSiteKind() { return "attention"; }
StringRef HeadReweightOp::getSiteKind() { return "reweight"; }
StringRef ScaleHeadsOp::getSiteKind() { return "reweight"; }
StringRef ChannelGateOp::getSiteKind() { return "gate"; }
StringRef NormalizeHeadsOp::getSiteKind() { return "norm"; }

/// The scores that there are, of all queries and heads, in f32. Where they are
/// all that is read there is nothing else.
int64_t AttentionOp::getInnerBytes() {
  if (!hasStaticShapes(*this) || givesScoresAlone()) {
    return 0;
  }
  return shapeOf(getQuery())[0] * getHeads() * countPairs() * 4;
}

/// What is scaled is a copy of what others have made.
bool ScaleHeadsOp::isResultIntermediate() { return true; }

void HovaDialect::registerAttentionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/attention/AttentionOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/attention/AttentionOps.cpp.inc"
