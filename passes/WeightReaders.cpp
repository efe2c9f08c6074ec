//===- WeightReaders.cpp - Layouts of weights, by who reads them ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/WeightReaders.h"

using namespace mlir;

namespace hova {

StoreWeightOp storeOf(ImageWeightOp weight) {
  auto module = weight->getParentOfType<ModuleOp>();
  auto weights = module.lookupSymbol<func::FuncOp>("weights");
  if (!weights || weights.isExternal()) {
    return {};
  }
  for (StoreWeightOp store : weights.getOps<StoreWeightOp>()) {
    if (store.getName() == weight.getName()) {
      return store;
    }
  }
  return {};
}

/// A second image weight of the same value, for another layout.
static ImageWeightOp storeAgain(ImageWeightOp op, StringRef suffix) {
  std::string name = (op.getName() + "." + suffix).str();
  if (StoreWeightOp store = storeOf(op)) {
    OpBuilder builder(store->getBlock()->getTerminator());
    StoreWeightOp::create(builder, store.getLoc(), name, store.getValue());
  }
  OpBuilder builder(op);
  return ImageWeightOp::create(builder, op.getLoc(), op.getType(), name,
                               /*layout=*/nullptr);
}

static void assignLayout(ImageWeightOp op, const WeightReaders &readers) {
  SmallVector<OpOperand *> packed;
  bool plain = false;
  for (OpOperand &use : op->getUses()) {
    auto kernel = dyn_cast<KernelOp>(use.getOwner());
    if (!kernel) {
      plain = true; // what `tile` rejects
      continue;
    }
    Value argument = kernel.getBody().getArgument(use.getOperandNumber());
    bool layout = false, rest = false;
    for (OpOperand &inner : argument.getUses()) {
      (readers.readsLayout(inner) ? layout : rest) = true;
    }
    if (layout && rest) {
      // One kernel reads both: give it an argument for each.
      Value second = kernel.addInput(op.getResult());
      argument.replaceUsesWithIf(second, [&](OpOperand &inner) {
        return !readers.readsLayout(inner);
      });
      return assignLayout(op, readers);
    }
    if (layout) {
      packed.push_back(&use);
    }
    plain |= rest;
  }
  if (packed.empty()) {
    return;
  }
  ImageWeightOp target = plain ? storeAgain(op, readers.suffix) : op;
  for (OpOperand *use : packed) {
    use->set(target);
  }
  target.setLayoutAttr(readers.layoutOf(op));
}

void assignWeightLayouts(func::FuncOp main, const WeightReaders &readers) {
  SmallVector<ImageWeightOp> weights(main.getOps<ImageWeightOp>());
  for (ImageWeightOp weight : weights) {
    if (!weight.getLayoutAttr()) {
      assignLayout(weight, readers);
    }
  }
}

LogicalResult verifyWeightReaders(ImageWeightOp weight,
                                  const WeightReaders &readers) {
  for (OpOperand &use : weight->getUses()) {
    auto kernel = dyn_cast<KernelOp>(use.getOwner());
    if (!kernel) {
      return use.getOwner()->emitOpError("is no kernel and reads a weight in "
                                         "the layout ")
             << weight.getLayoutAttr();
    }
    BlockArgument argument =
        kernel.getBody().getArgument(use.getOperandNumber());
    for (OpOperand &inner : argument.getUses()) {
      if (!readers.readsLayout(inner)) {
        return inner.getOwner()->emitOpError("reads row by row what has the "
                                             "layout ")
               << weight.getLayoutAttr() << ", weight '" << weight.getName()
               << "'";
      }
    }
  }
  return success();
}

} // namespace hova
