//===- SplitReductions.cpp - Divide sums among units ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where a machine has more units than an operation, its reduction is divided:
// each part has as many units again, and whoever reads the result merges the
// parts in their order; or its kernel does, and it says of how many. What can be divided, and what it becomes, an operation
// says (SplitReductionOpInterface), and how long parts are, the target's
// policy. Both know shapes alone, so no bit depends on who computes what.

#include "dialect/Site.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/Verdict.h"
#include "passes/fuse/FusionPolicy.h"
#include "passes/fuse/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "passes/fuse/Passes.h.inc"

/// Whether an operation can have such a reduction; else an error on it.
static LogicalResult checkReduction(SplitReductionOpInterface op,
                                    const Reduction &reduction) {
  if (reduction.unit < 1 || reduction.terms % reduction.unit != 0) {
    return op->emitError("says that its reduction has ")
           << reduction.terms << " terms in units of " << reduction.unit
           << ", which do not divide them";
  }
  return success();
}

/// Why `op` cannot have such parts; nothing where it can.
static std::optional<Verdict> declineParts(SplitReductionOpInterface op,
                                           const Reduction &reduction,
                                           const ReductionSplit &split) {
  if (split.length < reduction.terms && split.length % reduction.unit != 0) {
    return Verdict::decline("parts of " + Twine(split.length) +
                                " do not begin at multiples of " +
                                Twine(reduction.unit),
                            "they do");
  }
  if (reduction.isEven && reduction.terms % split.length != 0) {
    return Verdict::decline("parts of " + Twine(split.length) +
                                " do not divide sums over " +
                                Twine(reduction.terms),
                            "they do");
  }
  std::optional<Decline> decline = op.declineSplit(split);
  return decline
             ? std::optional(Verdict::decline(decline->why, decline->firesIf))
             : std::nullopt;
}

/// Replaces `op` by its parts and what merges them, which is returned. Null,
/// with an error, where that is nothing that can take its place.
static Operation *divide(IRRewriter &rewriter, SplitReductionOpInterface op,
                         const ReductionSplit &split) {
  Operation *before = op->getPrevNode();
  rewriter.setInsertionPoint(op);
  Value merged = op.splitReduction(rewriter, split);
  Operation *last = merged ? merged.getDefiningOp() : nullptr;
  if (!last || merged.getType() != op->getResult(0).getType()) {
    op->emitError("was divided into nothing that has its type");
    return nullptr;
  }
  // All are parts of what the whole was a part of; else what merges is the
  // site.
  if (Attribute site = op->getAttr(kSiteAttr)) {
    Block::iterator first =
        before ? std::next(before->getIterator()) : op->getBlock()->begin();
    for (Operation &part : llvm::make_range(first, op->getIterator())) {
      part.setAttr(kSiteAttr, site);
    }
  }
  inheritVerdicts(last, op);
  rewriter.replaceOp(op, merged);
  return last;
}

namespace {
struct SplitReductionsPass final
    : impl::SplitReductionsPassBase<SplitReductionsPass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override {
    if (length < 0) {
      return emitError(UnknownLoc::get(context),
                       "expects 'length' from 0 on, got ")
             << int64_t(length);
    }
    auto parsed = parseFusionPolicy(policy, context);
    asked = parsed.value_or(FusionPolicyAttrInterface());
    return parsed;
  }
  void runOnOperation() override {
    if (getOperation().getName() != "main") {
      return;
    }
    IRRewriter rewriter(&getContext());
    SmallVector<SplitReductionOpInterface> ops;
    getOperation().walk(
        [&](SplitReductionOpInterface op) { ops.push_back(op); });
    for (SplitReductionOpInterface op : ops) {
      std::optional<Reduction> reduction = op.getReduction();
      if (reduction && reduction->terms > 0 &&
          (reduction->isAlwaysSplit || !onlyNecessary) &&
          failed(splitIfChosen(rewriter, op, *reduction))) {
        return signalPassFailure();
      }
    }
  }

private:
  LogicalResult splitIfChosen(IRRewriter &rewriter,
                              SplitReductionOpInterface op,
                              const Reduction &reduction) {
    if (failed(checkReduction(op, reduction))) {
      return failure();
    }
    std::string why;
    std::optional<ReductionSplit> split = choose(op, reduction, why);
    if (split && split->length < 1) {
      return op->emitError("was given parts of ")
             << split->length << " terms by the fusion policy";
    }
    int64_t parts = split ? split->countParts(reduction) : 0;
    if (parts == 0 || (parts == 1 && !reduction.isAlwaysSplit)) {
      return success();
    }
    if (auto decline = declineParts(op, reduction, *split)) {
      writeVerdict(op, "hova-split-reductions", *decline);
      return success();
    }
    bool isInside = split->isInside && reduction.isSum;
    if (isInside) {
      op->setAttr(kAddedPartsAttr, rewriter.getI64IntegerAttr(parts));
    }
    Operation *merged = isInside ? op : divide(rewriter, op, *split);
    // What is always divided is nobody's decision.
    if (merged && !reduction.isAlwaysSplit) {
      writeVerdict(merged, "hova-split-reductions",
                   Verdict::fire("sums over " + Twine(reduction.terms) +
                                 " are " + Twine(parts) +
                                 " parts, which are added in order: " + why));
    }
    return success(merged != nullptr);
  }

  std::optional<ReductionSplit> choose(SplitReductionOpInterface op,
                                       const Reduction &reduction,
                                       std::string &why) {
    if (length > 0) {
      why = "asked for by 'length'";
      return ReductionSplit{length, mergesApart};
    }
    std::optional<ReductionSplit> chosen =
        asked ? asked.chooseSplit(op, reduction, &why) : std::nullopt;
    if (!chosen && reduction.isAlwaysSplit) {
      chosen = ReductionSplit{reduction.terms, mergesApart}; // one part
    }
    if (chosen && onlyNecessary) {
      chosen->isNarrow = false; // nothing has to be rounded
    }
    return chosen;
  }

  FusionPolicyAttrInterface asked;
};
} // namespace
} // namespace hova
