//===- Assemblies.cpp - What stays between kernels and is no work ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Part of the grouping: values that are put together of rows that several
// kernels write, values in other axes than their kernel computes them, and rows
// of values that are read where they lie.

#include "dialect/placement/PlacementOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/fuse/Grouping.h"

using namespace mlir;

namespace hova {

int Grouping::lastGroupOf(Value value) const {
  Operation *op = lookThroughViews(value).source.getDefiningOp();
  int last = groupOf(value);
  if (isAssembled(op) || waiting.contains(op)) {
    for (Value part : op->getOperands()) {
      last = std::max(last, lastGroupOf(part));
    }
  }
  return last;
}

static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Memory of its own, which no other value shares a row of.
bool Grouping::canReshape(ReshapeOp op) const {
  Value x = op.getX();
  return chain && index.contains(x.getDefiningOp()) && !parts.contains(x) &&
         !isReturned(x) && !isReturned(op.getResult());
}

/// Outputs are the caller's memory, and have no second name. What is reshaped
/// has no gaps between rows, so not every row begins where a value may.
bool Grouping::canViewRows(Operation *op) const {
  auto view = dyn_cast<RowViewOpInterface>(op);
  if (!chain || !policy || !policy.addressesRows() || !view ||
      !view.getSourceRows()) {
    return false;
  }
  Value x = op->getOperand(0);
  return (index.contains(x.getDefiningOp()) ||
          isAssembled(x.getDefiningOp())) &&
         !isa<ReshapeOp>(x.getDefiningOp()) &&
         llvm::none_of(x.getUsers(), llvm::IsaPred<ReshapeOp>) &&
         !isReturned(x) && !isReturned(op->getResult(0));
}

bool Grouping::canAssemble(Operation *op) const {
  auto assembly = dyn_cast<AssembleOpInterface>(op);
  if (!chain || !assembly || isReturned(op->getResult(0))) {
    return false;
  }
  llvm::SmallDenseSet<Value> seen;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    Value part = operand.get();
    return assembly.getOperandRows(operand.getOperandNumber()) &&
           index.contains(part.getDefiningOp()) && !parts.contains(part) &&
           seen.insert(part).second && !isReturned(part) &&
           llvm::none_of(part.getUsers(), llvm::IsaPred<ReshapeOp>);
  });
}

bool Grouping::waitsForReader(Operation *op) const {
  auto site = dyn_cast<SiteOpInterface>(op);
  if (!chain || !site || !site.isResultIntermediate() ||
      divisionOf(op) != Division::rows || op->use_empty()) {
    return false;
  }
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  bool joins = llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    return space.readsSameRow(operand.getOperandNumber());
  });
  return !joins && llvm::all_of(op->getUses(), [&](OpOperand &use) {
    auto reader = dyn_cast<StructuredOpInterface>(use.getOwner());
    return reader && !isa<SliceOp, RearrangeOp>(*reader) &&
           divisionOf(reader) == Division::rows &&
           reader.getIterationSpace().readsSameRow(use.getOperandNumber());
  });
}

} // namespace hova
