//===- CheckKernels.cpp - What `tile` relies on ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each of these mistakes would otherwise leave an output unwritten or rows
// uncomputed, and nobody would notice.

#include "passes/tile/CheckKernels.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Columns.h"
#include "passes/RowTables.h"
#include "passes/Units.h"
#include "passes/tile/KernelStructure.h"

using namespace mlir;

namespace hova {

static LogicalResult checkShape(Operation *op, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape() || type.getRank() == 0 ||
      type.getNumElements() == 0) {
    return op->emitOpError("needs static shapes with rows and columns, got ")
           << type;
  }
  return success();
}

/// Threads that divide strips of columns read whole rows of inputs alone: one
/// product, its column groups and what is element-wise on its tiles.
static LogicalResult checkColumns(KernelOp kernel) {
  bool isFirst = true;
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    for (Operation *op : stage.getComputeOps()) {
      bool isRest = op != stage.getAnchor();
      if (isRest ? !joinsTiles(op) && !isa<SliceOp>(op)
                 : !isFirst || !isa<LinearOp>(op)) {
        return op->emitOpError("is not part of the one product of a kernel "
                               "that divides strips of columns");
      }
    }
    isFirst = false;
  }
  return success();
}

/// Results of a kernel have rows, and what passes between its stages the layout
/// of its units.
static LogicalResult checkLayouts(StageOp stage, Division division) {
  llvm::SmallDenseSet<std::pair<Value, LayoutKind>> seen;
  for (OpResult result : stage.getResults()) {
    LayoutKind kind = stage.getLayout(result.getResultNumber()).getKind();
    Value computed = stage.getComputed(result.getResultNumber());
    if (!seen.insert({computed, kind}).second) {
      return stage.emitOpError("expects a value once in each layout, got "
                               "result ")
             << result.getResultNumber() << " again";
    }
    for (Operation *user : result.getUsers()) {
      bool inColumns = division == Division::sequences && !isa<YieldOp>(user);
      LayoutKind wanted =
          inColumns ? LayoutKind::token_columns : LayoutKind::rows;
      if (kind != wanted) {
        return stage.emitOpError("expects the layout '")
               << stringifyLayoutKind(wanted) << "' of result "
               << result.getResultNumber() << ", got '"
               << stringifyLayoutKind(kind) << "'";
      }
    }
  }
  return success();
}

/// An operation's tiles are its stage's, so its columns must be of the
/// anchor's, or its parts those of the anchor's units.
static LogicalResult checkStage(StageOp stage, const KernelCode &code) {
  StageColumns columns(code.holdsHalves(stage.getAnchor()));
  for (Operation *op : stage.getComputeOps()) {
    if (op != stage.getAnchor() &&
        (keepsUnits(stage.getAnchor(), op) || code.sumsColumns(op))) {
      continue; // it has columns of its own
    }
    if (!columns.find(op)) {
      return op->emitOpError("does not compute columns of its stage's first "
                             "operation");
    }
    columns.add(op);
  }
  return success();
}

/// In how many blocks the units of a kernel that begins with `op` may divide a
/// dim besides.
static int64_t mostBlocks(Operation *op) {
  auto structured = dyn_cast<StructuredOpInterface>(op);
  if (!structured) {
    return 1;
  }
  IterationSpace space = structured.getIterationSpace();
  return space.blockDim ? space.dims[*space.blockDim].size : 1;
}

/// The units are as many as the operations have: rows of the results, strips of
/// the product's weight, or what the one operation divides by itself.
static LogicalResult checkUnits(KernelOp kernel) {
  Operation *first = firstOf(kernel);
  if (!kernel.getUnits() || !first) {
    return success(); // which other checks reject
  }
  int64_t units = kernel.getUnits()->count();
  if (divisionOf(kernel) == Division::sequences) {
    int64_t sequences = shapeOf(first->getResult(0)).front();
    if (sequences % units != 0) {
      return kernel.emitOpError("expects groups of ")
             << sequences << " sequences that are alike, got " << units;
    }
    return success();
  }
  if (divisionOf(kernel) != Division::columnStrips) {
    UnitsAttr divided = unitsOf(first);
    // Blocks that an operation has by itself are among its own units.
    bool divides = divided && divided.getSizes().size() <
                                  kernel.getUnits()->getSizes().size();
    int64_t blocks = divides ? blocksOf(*kernel.getUnits()) : 1;
    if (blocks > mostBlocks(first)) {
      return kernel.emitOpError("expects at most ")
             << mostBlocks(first) << " blocks of the dim that its operation "
             << "may divide besides its units, got " << blocks;
    }
    if (!divided || divided.count() * blocks != units) {
      return kernel.emitOpError("expects as many units as its operations "
                                "have, ")
             << (divided ? divided.count() * blocks : 0) << ", got " << units;
    }
    return success();
  }
  auto product = dyn_cast_or_null<LinearOp>(first);
  auto strip = product ? columnStripOf(product) : std::nullopt;
  int64_t columns = product ? shapeOf(product.getResult()).back() : 0;
  int64_t strips = strip ? llvm::divideCeil(columns, *strip) : units;
  if (units != strips) {
    return kernel.emitOpError("expects ")
           << strips << " strips as its product's weight, got " << units;
  }
  return success();
}

