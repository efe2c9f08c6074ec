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
  auto own = dyn_cast_or_null<CpuScheduleAttr>(given);
  if (given && !own) {
    return kernel.emitOpError("expects the schedule of a CPU, "
                              "'#hova_cpu.schedule', got ")
           << given;
  }
  if (!kernel.getUnits() || !own) {
    return kernel.emitOpError("has no complete schedule: run assign first");
  }
  if (hasBlocks(divisionOf(kernel)) && (!own.getKBlock() || !own.getBlock())) {
    return kernel.emitOpError("expects 'k_block' and 'block' in the schedule "
                              "of a kernel whose units are rows or panels, "
                              "got ")
           << own;
  }
  if (divisionOf(kernel) == Division::inner &&
      own.getTile().columns % CpuFacts::lineElements != 0) {
    return kernel.emitOpError("expects whole lines of ")
           << CpuFacts::lineElements << " columns in the tile of a kernel "
           << "whose units are no rows, got " << own;
  }
  auto recipe = dyn_cast_or_null<CpuRecipeOpInterface>(firstOf(kernel));
  if (own.getPairs() && !(recipe && recipe.canMultiplyPairs())) {
    return kernel.emitOpError("expects 'pairs' only in the schedule of an "
                              "operation that can multiply pairs, such as an "
                              "attention by softmax that reads bf16, got ")
           << own;
  }
  return read(kernel);
}

CpuSchedule CpuSchedule::read(KernelOp kernel) {
  auto own = cast<CpuScheduleAttr>(kernel.getScheduleAttr());
  CpuSchedule schedule;
  schedule.division = divisionOf(kernel);
  schedule.tileRows = own.getTile().rows;
  schedule.tileColumns = own.getTile().columns;
  schedule.lanes = own.getLanes();
  schedule.grain = own.getGrain();
  schedule.kBlock = own.getKBlock().value_or(schedule.kBlock);
  schedule.block = own.getBlock().value_or(schedule.block);
  schedule.reductionSplit =
      own.getReductionSplit().value_or(schedule.reductionSplit);
  schedule.pairs = own.getPairs();
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
      pairs));
}

} // namespace hova
