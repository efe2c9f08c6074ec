//===- WeightPlaces.cpp - Where weights are in the image ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/WeightPlaces.h"
#include "passes/tile/KernelStructure.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hova {

int64_t elementBytes(MemRefType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Panels of a weight; pairs along its rows where two of its elements are
/// multiplied at once.
static RankedTensorType packedType(RankedTensorType type, int64_t panel) {
  int64_t rows = type.getShape()[0];
  int64_t panels = llvm::divideCeil(type.getShape()[1], panel);
  if (type.getElementType().isBF16()) {
    int64_t pairs = llvm::divideCeil(rows, 2);
    return type.clone({panels, pairs, panel, 2});
  }
  return type.clone({panels, rows, panel});
}

/// The buffer of panels; a pair is one element of it.
static MemRefType panelBuffer(RankedTensorType packed) {
  ArrayRef<int64_t> shape = packed.getShape();
  if (shape.size() == 3) {
    return MemRefType::get(shape, packed.getElementType());
  }
  return MemRefType::get(shape.drop_back(),
                         IntegerType::get(packed.getContext(), 32));
}

LogicalResult WeightPlaces::assign(Place place) {
  llvm::StringMap<SmallVector<ImageWeightOp>> references;
  for (auto op : main.getOps<ImageWeightOp>()) {
    references[op.getName()].push_back(op);
  }
  llvm::StringSet<> stored;
  if (auto weights = module.lookupSymbol<func::FuncOp>("weights")) {
    for (StoreWeightOp store : weights.getOps<StoreWeightOp>()) {
      stored.insert(store.getName());
      if (failed(assignWeight(store, references[store.getName()], place))) {
        return failure();
      }
    }
  }
  for (auto op : main.getOps<ImageWeightOp>()) {
    if (!stored.contains(op.getName())) {
      return op.emitOpError("reads what the weight program does not store");
    }
  }
  return success();
}

LogicalResult WeightPlaces::assignWeight(StoreWeightOp store,
                                         ArrayRef<ImageWeightOp> references,
                                         Place place) {
  if (references.empty()) {
    return store.emitOpError("stores what nothing reads");
  }
  auto type = cast<RankedTensorType>(store.getValue().getType());
  std::optional<int64_t> panel = ImageWeightOp(references.front()).getPanel();
  RankedTensorType packed = panel ? packedType(type, *panel) : type;
  MemRefType buffer = panel ? panelBuffer(packed) : bufferType(type, 0);
  for (ImageWeightOp op : references) {
    if (op.getType() != type || op.getPanel() != panel) {
      return op.emitOpError("expects the type that the weight program stores "
                            "and one layout, got ")
             << op.getType() << " for " << type;
    }
    place(op.getResult(), buffer, bytes);
  }
  OpBuilder builder(store);
  if (panel) {
    store.getValueMutable().assign(
        PackOp::create(builder, store.getLoc(), packed, store.getValue()));
  }
  store->setAttr(kOffsetAttr, builder.getI64IntegerAttr(bytes));
  bytes += llvm::alignTo(buffer.getNumElements() * elementBytes(buffer), 64);
  return success();
}

} // namespace hova
