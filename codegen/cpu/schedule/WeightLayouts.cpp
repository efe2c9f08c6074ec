//===- WeightLayouts.cpp - Which weights have panels ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A product reads its weight panel by panel, everything else row by row.

#include "codegen/cpu/schedule/WeightLayouts.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Recipe.h"
#include "passes/Units.h"
#include "passes/WeightReaders.h"

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
  return recipe && arePacked(recipe.getReads(use.getOperandNumber()));
}

static WeightReaders readersFor(int64_t columns) {
  return {readsPanels,
          [columns](ImageWeightOp weight) -> WeightLayoutAttrInterface {
            return ColumnStripsAttr::get(weight.getContext(), columns,
                                         interleaveOf(weight));
          },
          "panels"};
}

void assignCpuWeightLayouts(func::FuncOp main, const CpuFacts &facts) {
  assignWeightLayouts(main, readersFor(facts.panelColumns));
}

LogicalResult verifyCpuWeightLayouts(func::FuncOp main) {
  for (auto weight : main.getOps<ImageWeightOp>()) {
    if (!weight.getLayoutAttr()) {
      continue;
    }
    auto panels = dyn_cast<ColumnStripsAttr>(weight.getLayoutAttr());
    int64_t interleave = interleaveOf(weight);
    if (!panels || panels.getInterleave() != interleave) {
      return weight.emitOpError("expects panels with an interleave factor of ")
             << interleave << ", as kernels for a CPU read "
             << getElementTypeOrSelf(weight.getType()) << ", got "
             << weight.getLayoutAttr();
    }
    if (failed(verifyWeightReaders(weight, readersFor(panels.getColumns())))) {
      return failure();
    }
  }
  return success();
}

} // namespace hova
