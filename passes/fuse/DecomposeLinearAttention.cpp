//===- DecomposeLinearAttention.cpp - Split the sums over keys ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Linear attention sums over all keys what the threads of a kernel divide. The
// sums become a fixed list of sums over blocks of keys, each a unit of one
// kernel, and the kernel of the queries merges the list in its order. How many
// tokens a block has is decided by the shape and the policy, so no bit depends
// on the number of threads. Leaves alone what has no static shape.

#include "dialect/LinearAttentionOps.h"
#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Verdict.h"
#include "passes/fuse/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_DECOMPOSELINEARATTENTIONPASS
#include "passes/fuse/Passes.h.inc"

/// How many keys all blocks but the last have. Blocks of a longer sequence
/// begin as those of a shorter one, so that padding adds zeros and nothing else
/// to the sums of a block.
static int64_t keyBlockSize(int64_t tokens, int64_t most) {
  return std::min(tokens, most);
}

/// How many queries all blocks but the last have: even blocks, since no result
/// depends on them.
static int64_t queryBlockSize(int64_t tokens, int64_t most) {
  return llvm::divideCeil(tokens, llvm::divideCeil(tokens, most));
}

/// linear_attention %q, %k, %v
///   -> %s = key_summary %k, %v ; summary_attention %q, %s
/// and with `causal`
///   -> %s = key_summary %k, %v ; summary_attention %q, %s key(%k) value(%v)
/// and with `merges`, of several blocks
///   -> %s = key_summary %k, %v ; %m = merge_summaries %s
///      summary_attention %q, %m
/// and with `merges` and `causal`
///   -> %s = key_summary %k, %v ; %m = merge_summaries exclusive %s
///      summary_attention %q, %m key(%k) value(%v) {merged}
static LogicalResult decompose(RewriterBase &rewriter, LinearAttentionOp op,
                               int64_t most, bool merges) {
  ArrayRef<int64_t> q = shapeOf(op.getQuery()), k = shapeOf(op.getKey()),
                    v = shapeOf(op.getValue());
  if (!hasStaticShapes(op)) {
    return rewriter.notifyMatchFailure(op, "an operand has no static shape");
  }
  int64_t heads = op.countKeyHeads(), keyBlock = keyBlockSize(k[1], most);
  int64_t features =
      op.getFeatures() ? shapeOf(op.getFeatures())[1] : k[2] / heads;
  bool isCausal = op.getCausal();
  int64_t blocks = llvm::divideCeil(k[1], keyBlock);
  auto type = RankedTensorType::get({k[0], heads, blocks,
                                     features + summaryExtraRows(op.getMap()),
                                     v[2] / heads + 1},
                                    rewriter.getF32Type());
  // Of softmax, eps is added to the merged sums.
  FloatAttr eps = op.getMap() == FeatureMap::relu ? op.getEpsAttr()
                                                  : rewriter.getF64FloatAttr(0);
  Value summary = KeySummaryOp::create(
      rewriter, op.getLoc(), type, op.getMapAttr(), op.getKey(), op.getValue(),
      op.getFeatures(), op.getKeyValid(), rewriter.getI64IntegerAttr(heads),
      rewriter.getI64IntegerAttr(keyBlock), op.getScaleAttr(), eps);
  SmallVector<Operation *> parts{summary.getDefiningOp()};
  if (merges && (blocks > 1 || isCausal)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[2] = isCausal ? blocks : 1;
    summary = MergeSummariesOp::create(
        rewriter, op.getLoc(), type.clone(shape), op.getMapAttr(), summary,
        isCausal ? rewriter.getUnitAttr() : UnitAttr());
    parts.push_back(summary.getDefiningOp());
  }
  auto queries = SummaryAttentionOp::create(
      rewriter, op.getLoc(), op.getType(), op.getMapAttr(), op.getQuery(),
      summary, isCausal ? op.getKey() : Value(),
      isCausal ? op.getValue() : Value(), op.getFeatures(),
      isCausal ? op.getKeyValid() : Value(), op.getHeadsAttr(),
      rewriter.getI64IntegerAttr(isCausal ? keyBlock
                                          : queryBlockSize(q[1], most)),
      merges && isCausal ? rewriter.getUnitAttr() : UnitAttr(),
      op.getScaleAttr(), op.getEpsAttr(), op.getStabilizerAttr(),
      op.getDenominatorEpsAttr());
  inheritVerdicts(queries, op);
  // All are parts of what the whole was a part of; else the queries are the
  // site, whose features stay in their kernel.
  if (Attribute site = op->getAttr(kSiteAttr)) {
    parts.push_back(queries);
    for (Operation *part : parts) {
      part->setAttr(kSiteAttr, site);
    }
  }
  rewriter.replaceOp(op, queries);
  return success();
}

namespace {
struct DecomposeLinearAttentionPass final
    : impl::DecomposeLinearAttentionPassBase<DecomposeLinearAttentionPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto [name, tokens] :
         {std::pair("block-tokens", int64_t(blockTokens)),
          std::pair("causal-block-tokens", int64_t(causalBlockTokens))}) {
      if (tokens < 1) {
        getOperation().emitError("expects '")
            << name << "' of at least 1, got " << tokens;
        return signalPassFailure();
      }
    }
    IRRewriter rewriter(&getContext());
    SmallVector<LinearAttentionOp> sites;
    getOperation().walk([&](LinearAttentionOp op) { sites.push_back(op); });
    for (LinearAttentionOp op : sites) {
      rewriter.setInsertionPoint(op);
      // What stays says why when no kernel can hold it.
      if (failed(decompose(rewriter, op,
                           op.getCausal() ? causalBlockTokens : blockTokens,
                           mergesBlocks))) {
        continue;
      }
    }
  }
};
} // namespace
} // namespace hova
