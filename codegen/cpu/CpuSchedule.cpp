//===- CpuSchedule.cpp - The schedule of a kernel on a CPU ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/CpuSchedule.h"
#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Recipe.h"

using namespace mlir;

namespace hova {

/// Whether loops take rows or panels in blocks.
static bool hasBlocks(Division division) {
  return division == Division::rows || division == Division::columnStrips;
}

FailureOr<CpuSchedule> CpuSchedule::of(KernelOp kernel) {
  ScheduleAttrInterface given = kernel.getScheduleAttr();
  auto schedule = dyn_cast_or_null<CpuScheduleAttr>(given);
  if (given && !schedule) {
    return kernel.emitOpError("expects the schedule of a CPU, "
                              "'#hova_cpu.schedule', got ")
           << given;
  }
  if (!kernel.getUnits() || !schedule) {
    return kernel.emitOpError("has no complete schedule: run assign first");
  }
  if (hasBlocks(divisionOf(kernel)) &&
      (!schedule.getKBlock() || !schedule.getBlock())) {
    return kernel.emitOpError("expects 'k_block' and 'block' in the schedule "
                              "of a kernel whose units are rows or panels, "
                              "got ")
           << schedule;
  }
  if (divisionOf(kernel) == Division::inner &&
      schedule.getTile().columns % CpuFacts::lineElements != 0) {
    return kernel.emitOpError("expects whole lines of ")
           << CpuFacts::lineElements << " columns in the tile of a kernel "
           << "whose units are no rows, got " << schedule;
  }
  auto recipe = dyn_cast_or_null<CpuRecipeOpInterface>(firstOf(kernel));
  if (schedule.getPairs() && !(recipe && recipe.canMultiplyPairs())) {
    return kernel.emitOpError("expects 'pairs' only in the schedule of an "
                              "operation that can multiply pairs, such as an "
                              "attention by softmax that reads bf16, got ")
           << schedule;
  }
  return read(kernel);
}

CpuSchedule CpuSchedule::read(KernelOp kernel) {
  auto chosen = cast<CpuScheduleAttr>(kernel.getScheduleAttr());
  CpuSchedule schedule;
  schedule.division = divisionOf(kernel);
  schedule.tileRows = chosen.getTile().rows;
  schedule.tileColumns = chosen.getTile().columns;
  schedule.lanes = chosen.getLanes();
  schedule.grain = chosen.getGrain();
  schedule.kBlock = chosen.getKBlock().value_or(schedule.kBlock);
  schedule.block = chosen.getBlock().value_or(schedule.block);
  schedule.reductionSplit =
      chosen.getReductionSplit().value_or(schedule.reductionSplit);
  schedule.pairs = chosen.getPairs();
  schedule.matrixUnit = chosen.getMatrixUnit();
  return schedule;
}

void CpuSchedule::write(KernelOp kernel) const {
  auto given = [](int64_t size, bool isGiven) {
    return isGiven ? std::optional<int64_t>(size) : std::nullopt;
  };
  bool blocks = hasBlocks(division);
  kernel.setScheduleAttr(CpuScheduleAttr::get(
      kernel.getContext(), RegisterTile{tileRows, tileColumns}, lanes, grain,
      given(kBlock, blocks), given(block, blocks),
      given(reductionSplit, reductionSplit != CpuSchedule().reductionSplit),
      pairs, matrixUnit));
}

} // namespace hova
