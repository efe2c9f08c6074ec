//===- DenseOps.cpp - Linear layers, norms, element-wise operations -------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/dense/DenseOps.h"
#include "dialect/Shapes.h"
#include "dialect/dense/NormOps.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace hova;

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), weight = shapeOf(getWeight());
  if (x.empty() || weight.size() != 2) { // C1
    return emitOpError("expects x with a last axis and a weight matrix, got ")
           << shapeText(x) << " and " << shapeText(weight);
  }
  int64_t in = weight[getTransposed() ? 1 : 0];
  int64_t out = weight[getTransposed() ? 0 : 1];
  if (!agree(x.back(), in)) { // C1
    return emitOpError("expects a weight for inputs of width ")
           << x.back() << ", got one for " << in;
  }
  if (getBias() && !agree(shapeOf(getBias()), {out})) { // C2
    return emitOpError("expects a bias of shape ")
           << out << ", got " << shapeText(shapeOf(getBias()));
  }
  SmallVector<int64_t> expected(x);
  expected.back() = out;
  if (!agree(shapeOf(getResult()), expected)) { // C3
    return emitOpError("expects a result of shape ")
           << shapeText(expected) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  return success();
}

std::optional<int64_t> LinearOp::getLinearMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  int64_t macs =
      staticSize(shapeOf(getResult())) * staticSize({shapeOf(getX()).back()});
  // Each head has a matrix of its own: the zeros beside the blocks are not
  // work.
  if (auto blocks = getWeight().getDefiningOp<BlockDiagonalOp>()) {
    macs /= shapeOf(blocks.getBlocks()).front();
  }
  return macs;
}

IterationSpace LinearOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> rows = builder.rows();
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  AffineExpr column = builder.parallel("column", weight[1]);
  AffineExpr inner = builder.reduction("inner", weight[0]);
  auto withRows = [&](AffineExpr last) {
    SmallVector<AffineExpr> axes = rows;
    axes.push_back(last);
    return axes;
  };
  builder.operand(0, withRows(inner));
  builder.operand(1, {inner, column});
  if (getBias()) {
    builder.operand(2, {column});
  }
  builder.result(withRows(column));
  return builder.build().ignoringPosition();
}

bool LinearOp::isStored(unsigned index) { return index < 2; }

std::optional<Reduction> LinearOp::getReduction() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  Reduction inner{shapeOf(getX()).back()};
  inner.isEven = inner.isSum = true;
  return inner;
}

/// linear %x, %w bias(%b) -> sum_parts (linear_parts %x, %w) bias(%b)
Value LinearOp::splitReduction(RewriterBase &rewriter,
                               const ReductionSplit &split) {
  auto type = cast<RankedTensorType>(getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), split.countParts(*getReduction()));
  auto parts = LinearPartsOp::create(
      rewriter, getLoc(), RankedTensorType::get(shape, rewriter.getF32Type()),
      getX(), getWeight(), getTransposedAttr());
  return SumPartsOp::create(rewriter, getLoc(), type, parts, getBias());
}

//===----------------------------------------------------------------------===//
// LinearPartsOp, SumPartsOp
//===----------------------------------------------------------------------===//

LogicalResult LinearPartsOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX()), weight = shapeOf(getWeight());
  ArrayRef<int64_t> result = shapeOf(getResult());
  if (x.empty() || weight.size() != 2) { // C1
    return emitOpError("expects x with a last axis and a weight matrix, got ")
           << shapeText(x) << " and " << shapeText(weight);
  }
  int64_t in = weight[getTransposed() ? 1 : 0];
  int64_t out = weight[getTransposed() ? 0 : 1];
  if (!agree(x.back(), in)) { // C1
    return emitOpError("expects a weight for inputs of width ")
           << x.back() << ", got one for " << in;
  }
  if (result.empty() || result.front() == ShapedType::kDynamic ||
      result.front() < 1 ||
      (in != ShapedType::kDynamic && in % result.front() != 0)) { // C2
    return emitOpError("expects parts that divide an inner dimension of ")
           << in << ", got a result of shape " << shapeText(result);
  }
  SmallVector<int64_t> expected(x);
  expected.back() = out;
  if (!agree(result.drop_front(), expected)) { // C3
    return emitOpError("expects parts of shape ")
           << shapeText(expected) << ", got " << shapeText(result.drop_front());
  }
  return success();
}

