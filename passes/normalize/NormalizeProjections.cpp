//===- NormalizeProjections.cpp - Merge linears of the same input ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Q, K and V, and with horizontal and vertical attention X W_A2 and X W_U1, are
// columns of one product: the input is read once and the tiles are fuller. A
// linear alone, or one that shares its table with an embedding, stays as it is.

#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Verdict.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZEPROJECTIONSPASS
#include "passes/normalize/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName = "hova-normalize-projections";

/// Why a linear stays as it is, whatever else reads its input.
static std::optional<Verdict> staysAlone(LinearOp op,
                                         const WeightValues &weights) {
  if (op.getTransposed()) {
    return Verdict::decline("an embedding shares the table",
                            "the weight is [in, out]");
  }
  if (!weights.makes(op.getWeight()) ||
      (op.getBias() && !weights.makes(op.getBias()))) {
    return Verdict::decline("weight or bias depends on an input",
                            "both are computed from weights");
  }
  if (!cast<RankedTensorType>(op.getResult().getType()).hasStaticShape()) {
    return Verdict::decline("the result has no static shape",
                            "all dimensions are known");
  }
  return std::nullopt;
}

/// The biases of `linears` one after the other, zeros where there is none.
static Value joinBiases(OpBuilder &builder, ArrayRef<LinearOp> linears,
                        Location loc) {
  if (llvm::none_of(linears, [](LinearOp op) { return op.getBias(); })) {
    return {};
  }
  SmallVector<Value> biases;
  int64_t width = 0;
  Type element;
  for (LinearOp op : linears) {
    element = getElementTypeOrSelf(op.getResult());
    int64_t columns = shapeOf(op.getResult()).back();
    width += columns;
    if (op.getBias()) {
      biases.push_back(op.getBias());
      continue;
    }
    auto type = RankedTensorType::get({columns}, element);
    biases.push_back(arith::ConstantOp::create(
        builder, op.getLoc(),
        DenseElementsAttr::get(type, builder.getFloatAttr(element, 0))));
  }
  return ConcatOp::create(builder, loc, RankedTensorType::get({width}, element),
                          biases, /*axis=*/0);
}

/// linear %x, %w1 ; linear %x, %w2
///   -> %y = linear %x, (concat %w1, %w2) ; slice %y ; slice %y
static void mergeLinears(RewriterBase &rewriter, ArrayRef<LinearOp> linears) {
  LinearOp first = linears.front();
  SmallVector<Location> locations;
  SmallVector<Value> weights;
  SmallVector<int64_t> shape(shapeOf(first.getResult()));
  shape.back() = 0;
  for (LinearOp op : linears) {
    locations.push_back(op.getLoc());
    weights.push_back(op.getWeight());
    shape.back() += shapeOf(op.getResult()).back();
  }
  // The merged operation is the first one's place in the description.
  Location loc = first.getLoc();
  Type element = getElementTypeOrSelf(first.getResult());
  rewriter.setInsertionPoint(first);
  Value weight = ConcatOp::create(
      rewriter, loc,
      RankedTensorType::get({shapeOf(weights[0])[0], shape.back()},
                            getElementTypeOrSelf(weights[0])),
      weights, /*axis=*/1);
  Value bias = joinBiases(rewriter, linears, loc);
  auto merged =
      LinearOp::create(rewriter, loc, RankedTensorType::get(shape, element),
                       first.getX(), weight, bias, /*transposed=*/false);
  if (llvm::all_of(linears, [&](LinearOp op) {
        return op->getAttr(kSiteAttr) == first->getAttr(kSiteAttr);
      })) {
    inheritSite(merged, first);
  }
  writeVerdict(merged, kPassName,
               Verdict::fire(llvm::Twine(linears.size()) +
                             " linears read their input once, as " +
                             llvm::Twine(shape.back()) + " columns"));
  int64_t offset = 0;
  for (LinearOp op : linears) {
    auto part = SliceOp::create(rewriter, op.getLoc(), op.getResult().getType(),
                                merged, shape.size() - 1, offset);
    // The slice stands for the linear from here on, for reports too.
    part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    offset += shapeOf(op.getResult()).back();
    rewriter.replaceOp(op, part);
  }
}

/// `linears` read the same input.
static void mergeWherePossible(RewriterBase &rewriter,
                               ArrayRef<LinearOp> linears,
                               const WeightValues &weights) {
  SmallVector<LinearOp> merged;
  for (LinearOp op : linears) {
    if (std::optional<Verdict> decline = staysAlone(op, weights)) {
      writeVerdict(op, kPassName, *decline);
    } else {
      merged.push_back(op);
    }
  }
  if (merged.size() > 1) {
    mergeLinears(rewriter, merged);
  }
}

namespace {
struct NormalizeProjectionsPass final
    : impl::NormalizeProjectionsPassBase<NormalizeProjectionsPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal()) {
      return;
    }
    // Weights of later linears must stand before the first.
    Block &body = function.getBody().front();
    WeightValues weights(body);
    weights.hoist(body);
    llvm::MapVector<Value, SmallVector<LinearOp>> byInput;
    function.walk([&](LinearOp op) {
      if (!weights.contains(op)) {
        byInput[op.getX()].push_back(op);
      }
    });
    IRRewriter rewriter(&getContext());
    for (auto &[input, linears] : byInput) {
      if (linears.size() > 1) {
        mergeWherePossible(rewriter, linears, weights);
      }
    }
  }
};
} // namespace
} // namespace hova
