//===- NormalizeLinearChains.cpp - A linear of a linear as one linear -----===//
// SPDX-License-Identifier: Apache-2.0
//
// (H A + a) B + b = H (A B) + (a B + b): where the two linears follow each
// other directly, their matrices are multiplied at compile time. Vertical
// attention is the case that matters: `Y W_U2` with Y = H W^M becomes further
// columns of the output projection. It pays where it takes no more
// multiply-accumulates; both counts are in the verdict. Products of matrices
// are rounded once more: a reassociation. In f16 they may leave its range
// although both matrices are within it.

#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "passes/Verdict.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZELINEARCHAINSPASS
#include "passes/normalize/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName = "hova-normalize-linear-chains";

/// The linear whose result `op` reads, in whatever type.
static LinearOp linearBefore(LinearOp op) {
  Value x = op.getX();
  if (auto conversion = x.getDefiningOp<ConvertOp>()) {
    x = conversion.getX();
  }
  return x.getDefiningOp<LinearOp>();
}

static bool isOfWeights(LinearOp op, const WeightValues &weights) {
  return !op.getTransposed() && weights.makes(op.getWeight()) &&
         cast<RankedTensorType>(op.getWeight().getType()).hasStaticShape() &&
         (!op.getBias() || weights.makes(op.getBias()));
}

/// linear (linear %h, %a bias(%c)), %b bias(%d)
///   -> linear %h, (linear %a, %b) bias(linear %c, %b bias(%d))
static Verdict composeLinears(RewriterBase &rewriter, LinearOp outer,
                              WeightValues &weights) {
  LinearOp inner = linearBefore(outer);
  if (!isOfWeights(inner, weights) || !isOfWeights(outer, weights)) {
    return Verdict::decline("a weight is shared with an embedding or depends "
                            "on an input",
                            "both weights are [in, out] and, with their "
                            "biases, computed from weights");
  }
  if (getElementTypeOrSelf(outer.getWeight()).isF16()) {
    return Verdict::decline("a product of weights may leave the range of f16",
                            "weights are stored as f32 or bf16");
  }
  // Where the number of rows is not known, counts are those of one.
  bool isStatic = hasStaticShapes(outer);
  int64_t rows =
      isStatic ? staticSize(shapeOf(outer.getResult()).drop_back()) : 1;
  int64_t in = shapeOf(inner.getWeight())[0];
  int64_t between = shapeOf(outer.getWeight())[0];
  int64_t out = shapeOf(outer.getWeight())[1];
  // Another reader needs the inner linear anyway.
  Operation *read = outer.getX().getDefiningOp();
  bool isOnlyReader = inner->hasOneUse() && read->hasOneUse();
  int64_t saved = isOnlyReader ? in * between : 0;
  int64_t apart = rows * (between * out + saved), composed = rows * in * out;
  std::string counts = std::to_string(composed) + " against " +
                       std::to_string(apart) + " multiply-accumulates" +
                       (isStatic ? "" : " a row");
  if (composed > apart) {
    return Verdict::decline("does not pay here: " + counts,
                            "the input of the first linear is at most " +
                                llvm::Twine(apart / (rows * out)) + " wide");
  }
  rewriter.setInsertionPoint(outer);
  Location loc = outer.getLoc();
  auto type =
      RankedTensorType::get({in, out}, getElementTypeOrSelf(outer.getWeight()));
  Value weight =
      LinearOp::create(rewriter, loc, type, inner.getWeight(),
                       outer.getWeight(), Value(), /*transposed=*/false);
  weights.add(weight.getDefiningOp());
  Value bias = outer.getBias();
  if (inner.getBias()) {
    auto biasType =
        RankedTensorType::get(out, getElementTypeOrSelf(inner.getBias()));
    bias = LinearOp::create(rewriter, loc, biasType, inner.getBias(),
                            outer.getWeight(), bias, /*transposed=*/false);
    weights.add(bias.getDefiningOp());
  }
  rewriter.modifyOpInPlace(outer, [&] {
    outer.getXMutable().assign(inner.getX());
    outer.getWeightMutable().assign(weight);
    outer.getBiasMutable().clear();
    if (bias) {
      outer.getBiasMutable().assign(bias);
    }
  });
  if (isOnlyReader) {
    inheritVerdicts(outer, inner);
    if (read != inner) {
      rewriter.eraseOp(read);
    }
    rewriter.eraseOp(inner);
  }
  return Verdict::fire("reads the input of the linear before it: " + counts);
}

namespace {
struct NormalizeLinearChainsPass final
    : impl::NormalizeLinearChainsPassBase<NormalizeLinearChainsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (getOperation().isExternal()) {
      return;
    }
    WeightValues weights(getOperation().getBody().front());
    SmallVector<LinearOp> outers;
    getOperation().walk([&](LinearOp op) {
      if (linearBefore(op) && !weights.contains(op)) {
        outers.push_back(op);
      }
    });
    IRRewriter rewriter(&getContext());
    for (LinearOp outer : outers) {
      writeVerdict(outer, kPassName, composeLinears(rewriter, outer, weights));
    }
  }
};
} // namespace
} // namespace hova