std::optional<int64_t> LinearPartsOp::getLinearMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> result = shapeOf(getResult());
  return staticSize(result.drop_front()) * shapeOf(getX()).back();
}

IterationSpace LinearPartsOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> rows = builder.rows(); // the part, and the row of x
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  int64_t in = weight[getTransposed() ? 1 : 0];
  int64_t size =
      in == ShapedType::kDynamic ? in : in / shapeOf(getResult()).front();
  AffineExpr column =
      builder.parallel("column", weight[getTransposed() ? 0 : 1]);
  AffineExpr inner = builder.reduction("inner", size);
  AffineExpr k = rows[0] * (size == ShapedType::kDynamic ? 1 : size) + inner;
  SmallVector<AffineExpr> ofX(ArrayRef(rows).drop_front());
  ofX.push_back(k);
  builder.operand(0, ofX);
  builder.operand(1, getTransposed() ? SmallVector<AffineExpr>{column, k}
                                     : SmallVector<AffineExpr>{k, column});
  rows.push_back(column);
  builder.result(rows);
  return builder.build();
}

bool LinearPartsOp::isStored(unsigned) { return true; }

LogicalResult SumPartsOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() < 2) { // C1
    return emitOpError("expects parts of one dimension at least, got ")
           << shapeText(x);
  }
  if (!agree(shapeOf(getResult()), x.drop_front())) { // C2
    return emitOpError("expects a result of shape ")
           << shapeText(x.drop_front()) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  if (getBias() && !agree(shapeOf(getBias()), {x.back()})) { // C3
    return emitOpError("expects a bias of shape ")
           << x.back() << ", got " << shapeText(shapeOf(getBias()));
  }
  return success();
}

IterationSpace SumPartsOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  SmallVector<AffineExpr> axes = builder.rows();
  AffineExpr column = builder.parallel("column", shapeOf(getX()).back());
  axes.push_back(column);
  builder.result(axes);
  axes.insert(axes.begin(), builder.reduction("part", shapeOf(getX()).front()));
  builder.operand(0, axes);
  if (getBias()) {
    builder.operand(1, {column});
  }
  return builder.build().ignoringPosition();
}

//===----------------------------------------------------------------------===//
// LayerNormOp
//===----------------------------------------------------------------------===//

using NormOperand = std::optional<OpAsmParser::UnresolvedOperand>;

/// `, %gain, %bias`, `, %gain`, `bias(%bias)` or nothing.
static ParseResult parseNormOperands(OpAsmParser &parser, NormOperand &gain,
                                     NormOperand &bias) {
  OpAsmParser::UnresolvedOperand operand;
  if (succeeded(parser.parseOptionalComma())) {
    if (failed(parser.parseOperand(operand))) {
      return failure();
    }
    gain = operand;
    if (failed(parser.parseOptionalComma())) {
      return success();
    }
    if (failed(parser.parseOperand(operand))) {
      return failure();
    }
    bias = operand;
    return success();
  }
  if (failed(parser.parseOptionalKeyword("bias"))) {
    return success();
  }
  if (failed(parser.parseLParen()) || failed(parser.parseOperand(operand)) ||
      failed(parser.parseRParen())) {
    return failure();
  }
  bias = operand;
  return success();
}

static void printNormOperands(OpAsmPrinter &printer, LayerNormOp, Value gain,
                              Value bias) {
  if (gain) {
    printer << ", " << gain;
  }
  if (gain && bias) {
    printer << ", " << bias;
  } else if (bias) {
    printer << " bias(" << bias << ")";
  }
}

