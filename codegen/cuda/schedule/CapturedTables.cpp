//===- CapturedTables.cpp - Tables that scores read -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/schedule/CapturedTables.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/WeightReaders.h"

using namespace mlir;

namespace hova {

/// What the region of an attention calls the operand; null for other operands.
static BlockArgument capturedAs(OpOperand &use) {
  auto op = dyn_cast<AttentionOp>(use.getOwner());
  if (!op) {
    return {};
  }
  for (auto [operand, argument] :
       llvm::zip(op.getCapturedMutable(), op.scoreRegion().getCaptured())) {
    if (&operand == &use) {
      return argument;
    }
  }
  return {};
}

/// All names of a weight in kernels and in regions of scores, if it has no
/// others, nor does another operation refer to it.
static std::optional<SmallVector<Value>> namesOf(ImageWeightOp weight) {
  SmallVector<Value> names{weight.getResult()};
  auto main = weight->getParentOfType<func::FuncOp>();
  for (ImageWeightOp other : main.getOps<ImageWeightOp>()) {
    if (other != weight && other.getName() == weight.getName()) {
      return std::nullopt;
    }
  }
  for (OpOperand &use : weight->getUses()) {
    auto kernel = dyn_cast<KernelOp>(use.getOwner());
    if (!kernel) {
      return std::nullopt;
    }
    names.push_back(kernel.getBody().getArgument(use.getOperandNumber()));
    for (OpOperand &inner : names.back().getUses()) {
      BlockArgument captured = capturedAs(inner);
      if (!captured) {
        return std::nullopt;
      }
      names.push_back(captured);
    }
  }
  return names;
}

void alignCapturedTables(func::FuncOp main) {
  for (ImageWeightOp weight : main.getOps<ImageWeightOp>()) {
    auto type = cast<RankedTensorType>(weight.getType());
    if (type.getRank() < 2 || !type.getElementType().isF32()) {
      continue;
    }
    constexpr int64_t kElements = kSectorBytes / 4;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = llvm::alignTo(shape.back(), kElements);
    auto names = namesOf(weight);
    StoreWeightOp store = storeOf(weight);
    if (shape.back() == type.getShape().back() || !names || !store) {
      continue;
    }
    auto longer = RankedTensorType::get(shape, type.getElementType());
    OpBuilder builder(store);
    Value padded =
        PadOp::create(builder, store.getLoc(), longer, store.getValue(),
                      /*axis=*/type.getRank() - 1, /*before=*/0);
    store.getValueMutable().assign(padded);
    for (Value name : *names) {
      name.setType(longer);
    }
  }
}

} // namespace hova
