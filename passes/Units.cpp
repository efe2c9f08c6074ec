//===- Units.cpp - What the threads of a kernel divide --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Units.h"
#include "passes/Columns.h"

using namespace mlir;

namespace hova {

UnitsAttr unitsOf(Operation *op, int64_t blocks) {
  auto structured = dyn_cast<StructuredOpInterface>(op);
  if (!structured) {
    return {};
  }
  IterationSpace space = structured.getIterationSpace();
  if (space.countUnits() == 0) {
    return {};
  }
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (unsigned dim : space.units) {
    names.push_back(StringAttr::get(op->getContext(), space.dims[dim].name));
    sizes.push_back(space.dims[dim].size);
  }
  if (blocks > 1) {
    StringRef name = space.dims[*space.blockDim].name;
    names.push_back(StringAttr::get(op->getContext(), name + kBlockSuffix));
    sizes.push_back(blocks);
  }
  return UnitsAttr::get(op->getContext(), names, sizes);
}

int64_t blocksOf(UnitsAttr units) {
  for (auto [name, size] : llvm::zip(units.getNames(), units.getSizes())) {
    if (name.getValue().ends_with(kBlockSuffix)) {
      return size;
    }
  }
  return 1;
}

UnitsAttr columnStripUnits(MLIRContext *context, int64_t strips) {
  return UnitsAttr::get(context, StringAttr::get(context, kColumnStripDim),
                        strips);
}

UnitsAttr sequenceUnits(MLIRContext *context, int64_t groups) {
  return UnitsAttr::get(context, StringAttr::get(context, kSequenceDim),
                        groups);
}

Division divisionOf(Operation *op) {
  auto structured = dyn_cast<StructuredOpInterface>(op);
  return structured && !structured.getIterationSpace().dividesRows()
             ? Division::inner
             : Division::rows;
}

Division divisionOf(KernelOp kernel) {
  std::optional<UnitsAttr> units = kernel.getUnits();
  if (units && units->sizeOf(kColumnStripDim)) {
    return Division::columnStrips;
  }
  if (units && units->sizeOf(kSequenceDim)) {
    return Division::sequences;
  }
  Operation *first = firstOf(kernel);
  return first ? divisionOf(first) : Division::rows;
}

Operation *firstOf(KernelOp kernel) {
  auto ops = kernel.getBody().front().without_terminator();
  for (Operation &op : ops) {
    if (auto stage = dyn_cast<StageOp>(op)) {
      return stage.getAnchor();
    }
    if (!isColumnSlice(&op)) {
      return &op;
    }
  }
  // Columns that leave the program are copied.
  return ops.empty() ? nullptr : &*ops.begin();
}

} // namespace hova