/// Gain and bias have one type, written once: `tensor<9x64xf32>,
/// tensor<64xf32>`.
static ParseResult parseNormTypes(OpAsmParser &parser, NormOperand gain,
                                  NormOperand bias, Type &x, Type &gainType,
                                  Type &biasType) {
  if (failed(parser.parseType(x))) {
    return failure();
  }
  if (!gain && !bias) {
    return success();
  }
  Type type;
  if (failed(parser.parseComma()) || failed(parser.parseType(type))) {
    return failure();
  }
  gainType = gain ? type : Type();
  biasType = bias ? type : Type();
  return success();
}

static void printNormTypes(OpAsmPrinter &printer, LayerNormOp, Value, Value,
                           Type x, Type gain, Type bias) {
  printer << x;
  if (gain || bias) {
    printer << ", " << (gain ? gain : bias);
  }
}

LogicalResult LayerNormOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  auto heads = static_cast<int64_t>(getHeads());
  bool isDynamic = !x.empty() && ShapedType::isDynamic(x.back());
  if (x.empty() || (!isDynamic && x.back() % heads != 0)) { // C1
    return emitOpError("expects a last dimension divisible by ")
           << heads << " heads, got " << shapeText(x);
  }
  for (Value vector : {getGain(), getBias()}) {
    int64_t width = isDynamic ? x.back() : getHeadWidth();
    if (vector && !agree(shapeOf(vector), {width})) { // C2
      return emitOpError("expects gain and bias of the width of ")
             << (heads > 1 ? "a head of x " : "x ") << shapeText(x) << ", got "
             << shapeText(shapeOf(vector));
    }
  }
  double eps = getEps().convertToDouble();
  if (!(eps >= 0)) { // C3
    return emitOpError("expects eps >= 0, got ") << eps;
  }
  if (getKind() == NormKind::l2 && !(static_cast<float>(eps) > 0)) { // C3
    return emitOpError("expects eps > 0 in f32, got ") << eps;
  }
  return success();
}

IterationSpace LayerNormOp::getIterationSpace() {
  return rowSpace(*this, 1).ignoringPosition();
}

//===----------------------------------------------------------------------===//
// SoftmaxOp
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  if (shapeOf(getX()).empty()) { // C1
    return emitOpError("expects x with a last axis, got a scalar");
  }
  return success();
}

IterationSpace SoftmaxOp::getIterationSpace() {
  return rowSpace(*this, 1).ignoringPosition();
}

//===----------------------------------------------------------------------===//
// ActivationOp
//===----------------------------------------------------------------------===//

OpFoldResult ActivationOp::fold(FoldAdaptor) {
  // relu(relu(x)) = relu(x).
  auto inner = getX().getDefiningOp<ActivationOp>();
  if (getKind() == ActivationKind::relu && inner &&
      inner.getKind() == ActivationKind::relu) {
    return inner.getResult();
  }
  return {};
}

IterationSpace ActivationOp::getIterationSpace() {
  return elementwiseSpace(*this);
}

Value ActivationOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  return ActivationOp::create(builder, getLoc(), tiles[0].getType(), getKind(),
                              tiles[0]);
}

//===----------------------------------------------------------------------===//
// AddOp, MultiplyOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyBinary(Operation *op) {
  ArrayRef<int64_t> lhs = shapeOf(op->getOperand(0));
  ArrayRef<int64_t> rhs = shapeOf(op->getOperand(1));
  bool repeats =
      rhs.size() <= lhs.size() &&
      llvm::all_of(llvm::zip(lhs.take_back(rhs.size()), rhs), [](auto pair) {
        auto [size, repeated] = pair;
        return repeated == 1 || agree(size, repeated);
      });
  if (!repeats) { // C1
    return op->emitOpError("expects every axis of rhs, counted from the last, "
                           "to be that of lhs or 1, got ")
           << shapeText(rhs) << " and " << shapeText(lhs);
  }
  return success();
}

LogicalResult AddOp::verify() { return verifyBinary(*this); }
LogicalResult MultiplyOp::verify() { return verifyBinary(*this); }

IterationSpace AddOp::getIterationSpace() { return elementwiseSpace(*this); }
IterationSpace MultiplyOp::getIterationSpace() {
  return elementwiseSpace(*this);
}

