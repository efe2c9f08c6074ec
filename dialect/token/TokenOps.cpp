//===- TokenOps.cpp - From ids and images to tokens -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/token/TokenOps.h"
#include "dialect/Shapes.h"
#include <cmath>

using namespace mlir;
using namespace hova;

static constexpr int64_t kDynamic = ShapedType::kDynamic;

/// Reports that a result should have another shape.
static LogicalResult expectResult(Operation *op, ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> actual = shapeOf(op->getResult(0));
  if (agree(actual, expected)) {
    return success();
  }
  return op->emitOpError("expects a result of shape ")
         << shapeText(expected) << ", got " << shapeText(actual);
}

//===----------------------------------------------------------------------===//
// EmbeddingOp, SinusoidOp, PaddingMaskOp
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  ArrayRef<int64_t> table = shapeOf(getTable());
  if (table.size() != 2) { // C1
    return emitOpError("expects a table [vocabulary, width], got ")
           << shapeText(table);
  }
  SmallVector<int64_t> expected(shapeOf(getIds()));
  expected.push_back(table[getTransposed() ? 0 : 1]);
  return expectResult(*this, expected); // C2
}

IterationSpace EmbeddingOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  builder.operand(0, axes); // the table's row is the id's
  axes.push_back(builder.parallel("column", shapeOf(getResult()).back()));
  builder.result(axes);
  return builder.build();
}
bool EmbeddingOp::isStored(unsigned index) { return index == 1; }

LogicalResult SinusoidOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  if (shape.size() != 2) { // C1
    return emitOpError("expects a result [tokens, width], got ")
           << shapeText(shape);
  }
  if (getLayout() == SinusoidLayout::split && shape[1] != kDynamic &&
      (shape[1] % 2 || shape[1] < 4)) { // C2
    return emitOpError("expects an even width of at least 4, got ") << shape[1];
  }
  double base = getBase().convertToDouble();
  if (!std::isfinite(base) || base < 1) { // C3
    return emitOpError("expects a finite base of at least 1, got ") << base;
  }
  return success();
}

LogicalResult PaddingMaskOp::verify() {
  SmallVector<int64_t> expected(shapeOf(getIds()));
  if (getClassToken() && !expected.empty()) {
    expected.back() = combine(expected.back(), 1, std::plus<>());
  }
  return expectResult(*this, expected); // C1
}

IterationSpace PaddingMaskOp::getIterationSpace() { return rowSpace(*this, 1); }

//===----------------------------------------------------------------------===//
// PositionIdsOp, MaskFactorsOp
//===----------------------------------------------------------------------===//

/// Reports a mask that is not [batch, tokens].
static LogicalResult expectTokens(Operation *op, Value valid) {
  if (shapeOf(valid).size() == 2) {
    return success();
  }
  return op->emitOpError("expects valid [batch, tokens], got ")
         << shapeText(shapeOf(valid));
}

LogicalResult PositionIdsOp::verify() {
  if (failed(expectTokens(*this, getValid())) ||
      failed(expectResult(*this, shapeOf(getValid())))) { // C1
    return failure();
  }
  int64_t tokens = shapeOf(getValid())[1], offset = getOffset();
  if (offset > INT32_MAX - (tokens == kDynamic ? 0 : tokens)) { // C2
    return emitOpError("expects positions of i32, got an offset of ") << offset;
  }
  return success();
}

IterationSpace PositionIdsOp::getIterationSpace() {
  return getCounted() ? rowSpace(*this, 1) : elementwiseSpace(*this);
}

LogicalResult MaskFactorsOp::verify() {
  if (failed(expectTokens(*this, getValid()))) { // C1
    return failure();
  }
  SmallVector<int64_t> expected(shapeOf(getValid()));
  expected.push_back(1);
  return expectResult(*this, expected); // C1
}

IterationSpace MaskFactorsOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  builder.operand(0, axes);
  axes.push_back(builder.parallel("column", 1));
  builder.result(axes);
  return builder.build();
}

//===----------------------------------------------------------------------===//
// Patches
//===----------------------------------------------------------------------===//

/// [batch, patches, channels*patch*patch] of an image, or nothing if the patch
/// does not divide it.
static FailureOr<SmallVector<int64_t>> unfoldedShape(ArrayRef<int64_t> image,
                                                     int64_t patch) {
  auto divides = [&](int64_t d) { return d == kDynamic || d % patch == 0; };
  if (image.size() != 4 || !divides(image[2]) || !divides(image[3])) {
    return failure();
  }
  int64_t patches = combine(image[2], image[3], [&](int64_t h, int64_t w) {
    return (h / patch) * (w / patch);
  });
  int64_t columns =
      combine(image[1], patch, [&](int64_t c, int64_t p) { return c * p * p; });
  return SmallVector<int64_t>{image[0], patches, columns};
}

