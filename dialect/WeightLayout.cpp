//===- WeightLayout.cpp - How weight matrices lie in the image ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/HovaDialect.h"
#include "dialect/Shapes.h"
#include "llvm/Support/MathExtras.h"

#include "dialect/WeightLayoutInterface.cpp.inc"

using namespace mlir;
using namespace hova;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

/// A layout comes from a dump, and a shape is made of its numbers.
constexpr int64_t kMostBytes = int64_t(1) << 62;
constexpr int64_t kMostParameter = INT32_MAX;

static LogicalResult checkMatrix(ArrayRef<int64_t> matrix, Type element,
                                 EmitError emitError) {
  if (matrix.size() != 2 || !isa<FloatType>(element)) {
    return emitError() << "expects a layout for a matrix of numbers, got "
                       << shapeText(matrix) << " of " << element;
  }
  return success();
}

/// Parts of `part` that `size` divides into, the last one perhaps not whole.
static int64_t countParts(int64_t size, int64_t part) {
  return combine(size, part, [](int64_t size, int64_t part) {
    return static_cast<int64_t>(llvm::divideCeil(size, part));
  });
}

static LogicalResult checkBytes(ArrayRef<int64_t> shape, Type element,
                                EmitError emitError) {
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  for (int64_t size : shape) {
    if (!ShapedType::isDynamic(size) &&
        (llvm::MulOverflow(bytes, size, bytes) || bytes > kMostBytes)) {
      return emitError() << "expects a layout of less than 2^62 bytes, got "
                         << shapeText(shape);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Strips of columns
//===----------------------------------------------------------------------===//

LogicalResult ColumnStripsAttr::verify(EmitError emitError, int64_t columns,
                                       int64_t interleave) {
  if (columns < 1 || columns > kMostParameter) {
    return emitError() << "expects strips of 1 to " << kMostParameter
                       << " columns, got " << columns;
  }
  if (interleave != 1 && interleave != 2) {
    return emitError() << "expects an interleave factor of 1 or 2, got "
                       << interleave;
  }
  return success();
}

std::optional<int64_t> ColumnStripsAttr::getColumnStrip() const {
  return getColumns();
}

FailureOr<SmallVector<int64_t>>
ColumnStripsAttr::getPackedShape(ArrayRef<int64_t> matrix, Type element,
                                 EmitError emitError) const {
  if (failed(checkMatrix(matrix, element, emitError))) {
    return failure();
  }
  if (getInterleave() == 2 && !element.isBF16()) {
    emitError() << "expects bf16 for an interleave factor of 2, got "
                << element;
    return failure();
  }
  SmallVector<int64_t> shape = {countParts(matrix[1], getColumns()),
                                countParts(matrix[0], getInterleave()),
                                getColumns()};
  if (getInterleave() == 2) {
    shape.push_back(2);
  }
  if (failed(checkBytes(shape, element, emitError))) {
    return failure();
  }
  return shape;
}

MemRefType ColumnStripsAttr::getBufferType(RankedTensorType matrix) const {
  int64_t strips = countParts(matrix.getShape()[1], getColumns());
  int64_t rows = countParts(matrix.getShape()[0], getInterleave());
  Type element = getInterleave() == 2 ? IntegerType::get(getContext(), 32)
                                      : matrix.getElementType();
  return MemRefType::get({strips, rows, getColumns()}, element);
}

//===----------------------------------------------------------------------===//
// Transposed
//===----------------------------------------------------------------------===//

LogicalResult TransposedAttr::verify(EmitError emitError, int64_t align) {
  if (align < 1 || align > kMostParameter) {
    return emitError() << "expects rows at multiples of 1 to " << kMostParameter
                       << " bytes, got " << align;
  }
  return success();
}

/// Elements from the start of a row to that of the next.
static int64_t strideOf(int64_t columns, Type element, int64_t align) {
  int64_t aligned = align / (element.getIntOrFloatBitWidth() / 8);
  int64_t parts = countParts(columns, aligned);
  return combine(parts, aligned, [](int64_t a, int64_t b) { return a * b; });
}

FailureOr<SmallVector<int64_t>>
TransposedAttr::getPackedShape(ArrayRef<int64_t> matrix, Type element,
                               EmitError emitError) const {
  if (failed(checkMatrix(matrix, element, emitError))) {
    return failure();
  }
  if (getAlign() % (element.getIntOrFloatBitWidth() / 8) != 0) {
    emitError() << "expects rows of whole elements of " << element
                << ", got rows at multiples of " << getAlign() << " bytes";
    return failure();
  }
  if (failed(checkBytes(matrix, element, emitError))) {
    return failure();
  }
  SmallVector<int64_t> shape = {matrix[1],
                                strideOf(matrix[0], element, getAlign())};
  if (failed(checkBytes(shape, element, emitError))) {
    return failure();
  }
  return shape;
}

MemRefType TransposedAttr::getBufferType(RankedTensorType matrix) const {
  int64_t in = matrix.getShape()[0], out = matrix.getShape()[1];
  int64_t stride = strideOf(in, matrix.getElementType(), getAlign());
  auto dense = MemRefType::get({out, in}, matrix.getElementType());
  return stride == in
             ? dense
             : MemRefType::get({out, in}, matrix.getElementType(),
                               StridedLayoutAttr::get(getContext(), 0,
                                                      {stride, int64_t(1)}));
}
