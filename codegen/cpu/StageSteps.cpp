//===- StageSteps.cpp - Stages that runs of few rows take alone -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/StageSteps.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/CpuSchedule.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "passes/tile/KernelStructure.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

/// Bytes of a value, of which there are as many for each of `rows` rows, or a
/// number that no run changes.
static void addBytes(Value value, int64_t rows, StageStep &step) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = llvm::divideCeil(
      type.getNumElements() * type.getElementTypeBitWidth(), 8);
  bool isOfRows =
      type.getRank() > 1 && staticSize(type.getShape().drop_back()) == rows;
  int64_t work = CpuFacts::flopsPerByte * bytes;
  (isOfRows ? step.rowWork : step.fixedWork) += isOfRows ? work / rows : work;
}

static StageStep describe(StageOp stage, const CpuSchedule &schedule,
                          int64_t rows, const CpuFacts &facts) {
  StageStep step;
  int64_t macs = 0;
  for (Operation *op : stage.getComputeOps()) {
    auto cost = dyn_cast<CostOpInterface>(op);
    macs += cost ? *macsOf(cost) : 0;
    for (Value operand : op->getOperands()) {
      if (operand.getParentBlock() != &stage.getBody().front()) {
        addBytes(operand, rows, step);
      }
    }
  }
  for (Value result : stage.getResults()) {
    addBytes(result, rows, step);
  }
  step.rowWork += 2 * macs / rows;
  Operation *anchor = stage.getAnchor();
  int64_t width = shapeOf(anchor->getResult(0)).back();
  step.grain = macs > 0 ? schedule.grain
                        : llvm::divideCeil(facts.leastChunkElements, width);
  auto product = dyn_cast<LinearOp>(anchor);
  std::optional<int64_t> strip =
      product ? columnStripOf(product) : std::nullopt;
  if (strip && width > *strip) {
    int64_t depth = shapeOf(product.getX()).back();
    step.strips = llvm::divideCeil(width, *strip);
    step.leastRows = llvm::divideCeil(facts.leastColumnMacs, depth * width);
    step.part = llvm::divideCeil(facts.leastChunkMacs, depth * *strip);
  }
  return step;
}

SmallVector<int64_t> stageStepsOf(KernelOp kernel) {
  // Figures that do not depend on the level.
  CpuFacts facts(/*avx512=*/false, /*oneFma=*/false, /*hasUnit=*/false);
  Operation *first = firstOf(kernel);
  if (!first || !SequenceRanges::readFrom(kernel) ||
      divisionOf(kernel) != Division::rows || !kernel.getUnits() ||
      extentOf(first->getResult(0)) == Extent::fixed) {
    return {};
  }
  CpuSchedule schedule = CpuSchedule::read(kernel);
  int64_t rows = kernel.getUnits()->count();
  // Where the largest run has few rows, all do, and `fuse` has seen it. What a
  // run takes stage by stage it takes in one block.
  if (rows < facts.fewRows || schedule.block < facts.fewRows) {
    return {};
  }
  // LLVM configures tiles once for a function, before any stage; where stages
  // stand behind conditions it has not computed their shapes by then.
  if (schedule.matrixUnit) {
    return {};
  }
  SmallVector<int64_t> numbers;
  bool divides = false;
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    StageStep step = describe(stage, schedule, rows, facts);
    divides |= step.strips > 0 && step.leastRows < facts.fewRows;
    numbers.append({step.strips, step.leastRows, step.part, step.grain,
                    step.rowWork, step.fixedWork});
  }
  return divides ? numbers : SmallVector<int64_t>();
}

} // namespace hova
