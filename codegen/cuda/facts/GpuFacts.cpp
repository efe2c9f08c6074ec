//===- GpuFacts.cpp - The row of what IR is for ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/facts/GpuFacts.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

namespace hova {

const GpuFacts &gpuOf(Operation *op) {
  for (; op; op = op->getParentOp()) {
    if (auto name = op->getAttrOfType<StringAttr>(kGpuAttr)) {
      const GpuFacts *gpu = findGpu(name);
      assert(gpu && "the dialect verifies names");
      return *gpu;
    }
  }
  return *getGpus().front();
}

} // namespace hova
