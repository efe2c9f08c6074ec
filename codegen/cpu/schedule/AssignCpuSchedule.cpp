//===- AssignCpuSchedule.cpp - Tiles, grains and panels for a CPU ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses by the facts of CpuFacts.h; Stages.cpp divides kernels into stages
// and gives layouts to what they compute. Rows are divided among threads before
// anything else, so that whole-row operations need no barrier; a chunk is large
// enough for the weights that it reads to pay.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/CpuSchedule.h"
#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/schedule/Stages.h"
#include "codegen/cpu/schedule/WeightLayouts.h"
#include "dialect/Ranges.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/score/ScoreForm.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Columns.h"
#include "passes/Verdict.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hova-assign-cpu-schedule"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ASSIGNCPUSCHEDULEPASS
#include "codegen/cpu/Passes.h.inc"

//===----------------------------------------------------------------------===//
// Division among threads
//===----------------------------------------------------------------------===//

/// Rows of a product that a thread takes at least. Every thread reads all
/// weights, so where there are enough rows a chunk is several tiles.
static int64_t chooseRows(int64_t rows, const CpuFacts &facts) {
  int64_t tile = facts.productTile.rows, chunk = facts.leastChunkTiles * tile;
  if (rows >= 2 * chunk) {
    return chunk;
  }
  return rows >= 2 * tile ? tile : std::max<int64_t>(tile / 2, 1);
}

/// Panels that a thread takes at least where threads divide columns.
static int64_t choosePanels(Operation *op, const CpuFacts &facts) {
  int64_t rows = staticSize(shapeOf(op->getResult(0)).drop_back());
  int64_t macs = rows * shapeOf(op->getOperand(0)).back() * facts.panelColumns;
  return llvm::divideCeil(facts.leastChunkMacs, macs);
}

/// Units that a thread takes at least.
static int64_t chooseGrain(KernelOp kernel, const CpuFacts &facts) {
  Operation *first = firstOf(kernel);
  if (divisionOf(kernel) == Division::columnStrips) {
    return choosePanels(first, facts);
  }
  ArrayRef<int64_t> shape = shapeOf(first->getResult(0));
  bool hasProduct = false;
  kernel.walk(
      [&](CostOpInterface op) { hasProduct |= *op.getLinearMacs() > 0; });
  return hasProduct ? chooseRows(staticSize(shape.drop_back()), facts)
                    : llvm::divideCeil(facts.leastChunkElements,
                                       shape.empty() ? 1 : shape.back());
}

//===----------------------------------------------------------------------===//
// Exactness
//===----------------------------------------------------------------------===//

/// Whether a product of the kernel adds up more than `most` f32 products.
/// Rounding operands to 16 bits costs so much that the order of a sum does not
/// show.
static bool sumsMoreThan(int64_t most, KernelOp kernel) {
  return llvm::any_of(kernel.getBody().front().getOps<LinearOp>(),
                      [most](LinearOp op) {
                        return getElementTypeOrSelf(op.getX()).isF32() &&
                               getElementTypeOrSelf(op.getWeight()).isF32() &&
                               shapeOf(op.getX()).back() > most;
                      });
}

