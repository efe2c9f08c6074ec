//===- LaunchOps.cpp - The order of a launch and those before it ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/LaunchOps.h"

using namespace mlir;

namespace hova {

std::optional<ArrayRef<int64_t>> settledOf(Operation *function) {
  auto settled = function->getAttrOfType<DenseI64ArrayAttr>(kSettledAttr);
  return settled ? std::optional(settled.asArrayRef()) : std::nullopt;
}

std::optional<BlockCycles> blockCyclesOf(Operation *function) {
  auto cycles = function->getAttrOfType<DenseF64ArrayAttr>(kBlockCyclesAttr);
  return cycles ? std::optional(BlockCycles{cycles[0], cycles[1]})
                : std::nullopt;
}

} // namespace hova

#define GET_OP_CLASSES
#include "codegen/cuda/LaunchOps.cpp.inc"
