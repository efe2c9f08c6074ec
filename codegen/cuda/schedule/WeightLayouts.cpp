//===- WeightLayouts.cpp - Which weights are transposed -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/schedule/WeightLayouts.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "passes/WeightReaders.h"

using namespace mlir;

namespace hova {

/// What rows of the transposed weight begin at multiples of: chunks, where
/// sectors would make no difference.
static int64_t alignmentOf(ImageWeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  int64_t bytes = type.getDimSize(0) * (type.getElementTypeBitWidth() / 8);
  int64_t align = alignmentOfRows(bytes);
  return llvm::alignTo(bytes, align) == llvm::alignTo(bytes, kChunkBytes)
             ? kChunkBytes
             : align;
}

static bool readsTransposed(OpOperand &use) {
  auto recipe = dyn_cast<CudaRecipeOpInterface>(use.getOwner());
  return recipe && arePacked(recipe.getReads(use.getOperandNumber()));
}

static const WeightReaders &readers() {
  static const WeightReaders readers = {
      readsTransposed,
      [](ImageWeightOp weight) -> WeightLayoutAttrInterface {
        return TransposedAttr::get(weight.getContext(), alignmentOf(weight));
      },
      "transposed"};
  return readers;
}

void assignCudaWeightLayouts(func::FuncOp main) {
  assignWeightLayouts(main, readers());
}

/// Whether what `kernel` reads as rows for its columns is stored so.
static LogicalResult verifyTransposedReads(KernelOp kernel) {
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    Value operand = kernel->getOperand(argument.getArgNumber());
    auto weight = operand.getDefiningOp<ImageWeightOp>();
    for (OpOperand &use : argument.getUses()) {
      if (readsTransposed(use) && !(weight && weight.getLayoutAttr())) {
        return use.getOwner()->emitOpError("expects operand ")
               << use.getOperandNumber()
               << " to be a weight with a layout, as kernels for a GPU read it";
      }
    }
  }
  return success();
}

LogicalResult verifyCudaWeightLayouts(func::FuncOp main) {
  for (auto kernel : main.getOps<KernelOp>()) {
    if (failed(verifyTransposedReads(kernel))) {
      return failure();
    }
  }
  for (auto weight : main.getOps<ImageWeightOp>()) {
    if (!weight.getLayoutAttr()) {
      continue;
    }
    auto wanted = readers().layoutOf(weight);
    if (weight.getLayoutAttr() != wanted) {
      return weight.emitOpError("expects the layout ")
             << wanted << ", as kernels for a GPU read it, got "
             << weight.getLayoutAttr();
    }
    if (failed(verifyWeightReaders(weight, readers()))) {
      return failure();
    }
  }
  return success();
}

} // namespace hova
