//===- AssignCudaSchedule.cpp - Tiles and layouts for a GPU ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Recipes choose how their kernels are scheduled. A kernel is one stage: what
// joined the anchor is computed with its tile. What scales the rows that it
// reads stands before it.

#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/schedule/CapturedTables.h"
#include "codegen/cuda/schedule/WeightLayouts.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Columns.h"
#include "passes/Units.h"
#include "passes/Verdict.h"
#include "passes/tile/Arena.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hova-assign-cuda-schedule"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ASSIGNCUDASCHEDULEPASS
#include "codegen/cuda/Passes.h.inc"

//===----------------------------------------------------------------------===//
// The stage
//===----------------------------------------------------------------------===//

/// Whether no gap may lie between the rows of `value`: it is an output of the
/// program, or rows of one, or it is reshaped.
static bool mustBeDense(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp, ReshapeOp>(user) ||
           (isa<AssembleOpInterface>(user) && mustBeDense(user->getResult(0)));
  });
}

/// The columns of a value as a matrix.
static int64_t columnsOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() ? type.getShape().back() : 1;
}

/// The layout of result `number` of the kernel, whose value is `computed`.
static LayoutAttr layoutOfResult(KernelOp kernel, unsigned number,
                                 Value computed) {
  auto type = cast<RankedTensorType>(computed.getType());
  int64_t width = columnsOf(computed);
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  Value result = kernel.getResult(number);
  bool isDense = mustBeDense(result) || isPacked(result);
  // Another value may begin at any of its rows.
  bool sharesRows =
      llvm::any_of(result.getUsers(),
                   llvm::IsaPred<AssembleOpInterface, RowViewOpInterface>);
  int64_t rowBytes =
      sharesRows ? kArenaAlignment : alignmentOfRows(width * bytes);
  return LayoutAttr::get(kernel.getContext(), LayoutKind::rows,
                         isDense ? width
                                 : llvm::alignTo(width, rowBytes / bytes));
}

/// Columns of an input are an address, unless they leave the kernel.
static bool isViewOfInput(Operation *op) {
  if (!isColumnSlice(op) ||
      llvm::any_of(op->getUsers(), llvm::IsaPred<YieldOp>)) {
    return false;
  }
  Operation *source = op->getOperand(0).getDefiningOp();
  return !source || isViewOfInput(source);
}

/// What scales the rows that `anchor` reads is a stage of its own, of which
/// nothing but factors is computed.
static void formScaling(Operation *scaling, Operation *anchor) {
  OpBuilder builder(anchor);
  Value scaled = scaling->getResult(0);
  int64_t width = shapeOf(scaled).back();
  auto layout = LayoutAttr::get(builder.getContext(), LayoutKind::rows, width);
  auto stage = StageOp::create(builder, scaling->getLoc(), scaled.getType(),
                               builder.getArrayAttr(layout));
  builder.createBlock(&stage.getBody());
  auto end = YieldOp::create(builder, stage.getLoc(), scaled);
  scaling->moveBefore(end);
  anchor->setOperand(0, stage.getResult(0));
}

/// Makes all operations of a kernel but views its one stage, after that of what
/// scales the rows that `anchor` reads, which may be null.
static void formStages(KernelOp kernel, Operation *anchor, Operation *scaling) {
  Block &body = kernel.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator()) {
    if (!isViewOfInput(&op) && &op != scaling) {
      ops.push_back(&op);
    }
  }
  if (scaling) {
    formScaling(scaling, anchor);
  }
  OpBuilder builder(yield);
  SmallVector<Value> values(yield.getValues());
  SmallVector<Attribute> layouts;
  for (auto [number, value] : llvm::enumerate(values)) {
    layouts.push_back(layoutOfResult(kernel, number, value));
  }
  auto stage = StageOp::create(builder, ops.front()->getLoc(),
                               TypeRange(ValueRange(values)),
                               builder.getArrayAttr(layouts));
  builder.createBlock(&stage.getBody());
  auto end = YieldOp::create(builder, stage.getLoc(), values);
  for (Operation *op : ops) {
    op->moveBefore(end);
  }
  yield->setOperands(stage.getResults());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static bool readsPlaced(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isColumnSlice(op)) {
    return llvm::all_of(op->getUses(), readsPlaced);
  }
  auto recipe = dyn_cast<CudaRecipeOpInterface>(op);
  return recipe
             ? recipe.getReads(use.getOperandNumber()) == OperandReads::placed
             : joinsTiles(op);
}

