//===- FuseKernels.cpp - Group operations into kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is what threads do without waiting for each other. Operations whose
// rows depend on the same rows of one another (linear, norm, residual, gate)
// chain into one kernel that divides rows; attention and gathers read rows that
// other threads own and begin a new one. Operations are placed in program order
// into the earliest kernel that may hold them, so two chains that do not depend
// on each other do not split each other.
//
// Columns of a product that are values of their own (passes/Columns.h) join its
// kernel, which then yields them instead of the whole, and so does what works
// element by element on them.
//
// In a chain every thread reads all weights for its own rows. With few rows
// that takes longer than the multiplications, so there a product is a kernel of
// its own, with what works element by element on its result, and threads divide
// its columns: each weight is read once. Small products stay in their chain: to
// meet after each would cost more. What few and small are, the target says
// (FusionPolicy.td). Does nothing without `@main`.

#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Verdict.h"
#include "passes/fuse/KernelBuilder.h"
#include "passes/fuse/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "passes/fuse/Passes.h.inc"

/// Every result of the program is a value of its own that a kernel computes: an
/// input handed through, or one value handed out twice, is copied. A mask,
/// which is no number to copy, is computed once more.
static void copySharedResults(Block &block) {
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  llvm::SmallPtrSet<Value, 8> seen;
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value value = operand.get();
    Operation *op = value.getDefiningOp();
    if (op && !isa<ImageWeightOp>(op) && seen.insert(value).second) {
      continue;
    }
    auto type = cast<RankedTensorType>(value.getType());
    if (isa<FloatType>(type.getElementType()) && type.getRank() > 0) {
      operand.set(ConcatOp::create(builder, value.getLoc(), type, value,
                                   type.getRank() - 1));
    } else if (op) {
      operand.set(builder.clone(*op)->getResult(0));
    }
  }
}

/// What is assembled stands after the kernels that write its parts, in front
/// of the first that reads it.
static void moveBeforeReaders(Operation *assembly) {
  Operation *first = nullptr;
  for (Operation *user : assembly->getUsers()) {
    if (!first || user->isBeforeInBlock(first)) {
      first = user;
    }
  }
  if (first) {
    assembly->moveBefore(first);
  } else {
    assembly->erase();
  }
}

/// Verdicts are written when every kernel is there.
static void noteMissedFusions(ArrayRef<MissedFusion> missedFusions) {
  for (const MissedFusion &missed : missedFusions) {
    Operation *op = missed.operand->getOwner();
    NamedAttrList entries(
        op->getAttrOfType<DictionaryAttr>(kMissedFusionsAttr));
    entries.set(std::to_string(missed.operand->getOperandNumber()),
                StringAttr::get(op->getContext(), missed.why));
    op->setAttr(kMissedFusionsAttr, entries.getDictionary(op->getContext()));
  }
}

namespace {
struct FuseKernelsPass final : impl::FuseKernelsPassBase<FuseKernelsPass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override {
    auto parsed = parseFusionPolicy(policy, context);
    asked = parsed.value_or(FusionPolicyAttrInterface());
    return parsed;
  }
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal()) {
      return;
    }
    Block &block = main.getBody().front();
    copySharedResults(block);
    Grouping grouping(block, {asked, columnGroupWidth, chain});
    if (failed(grouping.run())) {
      return signalPassFailure();
    }
    noteMissedFusions(grouping.getMissedFusions());
    // Views stay until the last kernel is built: they lead to their sources.
    SmallVector<Operation *> old, assemblies;
    for (Operation &op : block.without_terminator()) {
      if (grouping.isAssembled(&op)) {
        assemblies.push_back(&op);
      } else if (!isa<ImageWeightOp, KernelOp>(op)) {
        old.push_back(&op);
      }
    }
    for (int i = 0, e = grouping.getGroups().size(); i < e; ++i) {
      buildKernel(grouping, i, block);
    }
    for (Operation *op : llvm::reverse(old)) {
      op->erase();
    }
    // One may read another.
    llvm::for_each(llvm::reverse(assemblies), moveBeforeReaders);
  }

private:
  FusionPolicyAttrInterface asked;
};
} // namespace
} // namespace hova
