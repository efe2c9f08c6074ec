//===- Schedule.cpp - The attributes of a kernel's schedule ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Schedule.h"

using namespace mlir;

namespace hova {

/// Whether loops take rows or panels in blocks.
static bool hasBlocks(Division division) {
  return division == Division::rows || division == Division::panels;
}

/// Numbers of arguments: `values` are the kernel's arguments, or what it
/// yields.
static LogicalResult checkRowTables(KernelOp kernel, StringRef attribute,
                                    ValueRange values) {
  Attribute given = kernel->getAttr(attribute);
  auto numbers = dyn_cast_or_null<DenseI64ArrayAttr>(given);
  ValueRange arguments = kernel.getBody().getArguments();
  auto isTableOf = [&](Value value, int64_t number) {
    if (number < 0 || number >= static_cast<int64_t>(arguments.size())) {
      return number == -1;
    }
    auto table = cast<RankedTensorType>(arguments[number].getType());
    auto rows = cast<RankedTensorType>(value.getType());
    return table.getElementType().isInteger(32) && table.getRank() == 1 &&
           rows.getRank() > 0;
  };
  if (!given ||
      (numbers && static_cast<size_t>(numbers.size()) <= values.size() &&
       llvm::all_of(llvm::zip_first(numbers.asArrayRef(), values),
                    [&](const auto &pair) {
                      auto [number, value] = pair;
                      return isTableOf(value, number);
                    }))) {
    return success();
  }
  return kernel.emitOpError("expects '")
         << attribute << "' to be -1 or the number of a row table among its "
         << arguments.size() << " arguments, got " << given;
}

FailureOr<Schedule> Schedule::of(KernelOp kernel) {
  auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>(kTileAttr);
  if (!kernel.getUnits() || !tile || tile.size() != 2) {
    return kernel.emitOpError("has no complete schedule: run assign first");
  }
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  if (failed(checkRowTables(kernel, kInputRowsAttr,
                            kernel.getBody().getArguments())) ||
      failed(checkRowTables(kernel, kResultRowsAttr, yield.getValues()))) {
    return failure();
  }
  Schedule schedule;
  schedule.division = divisionOf(kernel);
  schedule.tileRows = tile[0];
  schedule.tileColumns = tile[1];
  schedule.pairs = kernel->hasAttr(kPairsAttr);
  SmallVector<std::pair<StringRef, int64_t *>> sizes = {
      {kLanesAttr, &schedule.lanes}, {kGrainAttr, &schedule.grain}};
  if (hasBlocks(schedule.division)) {
    sizes.push_back({kKBlockAttr, &schedule.kBlock});
    sizes.push_back({kBlockAttr, &schedule.block});
  }
  for (auto [name, size] : sizes) {
    auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
    if (!attribute) {
      return kernel.emitOpError("has no complete schedule: run assign first");
    }
    *size = attribute.getInt();
  }
  if (auto split = kernel->getAttrOfType<IntegerAttr>(kReductionSplitAttr)) {
    schedule.reductionSplit = split.getInt();
  }
  for (int64_t size : {schedule.tileRows, schedule.tileColumns, schedule.kBlock,
                       schedule.reductionSplit, schedule.block, schedule.lanes,
                       schedule.grain}) {
    if (size <= 0) {
      return kernel.emitOpError("expects positive sizes in its schedule, got ")
             << size;
    }
  }
  return schedule;
}

void Schedule::write(KernelOp kernel) const {
  Builder builder(kernel.getContext());
  kernel->setAttr(kTileAttr,
                  builder.getDenseI64ArrayAttr({tileRows, tileColumns}));
  if (hasBlocks(division)) {
    kernel->setAttr(kKBlockAttr, builder.getI64IntegerAttr(kBlock));
    kernel->setAttr(kBlockAttr, builder.getI64IntegerAttr(block));
  }
  if (reductionSplit != Schedule().reductionSplit) {
    kernel->setAttr(kReductionSplitAttr,
                    builder.getI64IntegerAttr(reductionSplit));
  }
  if (pairs) {
    kernel->setAttr(kPairsAttr, builder.getUnitAttr());
  }
  kernel->setAttr(kLanesAttr, builder.getI64IntegerAttr(lanes));
  kernel->setAttr(kGrainAttr, builder.getI64IntegerAttr(grain));
}

} // namespace hova
