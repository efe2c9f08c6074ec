//===- WeightLayouts.cpp - Which weights have panels ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A product reads its weight panel by panel, everything else row by row. What
// is read both ways is in the image twice.

#include "codegen/cpu/schedule/WeightLayouts.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "passes/Columns.h"
#include "passes/Units.h"

using namespace mlir;

namespace hova {

/// Pairs of bf16 are multiplied at once.
static int64_t interleaveOf(ImageWeightOp op) {
  return getElementTypeOrSelf(op.getType()).isBF16() ? 2 : 1;
}

/// Whether an operation reads this operand panel by panel.
static bool readsPanels(OpOperand &use) {
  auto kernel = use.getOwner()->getParentOfType<KernelOp>();
  if (divisionOf(kernel) == Division::sequences) {
    return false;
  }
  auto recipe = dyn_cast<CpuRecipeOpInterface>(use.getOwner());
  return recipe && recipe.readsPanels(use.getOperandNumber());
}

/// A second image weight of the same value, for another layout.
static ImageWeightOp storeAgain(ImageWeightOp op) {
  std::string name = (op.getName() + ".panels").str();
  auto module = op->getParentOfType<ModuleOp>();
  auto weights = module.lookupSymbol<func::FuncOp>("weights");
  for (StoreWeightOp store : weights.getOps<StoreWeightOp>()) {
    if (store.getName() == op.getName()) {
      OpBuilder builder(weights.getBody().front().getTerminator());
      StoreWeightOp::create(builder, store.getLoc(), name, store.getValue());
      break;
    }
  }
  OpBuilder builder(op);
  return ImageWeightOp::create(builder, op.getLoc(), op.getType(), name,
                               /*layout=*/nullptr);
}

static void assignPanels(ImageWeightOp op, int64_t columns) {
  SmallVector<OpOperand *> packed;
  bool plain = false;
  for (OpOperand &use : op->getUses()) {
    auto kernel = cast<KernelOp>(use.getOwner());
    Value argument = kernel.getBody().getArgument(use.getOperandNumber());
    bool panels = false, rest = false;
    for (OpOperand &inner : argument.getUses()) {
      (readsPanels(inner) ? panels : rest) = true;
    }
    if (panels && rest) {
      // One kernel reads both layouts: give it an argument for each.
      Value second = kernel.addInput(op.getResult());
      argument.replaceUsesWithIf(
          second, [](OpOperand &inner) { return !readsPanels(inner); });
      return assignPanels(op, columns);
    }
    if (panels) {
      packed.push_back(&use);
    }
    plain |= rest;
  }
  if (packed.empty()) {
    return;
  }
  ImageWeightOp target = plain ? storeAgain(op) : op;
  for (OpOperand *use : packed) {
    use->set(target);
  }
  target.setLayoutAttr(
      PanelsAttr::get(op.getContext(), columns, interleaveOf(op)));
}

void assignWeightLayouts(func::FuncOp main, const CpuFacts &facts) {
  SmallVector<ImageWeightOp> weights(main.getOps<ImageWeightOp>());
  for (ImageWeightOp weight : weights) {
    if (!weight.getLayoutAttr()) {
      assignPanels(weight, facts.panelColumns);
    }
  }
}

/// Whether everything that reads `weight` reads panels.
static LogicalResult verifyReaders(ImageWeightOp weight) {
  for (OpOperand &use : weight->getUses()) {
    auto kernel = dyn_cast<KernelOp>(use.getOwner());
    if (!kernel) {
      return use.getOwner()->emitOpError("is no kernel and reads a weight in "
                                         "panels");
    }
    BlockArgument argument =
        kernel.getBody().getArgument(use.getOperandNumber());
    for (OpOperand &inner : argument.getUses()) {
      if (!readsPanels(inner)) {
        return inner.getOwner()->emitOpError("reads row by row what is in "
                                             "panels, weight '")
               << weight.getName() << "'";
      }
    }
  }
  return success();
}

LogicalResult verifyWeightLayouts(func::FuncOp main) {
  for (auto weight : main.getOps<ImageWeightOp>()) {
    if (!weight.getLayoutAttr()) {
      continue;
    }
    auto panels = dyn_cast<PanelsAttr>(weight.getLayoutAttr());
    int64_t interleave = interleaveOf(weight);
    if (!panels || panels.getInterleave() != interleave) {
      return weight.emitOpError("expects panels with an interleave factor of ")
             << interleave << ", as kernels for a CPU read "
             << getElementTypeOrSelf(weight.getType()) << ", got "
             << weight.getLayoutAttr();
    }
    if (failed(verifyReaders(weight))) {
      return failure();
    }
  }
  return success();
}

} // namespace hova