Value AddOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  return arith::AddFOp::create(builder, getLoc(), tiles[0], tiles[1]);
}
Value MultiplyOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  return arith::MulFOp::create(builder, getLoc(), tiles[0], tiles[1]);
}

//===----------------------------------------------------------------------===//
// SubtractOp, DivideOp, ExpOp
//===----------------------------------------------------------------------===//

LogicalResult SubtractOp::verify() { return verifyBinary(*this); }
LogicalResult DivideOp::verify() { return verifyBinary(*this); }

IterationSpace SubtractOp::getIterationSpace() {
  return elementwiseSpace(*this);
}
IterationSpace DivideOp::getIterationSpace() { return elementwiseSpace(*this); }
IterationSpace ExpOp::getIterationSpace() { return elementwiseSpace(*this); }

/// The tile of `OpT`, whose operands may have changed places.
template <typename OpT>
static Value emitOrdered(OpBuilder &builder, Location loc, ValueRange tiles,
                         bool swapped) {
  return OpT::create(builder, loc, tiles[swapped ? 1 : 0],
                     tiles[swapped ? 0 : 1]);
}

Value SubtractOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  return emitOrdered<arith::SubFOp>(builder, getLoc(), tiles, getSwapped());
}
Value DivideOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  return emitOrdered<arith::DivFOp>(builder, getLoc(), tiles, getSwapped());
}
Value ExpOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  return math::ExpOp::create(builder, getLoc(), tiles[0]);
}

//===----------------------------------------------------------------------===//
// ScaleOp
//===----------------------------------------------------------------------===//

LogicalResult ScaleOp::verify() {
  if (!std::isfinite(getFactor().convertToDouble())) { // C1
    return emitOpError("expects a finite factor");
  }
  return success();
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) ? OpFoldResult(getX())
                                         : OpFoldResult();
}

IterationSpace ScaleOp::getIterationSpace() { return elementwiseSpace(*this); }

Value ScaleOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  auto type = cast<VectorType>(tiles[0].getType());
  Value factor = arith::ConstantOp::create(
      builder, getLoc(),
      DenseElementsAttr::get(
          type, builder.getFloatAttr(type.getElementType(),
                                     getFactor().convertToDouble())));
  return arith::MulFOp::create(builder, getLoc(), tiles[0], factor);
}

//===----------------------------------------------------------------------===//
// ConvertOp
//===----------------------------------------------------------------------===//

LogicalResult ConvertOp::verify() {
  if (!agree(shapeOf(getResult()), shapeOf(getX()))) { // C1
    return emitOpError("expects a result of shape ")
           << shapeText(shapeOf(getX())) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  return success();
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getX().getType() == getResult().getType()) {
    return getX();
  }
  // What was made wider is the same number again.
  auto widened = getX().getDefiningOp<ConvertOp>();
  bool isSame = widened && getElementTypeOrSelf(widened.getResult()).isF32() &&
                widened.getX().getType() == getResult().getType();
  return isSame ? OpFoldResult(widened.getX()) : OpFoldResult();
}

IterationSpace ConvertOp::getIterationSpace() {
  return elementwiseSpace(*this);
}

/// Tiles are f32 whatever buffers hold; where the tile is stored in the narrow
/// type, widening and narrowing again fold.
Value ConvertOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  Type narrow = getElementTypeOrSelf(getResult());
  if (narrow.isF32()) {
    return tiles[0];
  }
  auto wide = cast<VectorType>(tiles[0].getType());
  Value rounded =
      arith::TruncFOp::create(builder, getLoc(), wide.clone(narrow), tiles[0]);
  return arith::ExtFOp::create(builder, getLoc(), wide, rounded);
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

StringRef LinearOp::getSiteKind() { return "linear"; }
StringRef SumPartsOp::getSiteKind() { return "linear"; }
StringRef LayerNormOp::getSiteKind() { return "norm"; }
StringRef SoftmaxOp::getSiteKind() { return "softmax"; }

void HovaDialect::registerDenseOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/dense/DenseOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/dense/NormOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/dense/DenseOps.cpp.inc"
