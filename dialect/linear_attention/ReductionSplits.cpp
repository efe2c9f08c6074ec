//===- ReductionSplits.cpp - Linear attention as summaries of keys --------===//
// SPDX-License-Identifier: Apache-2.0
//
// How a linear attention is divided along its keys (SplitReductionOpInterface).

#include "dialect/Ranges.h"
#include "dialect/Shapes.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hova;

/// Parts are blocks of keys. Those of a longer sequence begin as those of a
/// shorter one, so that padding adds zeros and nothing else to the sums of a
/// block.
std::optional<Reduction> LinearAttentionOp::getReduction() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  Reduction keys{shapeOf(getKey())[1]};
  keys.isAlwaysSplit = true;
  keys.isCausal = getCausal();
  return keys;
}

/// How many queries all blocks but the last have: even blocks, since no result
/// depends on them.
static int64_t queryBlockSize(int64_t tokens, int64_t most) {
  return llvm::divideCeil(tokens, llvm::divideCeil(tokens, most));
}

/// Those of two types could not be multiplied without making one wider.
static bool hasFactorsOfOneType(LinearAttentionOp op) {
  Type element = getElementTypeOrSelf(op.getQuery());
  return element == getElementTypeOrSelf(op.getKey()) &&
         element == getElementTypeOrSelf(op.getValue());
}

static Value summarize(RewriterBase &rewriter, LinearAttentionOp op,
                       int64_t block, UnitAttr narrow) {
  ArrayRef<int64_t> k = shapeOf(op.getKey()), v = shapeOf(op.getValue());
  int64_t heads = op.countKeyHeads();
  int64_t features =
      op.getFeatures() ? shapeOf(op.getFeatures())[1] : k[2] / heads;
  int64_t blocks = llvm::divideCeil(k[1], block);
  auto type = RankedTensorType::get({k[0], heads, blocks,
                                     features + summaryExtraRows(op.getMap()),
                                     v[2] / heads + 1},
                                    rewriter.getF32Type());
  // Of softmax, eps is added to the merged sums.
  FloatAttr eps = op.getMap() == FeatureMap::relu ? op.getEpsAttr()
                                                  : rewriter.getF64FloatAttr(0);
  return KeySummaryOp::create(
      rewriter, op.getLoc(), type, op.getMapAttr(), op.getKey(), op.getValue(),
      op.getFeatures(), op.getKeyValid(), rewriter.getI64IntegerAttr(heads),
      rewriter.getI64IntegerAttr(block), op.getScaleAttr(), eps, narrow);
}

/// linear_attention %q, %k, %v
///   -> %s = key_summary %k, %v ; summary_attention %q, %s
/// and with `causal`
///   -> %s = key_summary %k, %v ; summary_attention %q, %s key(%k) value(%v)
/// and merged apart, of several blocks
///   -> %s = key_summary %k, %v ; %m = merge_summaries %s
///      summary_attention %q, %m
/// and merged apart with `causal`
///   -> %s = key_summary %k, %v ; %m = merge_summaries exclusive %s
///      summary_attention %q, %m key(%k) value(%v) {merged}
Value LinearAttentionOp::splitReduction(RewriterBase &rewriter,
                                        const ReductionSplit &split) {
  int64_t tokens = shapeOf(getKey())[1];
  int64_t block = std::min(tokens, split.length);
  bool isCausal = getCausal();
  bool isOfAnyLength = SequenceRanges::ofTokens(*this).has_value();
  UnitAttr narrow = getNarrowAttr();
  if (split.isNarrow && hasFactorsOfOneType(*this)) {
    narrow = rewriter.getUnitAttr();
  }
  Value summary = summarize(rewriter, *this, block, narrow);
  auto type = cast<RankedTensorType>(summary.getType());
  if (split.mergesApart && (block < tokens || isCausal)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[2] = isCausal ? shape[2] : 1;
    summary = MergeSummariesOp::create(
        rewriter, getLoc(), type.clone(shape), getMapAttr(), summary,
        isCausal ? rewriter.getUnitAttr() : UnitAttr(),
        isOfAnyLength ? rewriter.getI64IntegerAttr(block) : IntegerAttr());
  }
  // Where tokens are a range, how many blocks of keys an item has follows from
  // those of its queries.
  int64_t queries = isCausal || isOfAnyLength
                        ? block
                        : queryBlockSize(shapeOf(getQuery())[1], split.length);
  return SummaryAttentionOp::create(
      rewriter, getLoc(), getType(), getMapAttr(), getQuery(), summary,
      isCausal ? getKey() : Value(), isCausal ? getValue() : Value(),
      getFeatures(), isCausal ? getKeyValid() : Value(), getHeadsAttr(),
      rewriter.getI64IntegerAttr(queries),
      split.mergesApart && isCausal ? rewriter.getUnitAttr() : UnitAttr(),
      getScaleAttr(), getEpsAttr(), getStabilizerAttr(),
      getDenominatorEpsAttr(), narrow);
}