/// Rows in another order are read by what asks for each by its number, and are
/// written in order.
static LogicalResult checkPlacements(KernelOp kernel) {
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    PlacementAttrInterface placement =
        kernel.getInputPlacement(argument.getArgNumber());
    for (OpOperand &use : argument.getUses()) {
      if (placement && (!placement.isPermutation() || !readsPlaced(use))) {
        return use.getOwner()->emitOpError(
            "reads rows in an order of their own, for which there is no code "
            "for a GPU yet; a CPU runs it (--target=cpu)");
      }
    }
  }
  for (unsigned index = 0; index < kernel.getNumResults(); ++index) {
    if (kernel.getResultPlacement(index)) {
      return firstOf(kernel)->emitOpError(
          "writes rows in an order of their own, for which there is no code "
          "for a GPU yet; a CPU runs it (--target=cpu)");
    }
  }
  return success();
}

/// Kernels count the bytes from where a value begins in 32 bits with a sign.
static LogicalResult checkSizes(KernelOp kernel) {
  auto check = [](Operation *op, StringRef does, Value value,
                  int64_t rowLength) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    int64_t width = columnsOf(value);
    int64_t rows = width ? type.getNumElements() / width : 0;
    if (rows * rowLength * bytes <= kMostMatrixBytes) {
      return success();
    }
    return op->emitOpError("has code for a GPU for values below 2 GiB, and ")
           << does << " " << rows << " rows of " << rowLength * bytes
           << " bytes; a CPU runs it (--target=cpu)";
  };
  Block &body = kernel.getBody().front();
  for (Value value : body.getArguments()) {
    // Rows of what another kernel writes may be longer: it is checked there.
    if (failed(check(firstOf(kernel), "reads", value, columnsOf(value)))) {
      return failure();
    }
  }
  for (auto [number, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    Operation *writer = value.getDefiningOp();
    LayoutAttr layout = layoutOfResult(kernel, number, value);
    if (failed(check(writer ? writer : firstOf(kernel), "writes", value,
                     layout.getSize()))) {
      return failure();
    }
  }
  return success();
}

/// Sequences and heads are recipes' to count (`checkSequences`), and values
/// below 2 GiB have no more rows than a grid has blocks: columns are left.
static LogicalResult checkGrid(Operation *anchor, CudaScheduleAttr schedule) {
  int64_t blocks = gridOf(anchor, schedule).y;
  if (blocks <= kMostBlocksYZ) {
    return success();
  }
  return anchor->emitOpError("has code for a GPU for at most ")
         << kMostBlocksYZ << " blocks of " << schedule.getColumns()
         << " columns beside each other, and its result has " << blocks
         << "; a CPU runs it (--target=cpu)";
}

namespace {
struct AssignCudaSchedulePass final
    : impl::AssignCudaSchedulePassBase<AssignCudaSchedulePass> {
  using Base::Base;

  static LogicalResult assignKernel(KernelOp kernel) {
    Operation *first = tileAnchorOf(kernel);
    if (!first) {
      return success(); // what `tile` rejects
    }
    if (failed(checkPlacements(kernel)) || failed(checkSizes(kernel))) {
      return failure();
    }
    Operation *scaling = scalingOf(first);
    SmallVector<Operation *> joined;
    for (Operation &op : kernel.getBody().getOps()) {
      if (&op != first && &op != scaling) {
        joined.push_back(&op);
      }
    }
    CudaScheduleAttr schedule = chooseSchedule(first, joined);
    if (!schedule || failed(checkGrid(first, schedule))) {
      return failure();
    }
    if (!kernel.getUnits()) {
      kernel.setUnitsAttr(unitsOf(first));
    }
    formStages(kernel, first, scaling);
    kernel.setScheduleAttr(schedule);
    LDBG() << kernel.getName() << ": " << schedule;
    auto recipe = dyn_cast<CudaRecipeOpInterface>(first);
    if (auto counts = recipe ? recipe.countScoreTiles(schedule)
                             : std::optional<ScoreTileCounts>()) {
      writeScoreTiles(first, *counts);
    }
    // A grid has limits.
    return success(schedule.getLaunchShape(kernel) != nullptr);
  }

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal()) {
      return;
    }
    alignCapturedTables(main);
    WalkResult assigned = main.walk([&](KernelOp kernel) {
      if (kernel.getScheduleAttr()) {
        return WalkResult::advance();
      }
      WalkResult known = kernel.walk([](Operation *op) {
        if (Type type = firstDynamicType(op)) {
          op->emitOpError("needs static shapes to be code for a GPU, got ")
              << type;
          return WalkResult::interrupt();
        }
        return WalkResult::advance();
      });
      return known.wasInterrupted() || failed(assignKernel(kernel))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (assigned.wasInterrupted()) {
      return signalPassFailure();
    }
    assignCudaWeightLayouts(main);
  }
};
} // namespace
} // namespace hova
