//===- DecomposeProducts.cpp - Divide the sums of products ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A product of few rows and columns has few tiles. Where a machine has more
// units than these, its inner dimension is divided: each part has as many tiles
// again, and whoever reads the result adds the parts in their order. How many
// there are is decided by the shape and the target, so no bit depends on who
// computes what.

#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/Verdict.h"
#include "passes/fuse/FusionPolicy.h"
#include "passes/fuse/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_DECOMPOSEPRODUCTSPASS
#include "passes/fuse/Passes.h.inc"

/// linear %x, %w bias(%b) -> sum_parts (linear_parts %x, %w) bias(%b)
static void decompose(IRRewriter &rewriter, LinearOp op, int64_t count,
                      const std::string &why) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), count);
  rewriter.setInsertionPoint(op);
  auto parts =
      LinearPartsOp::create(rewriter, op.getLoc(),
                            RankedTensorType::get(shape, rewriter.getF32Type()),
                            op.getX(), op.getWeight(), op.getTransposedAttr());
  auto sum =
      SumPartsOp::create(rewriter, op.getLoc(), type, parts, op.getBias());
  // Both are parts of what the whole was a part of; else the sum is the site.
  if (Attribute site = op->getAttr(kSiteAttr)) {
    parts->setAttr(kSiteAttr, site);
    sum->setAttr(kSiteAttr, site);
  }
  inheritVerdicts(sum, op);
  writeVerdict(sum, "hova-decompose-products", Verdict::fire(why));
  rewriter.replaceOp(op, sum);
}

namespace {
struct DecomposeProductsPass final
    : impl::DecomposeProductsPassBase<DecomposeProductsPass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override {
    auto parsed = parseFusionPolicy(policy, context);
    asked = parsed.value_or(FusionPolicyAttrInterface());
    return parsed;
  }
  void runOnOperation() override {
    if (getOperation().getName() != "main") {
      return;
    }
    IRRewriter rewriter(&getContext());
    SmallVector<LinearOp> products;
    getOperation().walk([&](LinearOp op) { products.push_back(op); });
    for (LinearOp product : products) {
      std::string why;
      int64_t count = hasStaticShapes(product) ? chooseParts(product, why) : 1;
      if (count > 1) {
        int64_t inner = shapeOf(product.getX()).back();
        decompose(rewriter, product, count,
                  ("sums over " + Twine(inner) + " are " + Twine(count) +
                   " parts, which are added in order: " + why)
                      .str());
      }
    }
  }

private:
  int64_t chooseParts(LinearOp product, std::string &why) {
    if (parts > 0) {
      why = "asked for by 'parts'";
      return shapeOf(product.getX()).back() % parts == 0 ? parts : 1;
    }
    return asked ? asked.chooseParts(product, &why) : 1;
  }

  FusionPolicyAttrInterface asked;
};
} // namespace
} // namespace hova