/// What divides inner dims stands alone, unless threads divide whole sequences;
/// operations of other kernels share their rows.
static LogicalResult checkBody(KernelOp kernel, const KernelCode &code) {
  Division division = divisionOf(kernel);
  int64_t rows = 0;
  for (Operation &member : kernel.getBody().front().without_terminator()) {
    auto stage = dyn_cast<StageOp>(member);
    if (!stage && !isKernelView(&member)) {
      return member.emitOpError("belongs to no stage: run assign first");
    }
    if (!stage) {
      if (failed(checkShape(&member, member.getResult(0)))) {
        return failure();
      }
      continue;
    }
    for (Operation *op : stage.getComputeOps()) {
      if (failed(checkShape(op, op->getResult(0)))) {
        return failure();
      }
      int64_t rowsOfOp = staticSize(shapeOf(op->getResult(0)).drop_back());
      bool isAlone =
          division != Division::sequences &&
          (division == Division::inner || divisionOf(op) == Division::inner) &&
          !keepsUnits(stage.getAnchor(), op);
      if (rows != 0 && (isAlone || rowsOfOp != rows)) {
        return op->emitOpError(
            "shares a kernel with operations of other units");
      }
      rows = rowsOfOp;
    }
  }
  if (failed(checkUnits(kernel))) {
    return failure();
  }
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    if (failed(checkStage(stage, code)) ||
        failed(checkLayouts(stage, division))) {
      return failure();
    }
  }
  return division == Division::columnStrips ? checkColumns(kernel) : success();
}

/// Every result is computed, once: none is an argument handed through.
static LogicalResult checkResults(Operation *terminator, Operation *blame) {
  llvm::SmallPtrSet<Value, 8> seen;
  for (Value value : terminator->getOperands()) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<ImageWeightOp, ReshapeOp, RowViewOpInterface>(op) ||
        !seen.insert(value).second) {
      return blame->emitOpError("expects results that it computes, each once");
    }
  }
  return success();
}

/// The layout of what a kernel computes. Its stages are checked.
static LayoutAttr layoutOfResult(OpResult result) {
  auto kernel = cast<KernelOp>(result.getOwner());
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  return layoutOf(yield.getValues()[result.getResultNumber()]);
}

/// An output is dense, and so are the parts of one, and what is reshaped; parts
/// of another value have one layout.
static LogicalResult checkPlaces(Value whole, Operation *terminator) {
  SmallVector<Value> values = {whole};
  if (auto assembly = whole.getDefiningOp<AssembleOpInterface>()) {
    values = assembly->getOperands();
  }
  bool isOutput = llvm::is_contained(whole.getUsers(), terminator);
  bool isReshaped = llvm::any_of(whole.getUsers(), llvm::IsaPred<ReshapeOp>);
  std::optional<int64_t> stride;
  if (isOutput || isReshaped) {
    stride = shapeOf(whole).back();
  }
  for (Value value : values) {
    auto result = cast<OpResult>(value);
    int64_t size = layoutOfResult(result).getSize();
    if (stride.value_or(size) != size) {
      return result.getOwner()->emitOpError("expects rows of ")
             << *stride << " elements for result " << result.getResultNumber()
             << (isOutput     ? ", which is an output"
                 : isReshaped ? ", which is reshaped"
                              : ", which is a part")
             << ", got " << size;
    }
    stride = size;
  }
  return success();
}

/// Whether kernels write the parts of what `op` assembles where they stand in
/// it, each once, or what `op` reshapes, or has rows of.
static bool isWrittenInPlace(Operation *op) {
  if (auto view = dyn_cast<RowViewOpInterface>(op)) {
    Value source = op->getOperand(0);
    return view.getSourceRows() &&
           isa_and_nonnull<KernelOp, AssembleOpInterface, ReshapeOp,
                           RowViewOpInterface>(source.getDefiningOp()) &&
           llvm::none_of(source.getUsers(), [](Operation *user) {
             return user->hasTrait<OpTrait::IsTerminator>();
           });
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    return reshape.getX().getDefiningOp<KernelOp>() != nullptr;
  }
  auto assembly = dyn_cast<AssembleOpInterface>(op);
  llvm::SmallDenseSet<Value> seen;
  return assembly && llvm::all_of(op->getOpOperands(), [&](OpOperand &part) {
           return part.get().getDefiningOp<KernelOp>() &&
                  assembly.getOperandRows(part.getOperandNumber()) &&
                  seen.insert(part.get()).second;
         });
}

LogicalResult checkKernels(func::FuncOp main, const KernelCode &code) {
  Block &block = main.getBody().front();
  for (Operation &op : block.without_terminator()) {
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel && !isa<ImageWeightOp>(op) && !isWrittenInPlace(&op)) {
      return op.emitOpError("belongs to no kernel: run fuse first");
    }
    if (kernel &&
        (failed(checkBody(kernel, code)) || failed(checkRowTables(kernel)) ||
         failed(
             checkResults(kernel.getBody().front().getTerminator(), kernel)))) {
      return failure();
    }
  }
  for (Operation &op : block.without_terminator()) {
    for (Value value : op.getResults()) {
      bool isComputed = !isa<ImageWeightOp, ReshapeOp, RowViewOpInterface>(op);
      bool isPart =
          llvm::any_of(value.getUsers(), llvm::IsaPred<AssembleOpInterface>);
      if (isComputed && !isPart &&
          failed(checkPlaces(value, block.getTerminator()))) {
        return failure();
      }
    }
  }
  for (BlockArgument argument : main.getArguments()) {
    if (failed(checkShape(main, argument))) {
      return failure();
    }
  }
  return checkResults(block.getTerminator(), main);
}

} // namespace hova
