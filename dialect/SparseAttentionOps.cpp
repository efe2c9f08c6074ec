//===- SparseAttentionOps.cpp - Verifiers, dims and costs -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/SparseAttentionOps.h"
#include "dialect/AttentionOps.h"
#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace hova;

static constexpr int64_t kDynamic = ShapedType::kDynamic;
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

//===----------------------------------------------------------------------===//
// BlockSparseAttentionOp
//===----------------------------------------------------------------------===//

int64_t BlockSparseAttentionOp::getBlocks() {
  return combine(shapeOf(getQuery())[1], getBlock(),
                 [](int64_t tokens, int64_t block) -> int64_t {
                   return llvm::divideCeil(tokens, block);
                 });
}

int64_t BlockSparseAttentionOp::getRandomCount() {
  return getRandomBlocks() ? shapeOf(getRandomBlocks()).back() : 0;
}

LogicalResult BlockSparseAttentionOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQuery()), k = shapeOf(getKey()),
                    v = shapeOf(getValue());
  int64_t heads = getHeads();
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 ||
      !agree(q.take_front(2), k.take_front(2)) ||
      !agree(k.take_front(2), v.take_front(2))) { // C1
    return emitOpError("expects query, key and value [batch, tokens, width] of "
                       "the same tokens, got ")
           << shapeText(q) << ", " << shapeText(k) << " and " << shapeText(v);
  }
  if (failed(verifySharedHeads(*this, heads, countKeyHeads(), q, k, v))) {
    return failure(); // C2, C3
  }
  int64_t blocks = getBlocks();
  if (blocks != kDynamic && blocks < kLeastBlocks) { // C4
    return emitOpError("expects at least ")
           << kLeastBlocks << " blocks of " << getBlock() << " tokens, got "
           << blocks;
  }
  SmallVector<int64_t> table = {
      heads, combine(blocks, int64_t(2), std::minus<>()), kDynamic};
  if (getRandomBlocks() && !agree(shapeOf(getRandomBlocks()), table)) { // C5
    return emitOpError("expects random_blocks of shape ")
           << shapeText(table) << ", got "
           << shapeText(shapeOf(getRandomBlocks()));
  }
  SmallVector<int64_t> expected{q[0], q[1],
                                combine(v[2], getGroup(), std::multiplies<>())};
  if (!agree(shapeOf(getResult()), expected)) { // C10
    return emitOpError("expects a result of shape ")
           << shapeText(expected) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  return success();
}

LogicalResult BlockSparseAttentionOp::verifyRegions() { // C6 to C9
  return verifyScoreRegion(*this, getScoreRegion(), getCaptured(),
                           /*carriesScores=*/false);
}

void BlockSparseAttentionOp::getAsmBlockArgumentNames(
    Region &region, OpAsmSetValueNameFn setName) {
  nameScoreArguments(region, setName);
}

/// Which keys a block of queries reads is data.
IterationSpace BlockSparseAttentionOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> q = shapeOf(getQuery()), v = shapeOf(getValue());
  int64_t heads = getHeads(), block = getBlock();
  auto perHead = [&](int64_t width, int64_t count) {
    return combine(width, count, std::divides<>());
  };
  int64_t keyWidth = perHead(q[2], heads);
  int64_t valueWidth = perHead(v[2], countKeyHeads());
  bool known = keyWidth != kDynamic && valueWidth != kDynamic;
  AffineExpr batch = builder.parallel("batch", q[0]);
  AffineExpr head = builder.parallel("head", heads);
  AffineExpr part = builder.parallel("query_block", getBlocks());
  AffineExpr query = part * block + builder.parallel("query", block);
  AffineExpr channel = builder.parallel("channel", valueWidth);
  AffineExpr inner = builder.reduction("inner", keyWidth);
  AffineExpr keyHead = getGroup() == 1 ? head : head.floorDiv(getGroup());
  AffineExpr queryColumn = known ? head * keyWidth + inner : inner;
  AffineExpr keyColumn = known ? keyHead * keyWidth + inner : inner;
  AffineExpr valueColumn = known ? keyHead * valueWidth + channel : channel;
  AffineExpr resultColumn = known ? head * valueWidth + channel : channel;
  AffineExpr key = builder.reduction("key", v[1]);
  builder.operand(0, {batch, query, queryColumn});
  builder.operand(1, {batch, key, keyColumn});
  builder.operand(2, {batch, key, valueColumn});
  unsigned index = getODSOperandIndexAndLength(4).first;
  for (BlockArgument captured : scoreRegion().getCaptured()) {
    if (auto axes = axesOfReads(captured, {batch, head, query, key},
                                builder.constant(0))) {
      builder.operand(index, *axes);
    }
    ++index;
  }
  builder.result({batch, query, resultColumn});
  builder.setUnits({batch, head, part});
  return builder.build();
}

