//===- PlacementOps.cpp - Rearranged rows, and what windows need ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/placement/PlacementOps.h"
#include "dialect/Shapes.h"

using namespace mlir;
using namespace hova;

/// The shape that a placement gives, or an error.
static FailureOr<SmallVector<int64_t>>
placedShape(Operation *op, PlacementAttrInterface placement,
            ArrayRef<int64_t> source) {
  FailureOr<SmallVector<int64_t>> shape = placement.getPlacedShape(source);
  if (failed(shape)) {
    op->emitOpError("expects a tensor that ")
        << placement << " fits, got " << shapeText(source);
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// RearrangeOp
//===----------------------------------------------------------------------===//

LogicalResult RearrangeOp::verify() {
  FailureOr<SmallVector<int64_t>> shape =
      placedShape(*this, getPlacement(), shapeOf(getX()));
  if (failed(shape)) { // C1
    return failure();
  }
  if (!agree(shapeOf(getResult()), *shape) ||
      getElementTypeOrSelf(getX()) != getElementTypeOrSelf(getResult())) { // C1
    return emitOpError("expects a result of shape ")
           << shapeText(*shape) << " and the operand's type, got "
           << getResult().getType();
  }
  return success();
}

IterationSpace RearrangeOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  axes.push_back(builder.parallel("column", shapeOf(getResult()).back()));
  builder.result(axes); // x is read where the placement says
  return builder.build();
}

//===----------------------------------------------------------------------===//
// RowTableOp
//===----------------------------------------------------------------------===//

static ParseResult parseSizes(OpAsmParser &parser, DenseI64ArrayAttr &sizes) {
  SmallVector<int64_t> values;
  if (parser.parseCommaSeparatedList(
          [&] { return parser.parseInteger(values.emplace_back()); })) {
    return failure();
  }
  sizes = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

static void printSizes(OpAsmPrinter &printer, Operation *,
                       DenseI64ArrayAttr sizes) {
  llvm::interleaveComma(sizes.asArrayRef(), printer);
}

LogicalResult RowTableOp::verify() {
  FailureOr<SmallVector<int64_t>> shape =
      placedShape(*this, getPlacement(), getSource());
  if (failed(shape)) { // C1
    return failure();
  }
  int64_t rows =
      staticSize(ArrayRef(*shape).drop_back()) * getPlacement().getSegments();
  if (ShapedType::isDynamicShape(getSource()) ||
      !agree(shapeOf(getResult()), {rows})) { // C1
    return emitOpError("expects a static source and ")
           << rows << " rows, got " << getResult().getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// WindowBiasOp, WindowOffsetsOp, WindowClassesOp
//===----------------------------------------------------------------------===//

LogicalResult WindowBiasOp::verify() {
  WindowAttr window = getWindow();
  int64_t tokens = window.getHeight() * window.getWidth(), heads = 1;
  if (getTable()) {
    ArrayRef<int64_t> table = shapeOf(getTable());
    int64_t rows = (2 * window.getHeight() - 1) * (2 * window.getWidth() - 1);
    if (table.size() != 2 || !agree(table[0], rows)) { // C1
      return emitOpError("expects a table of ")
             << rows << " rows, got " << shapeText(table);
    }
    heads = table[1];
  }
  SmallVector<int64_t> expected = {window.countClasses(), heads, tokens,
                                   tokens};
  if (!agree(shapeOf(getResult()), expected)) { // C2
    return emitOpError("expects a result of shape ")
           << shapeText(expected) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  const APFloat &maskValue = getMaskValue();
  if (!maskValue.isFinite() &&
      !(maskValue.isInfinity() && maskValue.isNegative())) { // C3
    return emitOpError("expects a mask_value that is finite or -inf, got ")
           << maskValue.convertToDouble();
  }
  return success();
}

LogicalResult WindowOffsetsOp::verify() {
  ArrayRef<int64_t> reference = getReference();
  if (reference.size() != 2 || reference[0] < 1 || reference[1] < 1) { // C1
    return emitOpError("expects a reference of two positive sizes, got ")
           << shapeText(reference);
  }
  WindowAttr window = getWindow();
  SmallVector<int64_t> expected = {
      (2 * window.getHeight() - 1) * (2 * window.getWidth() - 1), 2};
  if (!agree(shapeOf(getResult()), expected)) { // C2
    return emitOpError("expects a result of shape ")
           << shapeText(expected) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  return success();
}

LogicalResult WindowClassesOp::verify() {
  if (!agree(shapeOf(getResult()), {getWindow().countWindows()})) { // C1
    return emitOpError("expects ") << getWindow().countWindows()
                                   << " windows, got " << getResult().getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

StringRef RearrangeOp::getSiteKind() { return "rearrangement"; }

/// What is only moved is a copy of what others have made.
bool RearrangeOp::isResultIntermediate() { return true; }

void HovaDialect::registerPlacementOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/placement/PlacementOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/placement/PlacementOps.cpp.inc"
