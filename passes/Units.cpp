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

std::string whyNoRows(Operation *op, UnitsAttr units) {
  std::string text;
  for (auto [name, size] : llvm::zip(units.getNames(), units.getSizes())) {
    text += (text.empty() ? "" : " x ") + std::to_string(size) + " " +
            name.getValue().str();
  }
  return ("'" + op->getName().getStringRef() + "' divides " + text +
          " among threads, not rows")
      .str();
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

bool keepsUnits(Operation *first, Operation *op) {
  auto written = dyn_cast<StructuredOpInterface>(first);
  auto reader = dyn_cast<StructuredOpInterface>(op);
  if (!written || !reader || divisionOf(first) != Division::inner) {
    return false;
  }
  IterationSpace space = written.getIterationSpace();
  IterationSpace readerSpace = reader.getIterationSpace();
  bool reads = false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.get() == first->getResult(0)) {
      reads = true;
      if (!keepsUnits(space, readerSpace, operand.getOperandNumber())) {
        return false;
      }
    }
  }
  return reads;
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
  // Columns that leave the program are copied; those that only others are of
  // stay an address.
  auto leaves = llvm::find_if(ops, [](Operation &op) {
    return llvm::any_of(op.getUsers(), llvm::IsaPred<YieldOp>);
  });
  return leaves == ops.end() ? nullptr : &*leaves;
}

} // namespace hova
