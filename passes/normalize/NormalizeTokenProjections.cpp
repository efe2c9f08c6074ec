//===- NormalizeTokenProjections.cpp - Project tokens before a linear -----===//
// SPDX-License-Identifier: Apache-2.0
//
// E^T (X W + 1 b) = (E^T X) W + (E^T 1) b: keys and values of a Linformer are a
// linear of few rows instead of one of all tokens, and those of one input
// project it once. It pays where it takes no more multiply-accumulates; both
// counts are in the verdict. Sums run in another order: a reassociation.

#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Verdict.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZETOKENPROJECTIONSPASS
#include "passes/normalize/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName =
    "hova-normalize-token-projections";

/// `value` in every element of a matrix of these dims.
static Value fill(OpBuilder &builder, Location loc, Type element, double value,
                  ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, element);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getFloatAttr(element, value)));
}

/// (E^T 1) b, a row for each row of the projection.
static Value projectBias(OpBuilder &builder, Location loc, Value bias,
                         Value projection, WeightValues &weights) {
  Type element = getElementTypeOrSelf(bias);
  ArrayRef<int64_t> shape = shapeOf(projection);
  int64_t tokens = shape[0], rows = shape[1], columns = shapeOf(bias)[0];
  auto matrix = [&](int64_t height, int64_t width) {
    return RankedTensorType::get({height, width}, element);
  };
  auto multiply = [&](Value lhs, Value rhs) -> Value {
    auto type = matrix(shapeOf(lhs)[0], shapeOf(rhs)[1]);
    return LinearOp::create(builder, loc, type, lhs, rhs, Value(),
                            /*transposed=*/false);
  };
  Value ones = fill(builder, loc, element, 1, {tokens, 1});
  Value transposed =
      TransposeOp::create(builder, loc, matrix(rows, tokens), projection);
  Value sums = multiply(transposed, ones);
  Value row = AddOp::create(builder, loc,
                            fill(builder, loc, element, 0, {1, columns}), bias);
  Value product = multiply(sums, row);
  for (Value made : {ones, transposed, sums, row, product}) {
    weights.add(made.getDefiningOp());
  }
  return product;
}

namespace {
class TokenProjections {
public:
  TokenProjections(RewriterBase &rewriter, Block &body)
      : rewriter(rewriter), weights(body) {}

  /// Projects before the linear whose result `op` reads, and says so, or why
  /// not.
  void visit(ProjectTokensOp op);

private:
  std::optional<Verdict> whyNot(ProjectTokensOp op, LinearOp linear);
  Verdict compare(ProjectTokensOp op, LinearOp linear);
  void rewrite(ProjectTokensOp op, LinearOp linear, const Verdict &verdict);

  RewriterBase &rewriter;
  WeightValues weights;
  /// By input and weight.
  DenseMap<std::pair<Value, Value>, ProjectTokensOp> made;
};
} // namespace

std::optional<Verdict> TokenProjections::whyNot(ProjectTokensOp op,
                                                LinearOp linear) {
  if (!hasStaticShapes(op) || !hasStaticShapes(linear)) {
    return Verdict::decline("a shape is not known", "all dimensions are known");
  }
  if (linear.getTransposed() || !weights.makes(linear.getWeight()) ||
      !weights.makes(op.getWeight()) ||
      (linear.getBias() && !weights.makes(linear.getBias()))) {
    return Verdict::decline("a weight is shared with an embedding or depends "
                            "on an input",
                            "the weight of the linear is [in, out] and, with "
                            "its bias and the projection, computed from "
                            "weights");
  }
  return std::nullopt;
}

/// Multiply-accumulates of both orders.
Verdict TokenProjections::compare(ProjectTokensOp op, LinearOp linear) {
  ArrayRef<int64_t> x = shapeOf(linear.getX());
  int64_t batch = x[0], tokens = x[1], in = x[2];
  int64_t out = shapeOf(op.getX())[2], rows = shapeOf(op.getWeight())[1];
  // Another reader needs the linear of all tokens anyway, and another
  // projection of the same input may have been made.
  bool isOnlyReader = linear->hasOneUse();
  bool isMade = made.contains({linear.getX(), op.getWeight()});
  int64_t apart = batch * tokens * out * (rows + (isOnlyReader ? in : 0));
  int64_t before = batch * rows * in * (out + (isMade ? 0 : tokens));
  std::string counts = std::to_string(before) + " against " +
                       std::to_string(apart) + " multiply-accumulates";
  if (before <= apart) {
    return Verdict::fire("projects the input of the linear before it: " +
                         counts);
  }
  return Verdict::decline("does not pay here: " + counts,
                          isOnlyReader ? "tokens become fewer rows"
                                       : "nothing else reads the linear");
}

/// project_tokens (linear %x, %w bias(%b)), %e
///   -> add (linear (project_tokens %x, %e), %w), (%e^T 1) %b
void TokenProjections::rewrite(ProjectTokensOp op, LinearOp linear,
                               const Verdict &verdict) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  ProjectTokensOp &projected = made[{linear.getX(), op.getWeight()}];
  if (!projected) {
    SmallVector<int64_t> shape(shapeOf(op.getResult()));
    shape.back() = shapeOf(linear.getX()).back();
    projected = ProjectTokensOp::create(
        rewriter, loc,
        RankedTensorType::get(shape, getElementTypeOrSelf(op.getResult())),
        linear.getX(), op.getWeight());
    writeVerdict(projected, kPassName, verdict);
  }
  inheritVerdicts(projected, op);
  auto ofRows =
      LinearOp::create(rewriter, linear.getLoc(), op.getType(), projected,
                       linear.getWeight(), Value(), /*transposed=*/false);
  inheritVerdicts(ofRows, linear);
  Value result = ofRows;
  if (Value bias = linear.getBias()) {
    result = AddOp::create(
        rewriter, loc, result,
        projectBias(rewriter, loc, bias, op.getWeight(), weights));
  }
  rewriter.replaceOp(op, result);
  if (linear->use_empty()) {
    rewriter.eraseOp(linear);
  }
}

void TokenProjections::visit(ProjectTokensOp op) {
  auto linear = op.getX().getDefiningOp<LinearOp>();
  if (!linear || weights.contains(op)) {
    return;
  }
  if (std::optional<Verdict> decline = whyNot(op, linear)) {
    return writeVerdict(op, kPassName, *decline);
  }
  Verdict verdict = compare(op, linear);
  if (!verdict.fired) {
    return writeVerdict(op, kPassName, verdict);
  }
  rewrite(op, linear, verdict);
}

namespace {
struct NormalizeTokenProjectionsPass final
    : impl::NormalizeTokenProjectionsPassBase<NormalizeTokenProjectionsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (getOperation().isExternal()) {
      return;
    }
    IRRewriter rewriter(&getContext());
    TokenProjections projections(rewriter, getOperation().getBody().front());
    SmallVector<ProjectTokensOp> sites;
    getOperation().walk([&](ProjectTokensOp op) { sites.push_back(op); });
    for (ProjectTokensOp op : sites) {
      projections.visit(op);
    }
  }
};
} // namespace
} // namespace hova
