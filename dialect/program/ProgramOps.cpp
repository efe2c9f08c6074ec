//===- ProgramOps.cpp - Weights, kernels and launches ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/program/ProgramOps.h"
#include "dialect/Shapes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace hova;

LogicalResult WeightOp::verify() {
  if (getName().empty()) { // C1
    return emitOpError("expects a name");
  }
  return success();
}

LogicalResult ImageWeightOp::verify() {
  WeightLayoutAttrInterface layout = getLayoutAttr();
  if (layout && failed(layout.getPackedShape(
                    shapeOf(getResult()), getElementTypeOrSelf(getResult()),
                    [&] { return emitOpError(); }))) { // C1
    return failure();
  }
  return success();
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() != 2 || !agree(shapeOf(getResult()), {x[1], x[0]})) { // C1
    return emitOpError("expects a matrix and its transpose, got ")
           << shapeText(x) << " and " << shapeText(shapeOf(getResult()));
  }
  return success();
}

LogicalResult BlockDiagonalOp::verify() {
  ArrayRef<int64_t> blocks = shapeOf(getBlocks());
  auto times = [](int64_t a, int64_t b) { return a * b; };
  if (blocks.size() != 3 ||
      !agree(shapeOf(getResult()),
             {combine(blocks[0], blocks[1], times),
              combine(blocks[0], blocks[2], times)})) { // C1
    return emitOpError("expects [heads*in, heads*out] for [heads, in, out] = ")
           << shapeText(blocks) << ", got " << shapeText(shapeOf(getResult()));
  }
  return success();
}

LogicalResult PackOp::verify() {
  Type element = getElementTypeOrSelf(getX());
  FailureOr<SmallVector<int64_t>> shape = getLayoutAttr().getPackedShape(
      shapeOf(getX()), element, [&] { return emitOpError(); });
  if (failed(shape)) { // C1
    return failure();
  }
  if (!agree(shapeOf(getResult()), *shape) ||
      getElementTypeOrSelf(getResult()) != element) { // C2
    return emitOpError("expects ")
           << shapeText(*shape) << " of " << element << " for "
           << shapeText(shapeOf(getX())) << " in the layout " << getLayoutAttr()
           << ", got " << getResult().getType();
  }
  return success();
}

static PlacementAttrInterface placementAt(std::optional<ArrayAttr> placements,
                                          unsigned index) {
  return placements && index < placements->size()
             ? dyn_cast<PlacementAttrInterface>((*placements)[index])
             : PlacementAttrInterface();
}

PlacementAttrInterface KernelOp::getInputPlacement(unsigned index) {
  return placementAt(getInputPlacements(), index);
}
PlacementAttrInterface KernelOp::getResultPlacement(unsigned index) {
  return placementAt(getResultPlacements(), index);
}

static ArrayAttr placementArray(MLIRContext *context,
                                ArrayRef<PlacementAttrInterface> placements) {
  SmallVector<Attribute> all;
  for (PlacementAttrInterface placement : placements) {
    all.push_back(placement ? Attribute(placement) : UnitAttr::get(context));
  }
  return llvm::all_of(placements, [](auto placement) { return !placement; })
             ? ArrayAttr()
             : ArrayAttr::get(context, all);
}

void KernelOp::setPlacements(ArrayRef<PlacementAttrInterface> inputs,
                             ArrayRef<PlacementAttrInterface> results) {
  setInputPlacementsAttr(placementArray(getContext(), inputs));
  setResultPlacementsAttr(placementArray(getContext(), results));
}

BlockArgument KernelOp::addInput(Value input) {
  getInputsMutable().append(input);
  if (std::optional<ArrayAttr> placements = getInputPlacements()) {
    SmallVector<Attribute> all(placements->getValue());
    all.push_back(UnitAttr::get(getContext()));
    setInputPlacementsAttr(ArrayAttr::get(getContext(), all));
  }
  return getBody().front().addArgument(input.getType(), input.getLoc());
}

Value KernelOp::getComputed(unsigned index) {
  Value value = getBody().front().getTerminator()->getOperand(index);
  auto stage = value.getDefiningOp<StageOp>();
  return stage ? stage.getComputed(cast<OpResult>(value).getResultNumber())
               : value;
}

SmallVector<Operation *> StageOp::getComputeOps() {
  return llvm::to_vector(
      llvm::make_pointer_range(getBody().front().without_terminator()));
}