namespace {
/// The dims of an unfolded image: patches in row-major order, and in each the
/// pixel at (channel, line, pixel).
struct PatchAxes {
  PatchAxes(IterationSpaceBuilder &builder, ArrayRef<int64_t> shape,
            int64_t side) {
    auto patches = [&](int64_t size) {
      return combine(size, side, std::divides<>());
    };
    int64_t width = patches(shape[3]);
    batch = builder.parallel("batch", shape[0]);
    patch = builder.parallel(
        "patch", combine(patches(shape[2]), width, std::multiplies<>()));
    AffineExpr channel = builder.reduction("channel", shape[1]);
    AffineExpr line = builder.reduction("line", side);
    AffineExpr pixel = builder.reduction("pixel", side);
    element = (channel * side + line) * side + pixel;
    if (!ShapedType::isDynamic(width)) { // else nobody knows where a patch is
      image = {batch, channel, patch.floorDiv(width) * side + line,
               patch % width * side + pixel};
    }
  }

  AffineExpr batch, patch, element;
  SmallVector<AffineExpr> image; ///< empty where the width is not known
};
} // namespace

LogicalResult PatchEmbeddingOp::verify() {
  auto unfolded = unfoldedShape(shapeOf(getImage()), getPatch());
  if (failed(unfolded)) { // C1
    return emitOpError("expects an image [batch, channels, height, width] with "
                       "sides divisible by ")
           << getPatch() << ", got " << shapeText(shapeOf(getImage()));
  }
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  if (weight.size() != 2 || !agree(weight[0], (*unfolded)[2])) { // C2
    return emitOpError("expects a weight with ")
           << (*unfolded)[2] << " rows, got " << shapeText(weight);
  }
  if (getBias() && !agree(shapeOf(getBias()), {weight[1]})) { // C3
    return emitOpError("expects a bias of shape ")
           << weight[1] << ", got " << shapeText(shapeOf(getBias()));
  }
  return expectResult(*this, {(*unfolded)[0], (*unfolded)[1], weight[1]}); // C4
}

std::optional<int64_t> PatchEmbeddingOp::getLinearMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  return staticSize(shapeOf(getResult())) *
         staticSize({shapeOf(getWeight())[0]});
}

IterationSpace PatchEmbeddingOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  PatchAxes axes(builder, shapeOf(getImage()), getPatch());
  AffineExpr column = builder.parallel("column", shapeOf(getWeight())[1]);
  if (!axes.image.empty()) {
    builder.operand(0, axes.image);
  }
  builder.operand(1, {axes.element, column});
  if (getBias()) {
    builder.operand(2, {column});
  }
  builder.result({axes.batch, axes.patch, column});
  builder.setUnits({axes.batch, axes.patch});
  return builder.build();
}
bool PatchEmbeddingOp::isStored(unsigned index) { return index == 1; }

//===----------------------------------------------------------------------===//
// ClassTokenOp
//===----------------------------------------------------------------------===//

LogicalResult ClassTokenOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() != 3 || !agree(shapeOf(getToken()), {x[2]})) { // C1
    return emitOpError("expects x [batch, tokens, width] and a token of the "
                       "same width, got ")
           << shapeText(x) << " and " << shapeText(shapeOf(getToken()));
  }
  int64_t tokens = x[1] == kDynamic ? kDynamic : x[1] + 1;
  return expectResult(*this, {x[0], tokens, x[2]}); // C2
}

IterationSpace ClassTokenOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  axes.push_back(builder.parallel("column", shapeOf(getToken())[0]));
  builder.operand(1, axes.back()); // x is one row further up
  builder.result(axes);
  return builder.build();
}

//===----------------------------------------------------------------------===//
// IndexSortOp, LayerPoolOp
//===----------------------------------------------------------------------===//

LogicalResult IndexSortOp::verify() {
  ArrayRef<int64_t> state =
      getStates().empty() ? ArrayRef<int64_t>() : shapeOf(getStates()[0]);
  if (state.size() != 3) { // C1
    return emitOpError("expects states [batch, tokens, width], got ")
           << shapeText(state);
  }
  int64_t rows = combine(state[1], getStates().size(), std::multiplies<>());
  return expectResult(*this, {state[0], rows, state[2]}); // C1
}

IterationSpace IndexSortOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  axes.push_back(builder.parallel("column", shapeOf(getResult()).back()));
  builder.result(axes); // which state is read is the token's remainder
  return builder.build();
}

std::optional<RowSteps> IndexSortOp::getOperandRows(unsigned index) {
  return RowSteps{index, static_cast<int64_t>(getStates().size())};
}

ParseResult IndexSortOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  Type state, sorted;
  if (parser.parseOperandList(operands) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(state) || parser.parseArrow() ||
      parser.parseType(sorted) ||
      parser.resolveOperands(operands, state, result.operands)) {
    return failure();
  }
  result.addTypes(sorted);
  return success();
}

void IndexSortOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getStates();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getStates()[0].getType() << " -> "
          << getResult().getType();
}

LogicalResult LayerPoolOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  int64_t layers = getLayers();
  if (x.size() != 3 || (x[1] != kDynamic && x[1] % layers != 0)) { // C1
    return emitOpError("expects x [batch, layers * tokens, width] for ")
           << layers << " layers, got " << shapeText(x);
  }
  return expectResult(
      *this, {x[0], combine(x[1], layers, std::divides<>()), x[2]}); // C1
}

IterationSpace LayerPoolOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  int64_t layers = getLayers();
  SmallVector<AffineExpr> axes = builder.rows();
  AffineExpr layer = builder.reduction("layer", layers);
  axes.push_back(builder.parallel("column", shapeOf(getX())[2]));
  builder.operand(0, {axes[0], axes[1] * layers + layer, axes[2]});
  builder.result(axes);
  return builder.build();
}

OpOperand &LayerPoolOp::getRowOperand() { return getXMutable(); }

int64_t LayerPoolOp::getOperandRowsPerRow() { return getLayers(); }

std::string LayerPoolOp::getRowRangeSubject() { return "maximum over states"; }

Operation *LayerPoolOp::computeRowRange(RewriterBase &rewriter, Value rows,
                                        int64_t offset, int64_t count) {
  return cloneWithRows(rewriter, getXMutable(), rows, count);
}

//===----------------------------------------------------------------------===//
// ConcatOp, SliceOp
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::verify() {
  if (getInputs().empty()) { // C1
    return emitOpError("expects at least one input");
  }
  SmallVector<int64_t> expected(shapeOf(getInputs()[0]));
  size_t axis = getAxis();
  if (axis >= expected.size()) { // C2
    return emitOpError("expects an axis below ")
           << expected.size() << ", got " << axis;
  }
  for (Value input : getInputs().drop_front()) {
    SmallVector<int64_t> shape(shapeOf(input));
    SmallVector<int64_t> first(expected);
    if (shape.size() == first.size()) {
      first[axis] = shape[axis];
    }
    if (!agree(shape, first) || getElementTypeOrSelf(input.getType()) !=
                                    getElementTypeOrSelf(getResult())) { // C1
      return emitOpError("expects inputs that differ at axis ")
             << axis << " only, got " << shapeText(expected) << " and "
             << shapeText(shape);
    }
    expected[axis] = combine(expected[axis], shape[axis], std::plus<>());
  }
  return expectResult(*this, expected); // C2
}

IterationSpace ConcatOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> shape = shapeOf(getResult());
  SmallVector<AffineExpr> axes = builder.rows();
  axes.push_back(builder.parallel("column", shape.back()));
  builder.result(axes);
  if (getAxis() + 1 == shape.size()) {
    // Each row of an input is a part of the result's row.
    for (auto [index, input] : llvm::enumerate(getInputs())) {
      builder.operand(index, axes);
      int64_t width = shapeOf(input).back();
      if (ShapedType::isDynamic(width)) {
        break; // nobody knows where the next begins
      }
      axes.back() = axes.back() - width;
    }
  }
  return builder.build().ignoringPosition();
}

std::optional<RowSteps> ConcatOp::getOperandRows(unsigned index) {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  size_t axis = getAxis();
  if (axis + 1 == shape.size() || staticSize(shape.take_front(axis)) != 1) {
    return std::nullopt;
  }
  int64_t first = 0;
  for (Value input : getInputs().take_front(index)) {
    ArrayRef<int64_t> shape = shapeOf(input).drop_back();
    if (ShapedType::isDynamicShape(shape)) {
      return std::nullopt;
    }
    first += staticSize(shape);
  }
  return RowSteps{first, 1};
}

LogicalResult SliceOp::verify() {
  SmallVector<int64_t> expected(shapeOf(getX()));
  ArrayRef<int64_t> result = shapeOf(getResult());
  size_t axis = getAxis();
  if (axis >= expected.size() || result.size() != expected.size()) { // C1
    return emitOpError("expects an axis below ")
           << expected.size() << ", got " << axis;
  }
  int64_t size = result[axis], whole = expected[axis];
  if (size != kDynamic && whole != kDynamic &&
      static_cast<int64_t>(getOffset()) > whole - size) { // C1
    return emitOpError("expects a slice inside ")
           << whole << " elements, got " << size << " from " << getOffset();
  }
  expected[axis] = size;
  return expectResult(*this, expected); // C1
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  // All of x.
  auto type = cast<ShapedType>(getX().getType());
  return type == getResult().getType() && type.hasStaticShape()
             ? OpFoldResult(getX())
             : OpFoldResult();
}

