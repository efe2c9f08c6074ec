//===- Schedule.cpp - The attributes of a kernel's schedule ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Schedule.h"

using namespace mlir;

namespace hova {

/// Whether loops take rows or panels in blocks.
static bool hasBlocks(Division division) {
  return division == Division::rows || division == Division::panels;
}

FailureOr<Schedule> Schedule::of(KernelOp kernel) {
  auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>(kTileAttr);
  if (!kernel.getUnits() || !tile || tile.size() != 2) {
    return kernel.emitOpError("has no complete schedule: run assign first");
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
