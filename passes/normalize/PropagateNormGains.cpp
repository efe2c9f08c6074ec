//===- PropagateNormGains.cpp - Norms hand gain and bias to linears -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The gain of a layer norm scales the rows of the weight behind it, and its
// bias, multiplied with that weight, is a bias of the linear: both are computed
// once, by the weight program. The norm then only normalises: it reads no
// vectors and saves a multiplication and an addition per element. Leaves alone
// a norm that anything but a linear reads, such as the residual stream of a
// post-norm block. Scaled weights are rounded once more: a reassociation.

#include "dialect/DenseOps.h"
#include "dialect/ProgramOps.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"
#include "passes/Passes.h"
#include "passes/Verdict.h"
#include "passes/normalize/WeightValues.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_PROPAGATENORMGAINSPASS
#include "passes/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName = "hova-propagate-norm-gains";

/// Whether every row of the result is a row of the operand, or a mean of rows.
static bool choosesRows(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return isa<PoolOp, ConvertOp>(op) || (slice && !slice.isRowAligned(0));
}

/// Adds the linears that read `value`, directly or as some of its rows, to
/// `linears`. The first other reader, or null.
static Operation *collectLinears(Value value,
                                 SmallVectorImpl<LinearOp> &linears) {
  for (OpOperand &use : value.getUses()) {
    Operation *reader = use.getOwner();
    if (auto linear = dyn_cast<LinearOp>(reader);
        linear && use.get() == linear.getX()) {
      linears.push_back(linear);
      continue;
    }
    if (!choosesRows(reader)) {
      return reader;
    }
    if (Operation *other = collectLinears(reader->getResult(0), linears)) {
      return other;
    }
  }
  return nullptr;
}

/// Why `linear` cannot take factors and a bias for its input.
static std::optional<Verdict> keepsItsWeight(LinearOp linear) {
  if (linear.getTransposed()) {
    return Verdict::decline("a linear reads a table that an embedding shares",
                            "the weight of every linear is [in, out]");
  }
  if (!isWeightValue(linear.getWeight()) ||
      (linear.getBias() && !isWeightValue(linear.getBias()))) {
    return Verdict::decline("weight or bias of a linear depends on an input",
                            "both are computed from weights");
  }
  return std::nullopt;
}

/// linear %n, %w bias(%b)
///   -> linear %n, (scale_rows %w, %gain) bias(linear %bias, %w bias(%b))
static void takeGainAndBias(RewriterBase &rewriter, LinearOp linear, Value gain,
                            Value bias) {
  rewriter.setInsertionPoint(linear);
  Location loc = linear.getLoc();
  Value weight = linear.getWeight();
  Value scaled = ScaleRowsOp::create(rewriter, loc, weight, gain);
  auto type =
      RankedTensorType::get({shapeOf(weight)[1]}, getElementTypeOrSelf(bias));
  Value moved = LinearOp::create(rewriter, loc, type, bias, weight,
                                 linear.getBias(), /*transposed=*/false);
  rewriter.modifyOpInPlace(linear, [&] {
    linear.getWeightMutable().assign(scaled);
    linear.getBiasMutable().assign(moved);
  });
}

/// linear (layer_norm %x, %gain, %bias), %w
///   -> linear (layer_norm %x), (scale_rows %w, %gain) bias(linear %bias, %w)
Verdict propagateNormGain(RewriterBase &rewriter, LayerNormOp norm) {
  Value gain = norm.getGain(), bias = norm.getBias();
  if (!isWeightValue(gain) || !isWeightValue(bias)) {
    return Verdict::decline("gain or bias depends on an input",
                            "both are computed from weights");
  }
  SmallVector<LinearOp> linears;
  if (Operation *other = collectLinears(norm.getResult(), linears)) {
    return Verdict::decline("the norm is read by '" +
                                other->getName().getStringRef() + "'",
                            "every reader of the norm is a linear");
  }
  if (linears.empty()) {
    return Verdict::decline("nothing reads the norm",
                            "every reader of the norm is a linear");
  }
  for (LinearOp linear : linears) {
    if (std::optional<Verdict> decline = keepsItsWeight(linear)) {
      return *decline;
    }
  }
  for (LinearOp linear : linears) {
    takeGainAndBias(rewriter, linear, gain, bias);
  }
  rewriter.modifyOpInPlace(norm, [&] {
    norm.getGainMutable().clear();
    norm.getBiasMutable().clear();
  });
  return Verdict::fire("gain and bias are in the weights behind the norm, of " +
                       llvm::Twine(linears.size()) +
                       (linears.size() == 1 ? " linear" : " linears"));
}

namespace {
struct PropagateNormGainsPass final
    : impl::PropagateNormGainsPassBase<PropagateNormGainsPass> {
  using Base::Base;
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](LayerNormOp norm) {
      if (norm.getGain()) {
        writeVerdict(norm, kPassName, propagateNormGain(rewriter, norm));
      }
    });
  }
};
} // namespace
} // namespace hova