/// Products of pairs of bf16 make the scores, and round what becomes of them:
/// a function of a score needs few digits more than bf16 has, unless a jump is
/// computed from it.
static void allowCoarseTangents(KernelOp kernel) {
  kernel.walk([](math::TanhOp op) {
    bool isScore = isa<ScoreYieldOp>(op->getBlock()->getTerminator());
    if (!isScore ||
        !ScoreForm(ScoreRegion(*op->getParentRegion())).isExact(op)) {
      op.setFastmath(arith::FastMathFlags::afn);
    }
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct AssignCpuSchedulePass final
    : impl::AssignCpuSchedulePassBase<AssignCpuSchedulePass> {
  using Base::Base;

  /// The panels are those of the layout that is chosen here. A kernel that was
  /// written without units has those of its first operation.
  static void assignUnits(KernelOp kernel, const CpuFacts &facts) {
    Operation *first = firstOf(kernel);
    if (divisionOf(kernel) == Division::sequences) {
      return;
    }
    if (divisionOf(kernel) == Division::columnStrips) {
      int64_t columns = shapeOf(first->getResult(0)).back();
      kernel.setUnitsAttr(columnStripUnits(
          kernel.getContext(), llvm::divideCeil(columns, facts.panelColumns)));
    } else if (!kernel.getUnits()) {
      kernel.setUnitsAttr(unitsOf(first));
    }
  }

  /// Says of every product that could be one of the matrix unit whether it is;
  /// true if one is.
  static bool judgeUnit(KernelOp kernel) {
    bool isUsed = false;
    kernel.walk([&](CpuRecipeOpInterface op) {
      if (std::optional<Verdict> verdict = op.judgeUnit()) {
        writeVerdict(op, "hova-assign-cpu-schedule", *verdict);
        isUsed |= verdict->fired;
      }
    });
    return isUsed;
  }

  /// Tiles, grains and buffers depend on sizes.
  static WalkResult refuseUnknownSizes(Operation *op) {
    if (Type type = firstDynamicType(op)) {
      op->emitOpError("needs static shapes to be code for a CPU, got ") << type;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  }

  static void assignSequences(KernelOp kernel, CpuSchedule schedule,
                              const CpuFacts &facts) {
    schedule.tileRows = facts.sequenceTile.rows;
    schedule.tileColumns = facts.sequenceTile.columns;
    schedule.lanes = schedule.tileColumns;
    int64_t macs = 0, units = kernel.getUnits()->count();
    for (auto op : kernel.getBody().front().getOps<CostOpInterface>()) {
      macs += *macsOf(op);
    }
    schedule.grain = llvm::divideCeil(facts.leastChunkMacs,
                                      std::max<int64_t>(macs / units, 1));
    formStages(kernel, facts);
    schedule.write(kernel);
  }

  void assignKernel(KernelOp kernel, const CpuFacts &facts) {
    Operation *first = firstOf(kernel);
    if (!first) {
      return; // what `tile` rejects
    }
    CpuSchedule schedule;
    schedule.lanes = facts.rowLanes;
    schedule.division = divisionOf(kernel);
    bool isInner = schedule.division == Division::inner;
    assignUnits(kernel, facts);
    if (schedule.division == Division::sequences) {
      return assignSequences(kernel, schedule, facts);
    }
    RegisterTile tile = isInner ? facts.attentionTile : facts.productTile;
    schedule.tileRows = tile.rows;
    schedule.tileColumns = tile.columns;
    if (isInner) {
      // Without an instruction for them shifts and masks cost what they save.
      auto recipe = dyn_cast<CpuRecipeOpInterface>(first);
      schedule.pairs = bf16 && recipe && recipe.canMultiplyPairs();
      schedule.matrixUnit = facts.hasUnit && judgeUnit(kernel);
      if (schedule.matrixUnit && schedule.pairs) {
        // All products of an attention by pairs are the unit's, and those of
        // others are vectors' too, whose tiles are of registers.
        schedule.tileRows = MatrixUnit::blockRows;
      }
      if (schedule.pairs) {
        allowCoarseTangents(kernel);
      }
      formStages(kernel, facts);
      schedule.write(kernel);
      kernel.walk([&](CpuRecipeOpInterface op) {
        if (auto counts = op.countScoreTiles(schedule)) {
          writeScoreTiles(op, *counts);
        }
      });
      return;
    }
    schedule.matrixUnit = facts.hasUnit && judgeUnit(kernel);
    schedule.kBlock = facts.kBlock;
    schedule.block = facts.groupRows;
    if (sumsMoreThan(facts.reductionSplit, kernel)) {
      schedule.reductionSplit = facts.reductionSplit;
    }
    formStages(kernel, facts);
    schedule.grain = chooseGrain(kernel, facts);
    if (SequenceRanges::readFrom(kernel)) {
      // Runs of few rows divide these, too, in stages without products whose
      // columns they divide.
      schedule.grain =
          std::min(schedule.grain, std::max<int64_t>(schedule.tileRows / 2, 1));
    }
    schedule.write(kernel);
  }

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal()) {
      return;
    }
    CpuFacts facts(avx512, oneFma, matrixUnit);
    WalkResult assigned = main.walk([&](KernelOp kernel) {
      if (kernel.getScheduleAttr()) {
        return WalkResult::advance();
      }
      WalkResult known = kernel.walk(refuseUnknownSizes);
      if (!known.wasInterrupted()) {
        assignKernel(kernel, facts);
        LDBG() << kernel.getName() << ": " << kernel.getScheduleAttr();
      }
      return known;
    });
    if (assigned.wasInterrupted()) {
      return signalPassFailure();
    }
    assignCpuWeightLayouts(main, facts);
  }
};
} // namespace
} // namespace hova
