//===- DecomposeCompound.cpp - Compound operations as simpler ones --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Asks every operation that implements DecomposeOpInterface to write itself
// down, so that the phases behind know few operations. What an operation is
// made of is its own business; this pass only replaces.

#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"
#include "passes/normalize/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_DECOMPOSECOMPOUNDPASS
#include "passes/normalize/Passes.h.inc"

namespace {
/// compound -> what its decomposition builds.
struct DecomposeCompound final
    : OpInterfaceRewritePattern<DecomposeOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(DecomposeOpInterface op,
                                PatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> values = op.decompose(rewriter);
    if (failed(values)) {
      return rewriter.notifyMatchFailure(op, "operation does not decompose");
    }
    rewriter.replaceOp(op, *values);
    return success();
  }
};

/// patch_embedding %i, %w -> linear (unfold_patches %i), %w
struct PatchEmbeddingAsLinear final : OpRewritePattern<PatchEmbeddingOp> {
  using Base::Base;
  LogicalResult matchAndRewrite(PatchEmbeddingOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = shapeOf(op.getWeight())[0];
    Value unfolded = UnfoldPatchesOp::create(
        rewriter, op.getLoc(),
        RankedTensorType::get(shape, type.getElementType()), op.getImage(),
        op.getPatchAttr());
    rewriter.replaceOpWithNewOp<LinearOp>(op, type, unfolded, op.getWeight(),
                                          op.getBias(), /*transposed=*/false);
    return success();
  }
};

struct DecomposeCompoundPass final
    : impl::DecomposeCompoundPassBase<DecomposeCompoundPass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeCompound, PatchEmbeddingAsLinear>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns)))) {
      getOperation().emitError("decomposition did not converge");
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