bool SliceOp::takesColumns() {
  return getAxis() + 1 == shapeOf(getResult()).size();
}

std::optional<RowSteps> SliceOp::getSourceRows() {
  ArrayRef<int64_t> whole = shapeOf(getX()), part = shapeOf(getResult());
  size_t axis = getAxis();
  if (takesColumns() || ShapedType::isDynamicShape(whole) ||
      ShapedType::isDynamicShape(part)) {
    return std::nullopt;
  }
  // Rows for each index of the axis; of the result they are consecutive, and
  // those of the next leading index follow after a whole axis.
  int64_t inner = staticSize(whole.drop_front(axis + 1).drop_back());
  int64_t first = getOffset() * inner;
  if (staticSize(whole.take_front(axis)) == 1) {
    return RowSteps{first, 1};
  }
  return part[axis] * inner == 1 ? std::optional(RowSteps{first, whole[axis]})
                                 : std::nullopt;
}

IterationSpace SliceOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  axes.push_back(builder.parallel("column", shapeOf(getResult()).back()));
  builder.result(axes);
  axes[getAxis()] = axes[getAxis()] + getOffset();
  builder.operand(0, axes);
  return builder.build().ignoringPosition();
}

//===----------------------------------------------------------------------===//
// PadOp, ReshapeOp
//===----------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  SmallVector<int64_t> expected(shapeOf(getX()));
  ArrayRef<int64_t> result = shapeOf(getResult());
  size_t axis = getAxis();
  if (axis >= expected.size() || result.size() != expected.size()) { // C1
    return emitOpError("expects an axis below ")
           << expected.size() << ", got " << axis;
  }
  int64_t least = combine(expected[axis], getBefore(), std::plus<>());
  if (least != kDynamic && result[axis] != kDynamic &&
      result[axis] < least) { // C1
    return emitOpError("expects at least ")
           << least << " elements at axis " << axis << ", got " << result[axis];
  }
  expected[axis] = result[axis];
  return expectResult(*this, expected); // C1
}

IterationSpace PadOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  axes.push_back(builder.parallel("column", shapeOf(getResult()).back()));
  builder.result(axes);
  axes[getAxis()] = axes[getAxis()] - getBefore();
  builder.operand(0, axes); // outside of x nothing is read
  return builder.build().ignoringPosition();
}

LogicalResult ReshapeOp::verify() {
  ShapedType x = getX().getType(), result = getResult().getType();
  bool isCounted = x.hasStaticShape() && result.hasStaticShape();
  if (x.getElementType() != result.getElementType() ||
      (isCounted && x.getNumElements() != result.getNumElements())) { // C1
    return emitOpError("expects as many elements of the same type, got ")
           << x << " and " << result;
  }
  return success();
}

IterationSpace ReshapeOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  axes.push_back(builder.parallel("column", shapeOf(getResult()).back()));
  builder.result(axes); // x has other axes
  return builder.build();
}

/// reshape (reshape x) -> reshape x, and x itself where that has its type.
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return getX().getType() == getResult().getType() ? getX() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// RepeatOp
//===----------------------------------------------------------------------===//

LogicalResult RepeatOp::verify() {
  ArrayRef<int64_t> result = shapeOf(getResult());
  SmallVector<int64_t> expected(shapeOf(getX()));
  expected.insert(expected.begin(), result.empty() ? 1 : result.front());
  return expectResult(*this, expected); // C1
}

IterationSpace RepeatOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  axes.push_back(builder.parallel("column", shapeOf(getResult()).back()));
  builder.result(axes);
  builder.operand(0, ArrayRef(axes).drop_front());
  return builder.build();
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

StringRef PatchEmbeddingOp::getSiteKind() { return "patch embedding"; }
StringRef UnfoldOp::getSiteKind() { return "rearrangement"; }
StringRef PadOp::getSiteKind() { return "rearrangement"; }
StringRef ReshapeOp::getSiteKind() { return "rearrangement"; }
StringRef RepeatOp::getSiteKind() { return "rearrangement"; }
StringRef ClassTokenOp::getSiteKind() { return "rearrangement"; }
StringRef IndexSortOp::getSiteKind() { return "rearrangement"; }
StringRef ConcatOp::getSiteKind() { return "rearrangement"; }

/// What is only moved is a copy of what others have made.
bool UnfoldOp::isResultIntermediate() { return true; }
bool PadOp::isResultIntermediate() { return true; }
bool ReshapeOp::isResultIntermediate() { return true; }
bool RepeatOp::isResultIntermediate() { return true; }
bool ClassTokenOp::isResultIntermediate() { return true; }
bool IndexSortOp::isResultIntermediate() { return true; }
bool ConcatOp::isResultIntermediate() { return true; }

void HovaDialect::registerTokenOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/token/TokenOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/token/TokenOps.cpp.inc"