/// Whole blocks of queries and keys, as the papers count: neither a mask nor an
/// unused entry nor a short last block lowers it.
std::optional<int64_t> BlockSparseAttentionOp::getAttentionMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  int64_t blocks = getBlocks(), random = getRandomCount(), seen = 0;
  for (int64_t block : llvm::seq(blocks)) {
    bool isGlobal = block == 0 || block == blocks - 1;
    seen += alwaysSeenBlocks(block, blocks).size() + (isGlobal ? 0 : random);
  }
  ArrayRef<int64_t> q = shapeOf(getQuery()), result = shapeOf(getResult());
  return q[0] * seen * getBlock() * getBlock() * (q[2] + result[2]);
}

bool BlockSparseAttentionOp::isStored(unsigned index) { return index < 3; }

OpOperand &BlockSparseAttentionOp::getRowOperand() { return getQueryMutable(); }

std::string BlockSparseAttentionOp::getRowRangeSubject() { return "attention"; }

/// Queries of the first and of the last block alone see the keys of all.
std::optional<Decline> BlockSparseAttentionOp::declineRowRange(int64_t offset,
                                                               int64_t count) {
  int64_t block = getBlock();
  if (offset + count <= block || offset >= (getBlocks() - 1) * block) {
    return std::nullopt;
  }
  return Decline{"queries see other keys in each block",
                 "rows of the first or of the last block are demanded"};
}

/// The attention of these queries to all keys.
Operation *BlockSparseAttentionOp::computeRowRange(RewriterBase &rewriter,
                                                   Value rows, int64_t offset,
                                                   int64_t count) {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  auto type = cast<RankedTensorType>(getResult().getType());
  Value none;
  auto some = AttentionOp::create(
      rewriter, getLoc(), type.clone({shape[0], count, shape[2]}),
      /*scores=*/Type(), rows, getKey(), getValue(),
      /*score_vector=*/none, /*memory_key=*/none, /*memory_value=*/none,
      getCaptured(), DotAttr::get(getContext()), Normalization::softmax,
      getHeads(), EmptyRow::zero, getKeyValueHeadsAttr());
  Region &region = some.getScoreRegion();
  rewriter.cloneRegionBefore(getScoreRegion(), region, region.end());
  shiftQueries(rewriter, some.scoreRegion(), offset);
  inheritSite(some, *this);
  return some;
}

/// The scores that there are, of all queries and heads, in f32.
int64_t BlockSparseAttentionOp::getInnerBytes() {
  std::optional<int64_t> macs = getAttentionMacs();
  int64_t width = shapeOf(getQuery())[2] + shapeOf(getResult())[2];
  return macs ? *macs / width * getHeads() * 4 : 0;
}

//===----------------------------------------------------------------------===//
// IndexTableOp
//===----------------------------------------------------------------------===//

LogicalResult IndexTableOp::verify() {
  if (!agree(shapeOf(getX()), shapeOf(getResult()))) { // C1
    return emitOpError("expects a result of shape ")
           << shapeText(shapeOf(getX())) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  return success();
}

#define GET_OP_CLASSES
#include "dialect/SparseAttentionOps.cpp.inc"
