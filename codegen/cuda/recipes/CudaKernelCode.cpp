//===- CudaKernelCode.cpp - The function of one kernel on a GPU -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/CudaKernelCode.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Recipes.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Columns.h"
#include "passes/Units.h"

using namespace mlir;

namespace hova {

/// The stage of a kernel whose tile its blocks compute, the last; null where
/// others stand before it than that of what scales the rows that it reads.
static StageOp stageOf(KernelOp kernel) {
  auto stages = llvm::to_vector(kernel.getBody().getOps<StageOp>());
  if (stages.size() == 1) {
    return stages[0];
  }
  bool isScaled = stages.size() == 2 && stages[0].getComputeOps().size() == 1 &&
                  scalingOf(stages[1].getAnchor()) == stages[0].getAnchor();
  return isScaled ? stages[1] : StageOp();
}

/// Whether tiles have columns of both halves of what `anchor` makes, because
/// something else reads them together.
static bool joinsHalves(Operation *anchor, ArrayRef<Operation *> joined) {
  StageColumns columns(holdsHalves(anchor));
  columns.add(anchor);
  for (Operation *op : joined) {
    // What has columns of its own reads no part of a tile.
    if (columns.find(op)) {
      columns.add(op);
    }
  }
  return columns.joinsHalves();
}

/// The code of a kernel is right under the schedule that its recipe chooses,
/// and under others if that says so.
static LogicalResult checkEdited(KernelOp kernel, Operation *anchor,
                                 ArrayRef<Operation *> joined) {
  auto schedule = cast<CudaScheduleAttr>(kernel.getScheduleAttr());
  CudaScheduleAttr chosen = chooseSchedule(anchor, joined);
  if (!chosen) {
    return failure();
  }
  // Whole rows are what others joined for.
  auto recipe = dyn_cast<CudaRecipeOpInterface>(anchor);
  bool takes = recipe && llvm::none_of(joined, joinsRows) &&
               recipe.takesSchedule(schedule) &&
               llvm::all_of(joined,
                            [&](Operation *op) {
                              int64_t summed = summedColumnsOf(op);
                              return !summed || canHoldSummed(schedule, summed);
                            }) &&
               ((canHoldHalves(schedule) && schedule.getCluster() == 1) ||
                !joinsHalves(anchor, joined));
  if (schedule == chosen || takes) {
    return success();
  }
  return kernel.emitOpError("has no code for a GPU under its schedule, ")
         << schedule << "; the compiler chooses " << chosen;
}

LogicalResult CudaKernelCode::checkSchedule(KernelOp kernel) const {
  if (!isa_and_nonnull<CudaScheduleAttr>(kernel.getScheduleAttr())) {
    return kernel.emitOpError("expects the schedule of a GPU, "
                              "'#hova_cuda.schedule', got ")
           << (kernel.getScheduleAttr() ? Attribute(kernel.getScheduleAttr())
                                        : Attribute());
  }
  StageOp stage = stageOf(kernel);
  if (!stage ||
      !isa<CudaRecipeOpInterface, TileOpInterface>(stage.getAnchor())) {
    return kernel.emitOpError("expects one stage that begins with an operation "
                              "that has a recipe for a GPU, after that of what "
                              "it takes factors of");
  }
  SmallVector<Operation *> ops = stage.getComputeOps();
  for (Operation *op : llvm::drop_begin(ops)) {
    bool joins = (joinsHeads(op) && holdsHeads(stage.getAnchor())) ||
                 (joinsRows(op) && canHoldRows(stage.getAnchor())) ||
                 joinsElements(op) || summedColumnsOf(op);
    if (!joins && !joinsTiles(op) && !isColumnSlice(op)) {
      return op->emitOpError("has no code for a GPU in the kernel of '")
             << stage.getAnchor()->getName() << "'";
    }
  }
  return checkEdited(kernel, stage.getAnchor(), ArrayRef(ops).drop_front());
}

bool CudaKernelCode::holdsHalves(Operation *anchor) const {
  return hova::holdsHalves(anchor);
}

bool CudaKernelCode::sumsColumns(Operation *op) const {
  return summedColumnsOf(op) != 0;
}

int64_t CudaKernelCode::getExecutedMacs(Operation *op) const {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost ? *macsOf(cost) : 0;
}

static Location sequencesLoc(KernelOp kernel) {
  auto name = StringAttr::get(kernel.getContext(), "sequences");
  return NameLoc::get(name, kernel.getLoc());
}

SmallVector<Value>
CudaKernelCode::createStageBuffers(OpBuilder &builder,
                                   const KernelBuffers &buffers,
                                   ArrayRef<ArenaBlock>, int64_t) const {
  KernelOp kernel = buffers.kernel;
  std::optional<SequenceRanges> ranges = SequenceRanges::ofTokens(kernel);
  if (!ranges) {
    return {};
  }
  return {SequenceBufferOp::create(builder, sequencesLoc(kernel),
                                   ranges->tableType(builder.getContext()))};
}

/// Says where the values of a kernel lie, which are its first arguments.
static void setMatrices(GroupEmitter &emitter, const KernelBuffers &buffers,
                        CudaRunAttr run) {
  KernelBuilder &b = emitter.b;
  for (auto [number, value] : llvm::enumerate(buffers.values)) {
    Value matrix = b.argument(number);
    MatrixShape shape = matrixShapeOf(value);
    if (emitter.haveTokenRanges() && shape.columns == 1 &&
        shapeOf(value).back() != 1) {
      // Those of all items follow each other, as the runtime has them.
      matrix = memref::ReinterpretCastOp::create(
          b, MemRefType::get({shape.rows, 1}, getElementTypeOrSelf(matrix)),
          matrix, /*offset=*/0, ArrayRef<int64_t>{shape.rows, 1},
          ArrayRef<int64_t>{1, 1});
    }
    // A block of one sequence has all of it.
    if (run && run.getItemEntries() == 0) {
      matrix = emitter.rowsOfRun(matrix, run.getRowsOf(number));
    }
    emitter.setMatrix(value, matrix);
  }
}

FailureOr<func::FuncOp>
CudaKernelCode::emitFunction(OpBuilder &builder, StringRef name,
                             const KernelBuffers &buffers) const {
  KernelOp kernel = buffers.kernel;
  auto module = cast<ModuleOp>(builder.getBlock()->getParentOp());
  SmallVector<Type> types(buffers.types.begin(), buffers.types.end());
  auto shape = cast<CudaLaunchAttr>(buffers.shape);
  size_t values = types.size();
  std::optional<SequenceRanges> ranges = SequenceRanges::ofTokens(kernel);
  if (ranges) {
    types.push_back(ranges->tableType(builder.getContext()));
  }
  KernelBuilder b(module, name, types, /*coordinates=*/shape.countIndices());
  StageOp stage = stageOf(kernel);
  b.setLoc(stage.getAnchor()->getLoc());
  GroupEmitter emitter(b, cast<CudaScheduleAttr>(kernel.getScheduleAttr()),
                       stage);
  emitter.setMatrices(types.size());
  CudaRunAttr run = shape.getRun();
  if (run && !run.isWhole()) {
    emitter.setRagged();
  }
  if (ranges) {
    b.argument(values).setLoc(sequencesLoc(kernel));
    emitter.setSequences(*ranges, b.argument(values));
  }
  setMatrices(emitter, buffers, run);
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (auto placement = kernel.getInputPlacement(argument.getArgNumber())) {
      emitter.setPlacement(argument, placement);
    }
  }
  emitGroup(stage.getAnchor(), emitter);
  b.setLoc(kernel.getLoc());
  func::FuncOp function = b.finish();
  function->setLoc(kernel.getLoc());
  function.setPrivate();
  // Equal kernels share the function: its buffers have the first one's names.
  nameBuffers(function.getBody().front(), buffers.values);
  return function;
}

} // namespace hova