LogicalResult StageOp::verify() {
  Block &body = getBody().front();
  if (body.without_terminator().empty() || body.getNumArguments() != 0) { // C1
    return emitOpError("expects an operation that owns the loops, and no "
                       "arguments");
  }
  OperandRange yielded = body.getTerminator()->getOperands();
  if (yielded.getTypes() != getResultTypes() ||
      llvm::any_of(yielded, [&](Value value) {
        return value.getParentBlock() != &body;
      })) { // C2
    return emitOpError("expects results of the types of what it computes");
  }
  if (getLayouts().size() != getNumResults() ||
      llvm::any_of(getResults(), [&](OpResult result) {
        LayoutAttr layout = getLayout(result.getResultNumber());
        ArrayRef<int64_t> shape = shapeOf(result);
        return layout.getKind() == LayoutKind::rows && !shape.empty() &&
               layout.getSize() < shape.back();
      })) { // C3
    return emitOpError("expects a layout for each result, whose rows do not "
                       "overlap");
  }
  return success();
}

/// Whether `value` is of the type that a placement makes of `type`.
static bool isPlaced(Value value, PlacementAttrInterface placement, Type type) {
  auto source = cast<RankedTensorType>(type);
  if (!placement) {
    return value.getType() == type;
  }
  FailureOr<SmallVector<int64_t>> shape =
      placement.getPlacedShape(source.getShape());
  return succeeded(shape) && value.getType() == source.clone(*shape);
}

LogicalResult KernelOp::verify() {
  auto isShort = [](std::optional<ArrayAttr> placements, size_t count) {
    return placements && placements->size() != count;
  };
  auto results = llvm::seq<unsigned>(0, getNumResults());
  if (isShort(getInputPlacements(), getInputs().size()) ||
      isShort(getResultPlacements(), getNumResults()) ||
      llvm::any_of(results, [&](unsigned index) {
        PlacementAttrInterface placement = getResultPlacement(index);
        return placement && !placement.isPermutation();
      })) { // C3
    return emitOpError("expects a placement for each input and result, and "
                       "permutations for results");
  }
  Block &body = getBody().front();
  if (body.getNumArguments() != getInputs().size() ||
      llvm::any_of(llvm::enumerate(getInputs()), [&](auto input) {
        return !isPlaced(body.getArgument(input.index()),
                         getInputPlacement(input.index()),
                         input.value().getType());
      })) { // C1
    return emitOpError("expects region arguments of the inputs' types");
  }
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValues().size() != getNumResults() ||
      llvm::any_of(results, [&](unsigned index) {
        return !isPlaced(yield.getValues()[index], getResultPlacement(index),
                         getResultTypes()[index]);
      })) { // C2
    return emitOpError("expects the yielded types to be the results'");
  }
  return success();
}

template <typename BufferOp> static LogicalResult verifyBuffer(BufferOp op) {
  if (op.getOffset() % 64 != 0) { // C1
    return op.emitOpError("expects an offset that is a multiple of 64, got ")
           << op.getOffset();
  }
  return success();
}

LogicalResult ArenaBufferOp::verify() { return verifyBuffer(*this); }
LogicalResult ImageBufferOp::verify() { return verifyBuffer(*this); }
LogicalResult TableBufferOp::verify() { return verifyBuffer(*this); }

int64_t ChunkBufferOp::getRowBytes() {
  auto type = cast<MemRefType>(getBuffer().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() != 2 ||
      failed(type.getStridesAndOffset(strides, offset))) {
    return -1;
  }
  return strides[0] * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

LogicalResult ChunkBufferOp::verify() {
  if (getRowBytes() % 64 != 0) { // C1
    return emitOpError("expects a matrix whose rows begin at multiples of 64 "
                       "bytes, got ")
           << getBuffer().getType();
  }
  if (getOffset() % 64 != 0 || getRowBytesBefore() % 64 != 0) { // C2
    return emitOpError("expects places that are multiples of 64 bytes, got ")
           << getOffset() << " and " << getRowBytesBefore();
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto callee = tables.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!callee) { // C1
    return emitOpError("expects a function named ") << getCallee();
  }
  ArrayRef<Type> arguments = callee.getArgumentTypes();
  size_t count = getBuffers().size();
  if (arguments.size() < count ||
      !llvm::equal(getBuffers().getTypes(),
                   arguments.take_front(count))) { // C1
    return emitOpError("expects the buffers to fit the arguments of ")
           << getCallee();
  }
  return getShape().verifyLaunch(*this, arguments.drop_front(count)); // C2
}

void HovaDialect::registerProgramOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/program/ProgramOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/program/ProgramOps.cpp.inc"
