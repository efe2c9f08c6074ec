//===- Recipe.cpp - The loops of an operation on a CPU --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Recipe.h"

#include "codegen/cpu/Recipe.cpp.inc"

using namespace mlir;

namespace hova {

std::optional<TileScope> heldScopeOf(Operation *anchor) {
  auto recipe = dyn_cast<CpuRecipeOpInterface>(anchor);
  return recipe ? recipe.getHeldScope() : TileScope::row;
}

CpuTokenLanesOpInterface tokenLanesOf(Operation *op) {
  auto lanes = dyn_cast<CpuTokenLanesOpInterface>(op);
  return lanes && !lanes.declineTokenLanes() ? lanes
                                             : CpuTokenLanesOpInterface();
}

} // namespace hova
