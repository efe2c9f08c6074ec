//===- DecomposeCompound.cpp - Compound operations as simpler ones --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asks every operation that implements DecomposeOpInterface to write itself
// down, so that the phases after know few operations. What an operation is
// made of is its own business; this pass only replaces, and makes the parts of
// a site parts of that site. What no input reaches belongs to no site: it is
// computed when weights are packed, and what sites of all layers compute alike,
// such as the tables of a rotation, is one value then.

#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_DECOMPOSECOMPOUNDPASS
#include "passes/normalize/Passes.h.inc"

/// The operations after `before`, up to `op`, are parts of what `op` is.
static void markParts(Operation *before, Operation *op) {
  std::optional<Site> site = siteOf(op);
  Operation *part = before ? before->getNextNode() : &op->getBlock()->front();
  for (; part != op; part = part->getNextNode()) {
    inheritSite(part, op);
    if (site) {
      setSite(part, *site);
    }
  }
}

/// What of weights alone is demanded to be fused stays known by its site.
static void leaveSites(Block &block) {
  WeightValues weights(block);
  for (Operation &op : block) {
    if (weights.contains(&op) && !op.hasAttr(kRequireAttr)) {
      op.removeAttr(kSiteAttr);
    }
  }
}

namespace {
/// compound -> what its decomposition builds.
struct DecomposeCompound final
    : OpInterfaceRewritePattern<DecomposeOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(DecomposeOpInterface op,
                                PatternRewriter &rewriter) const override {
    Operation *before = op->getPrevNode();
    FailureOr<SmallVector<Value>> values = op.decompose(rewriter);
    if (failed(values)) {
      return rewriter.notifyMatchFailure(op, "operation does not decompose");
    }
    markParts(before, op);
    rewriter.replaceOp(op, *values);
    return success();
  }
};

/// patch_embedding %i, %w -> linear (unfold %i), %w
struct PatchEmbeddingAsLinear final : OpRewritePattern<PatchEmbeddingOp> {
  using Base::Base;
  LogicalResult matchAndRewrite(PatchEmbeddingOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = shapeOf(op.getWeight())[0];
    Operation *before = op->getPrevNode();
    auto both = [&](int64_t side) {
      return rewriter.getDenseI64ArrayAttr({side, side});
    };
    int64_t patch = op.getPatch();
    Value unfolded = UnfoldOp::create(
        rewriter, op.getLoc(),
        RankedTensorType::get(shape, type.getElementType()), op.getImage(),
        /*kernel=*/both(patch), /*stride=*/both(patch), /*padding=*/both(0),
        /*dilation=*/both(1), /*within=*/IntegerAttr(),
        /*grid=*/DenseI64ArrayAttr());
    Value result =
        LinearOp::create(rewriter, op.getLoc(), type, unfolded, op.getWeight(),
                         op.getBias(), /*transposed=*/false);
    markParts(before, op);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// An attention whose scores alone are read is made of what they depend on:
/// they stand in front of masks and softmax, and only the result needs values.
///   %o, %s = attention %q, %k, %v memory(..) scores {.. score_yield %x kept
///   %m}
///   -> attention %q, %k, %k scores {.. score_yield %x kept true}
struct ScoresOfQueriesAndKeys final : OpRewritePattern<AttentionOp> {
  using Base::Base;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.givesScoresAlone()) {
      return rewriter.notifyMatchFailure(op, "result of the attention is read");
    }
    ScoreYieldOp yield = op.scoreRegion().getYield();
    bool isSimple = op.getValue() == op.getKey() && !op.getMemoryKey() &&
                    matchPattern(yield.getKept(), m_One());
    if (isSimple) {
      return rewriter.notifyMatchFailure(op, "attention reads no more already");
    }
    Value none;
    ArrayRef<int64_t> queries = shapeOf(op.getQuery());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto scores = AttentionOp::create(
        rewriter, op.getLoc(), type.clone(queries), op.getScores().getType(),
        op.getQuery(), op.getKey(), /*value=*/op.getKey(), op.getScoreVector(),
        /*memory_key=*/none, /*memory_value=*/none, /*random_blocks=*/none,
        op.getCaptured(), op.getSimilarity(), Normalization::softmax,
        op.getHeads(), EmptyRow::zero, op.getKeyValueHeadsAttr(),
        /*block=*/IntegerAttr());
    rewriter.inlineRegionBefore(op.getScoreRegion(), scores.getScoreRegion(),
                                scores.getScoreRegion().end());
    yield = scores.scoreRegion().getYield();
    rewriter.setInsertionPoint(yield);
    Value always = arith::ConstantOp::create(rewriter, op.getLoc(),
                                             rewriter.getBoolAttr(true));
    rewriter.replaceOpWithNewOp<ScoreYieldOp>(yield, yield.getCarried(), always,
                                              yield.getCarried());
    inheritSite(scores, op);
    rewriter.replaceAllUsesWith(op.getScores(), scores.getScores());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Tensors that the region does not read are not captured.
struct DropUnreadCaptures final : OpRewritePattern<AttentionOp> {
  using Base::Base;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    Block &block = op.scoreRegion().getBlock();
    bool hasDropped = false;
    for (unsigned i = op.getCaptured().size(); i-- > 0;) {
      unsigned number = ScoreRegion::kIndices + i;
      if (!block.getArgument(number).use_empty()) {
        continue;
      }
      rewriter.modifyOpInPlace(op, [&] {
        op.getCapturedMutable().erase(i);
        block.eraseArgument(number);
      });
      hasDropped = true;
    }
    return success(hasDropped);
  }
};

struct DecomposeCompoundPass final
    : impl::DecomposeCompoundPassBase<DecomposeCompoundPass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeCompound, PatchEmbeddingAsLinear,
                 ScoresOfQueriesAndKeys, DropUnreadCaptures>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      getOperation().emitError("decomposition did not converge");
      return signalPassFailure();
    }
    if (!getOperation().isExternal()) {
      leaveSites(getOperation().getBody().front());
    }
  }
};
} // namespace
} // namespace hova
