//===- TileOps.cpp - Tiles of matrices as two-dimensional vectors ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/TileOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hova;

static bool hasStaticStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

/// Static strides of a buffer whose last one is 1.
static bool hasUnitColumns(MemRefType type, size_t minimumRank) {
  return static_cast<size_t>(type.getRank()) >= minimumRank &&
         hasStaticStrides(type) && type.getStridesAndOffset().first.back() == 1;
}

static LogicalResult verifyMatrix(Operation *op, MemRefType type) {
  if (type.getRank() == 2 && hasUnitColumns(type, 2)) { // C1
    return success();
  }
  return op->emitOpError("expects a matrix with unit column stride, got ")
         << type;
}

/// A matrix of one row, where there is one.
static LogicalResult verifyRows(Operation *op, Value rows) {
  auto type = rows ? cast<MemRefType>(rows.getType()) : MemRefType();
  if (type && (type.getRank() != 2 || type.getShape()[0] != 1 ||
               !hasUnitColumns(type, 2))) { // C2
    return op->emitOpError("expects rows in a matrix of one row, got ") << type;
  }
  return success();
}

/// The right operand of a product, and the place where it begins.
static LogicalResult verifyRhs(Operation *op, MemRefType rhs,
                               ValueRange indices) {
  if (hasUnitColumns(rhs, 2) &&
      indices.size() == static_cast<size_t>(rhs.getRank())) {
    return success();
  }
  return op->emitOpError("expects one index per dimension of rhs with unit "
                         "column stride, got ")
         << indices.size() << " for " << rhs;
}

LogicalResult TileLoadOp::verify() {
  return success(succeeded(verifyMatrix(*this, getSource().getType())) &&
                 succeeded(verifyRows(*this, getRows())));
}

LogicalResult TileStoreOp::verify() {
  return success(succeeded(verifyMatrix(*this, getTarget().getType())) &&
                 succeeded(verifyRows(*this, getRows())));
}

LogicalResult TileProductOp::verify() {
  MemRefType rhs = getRhs().getType();
  if (failed(verifyRhs(*this, rhs, getRhsIndices()))) { // C2
    return failure();
  }
  bool hasPrefetch = getPrefetchOffset() != nullptr;
  if (hasPrefetch != (getPrefetchStep() != nullptr) ||
      hasPrefetch != getPrefetchMost().has_value() ||
      (hasPrefetch && static_cast<int64_t>(*getPrefetchMost()) < 1)) { // C3
    return emitOpError(
        "expects 'prefetch' with an offset, a step and its largest value");
  }
  if (rhs.getElementType().isInteger(32) &&
      getLhs().getType().getElementTypeBitWidth() != 16) { // C4
    return emitOpError("expects pairs to meet a lhs of 16 bits, got ")
           << getLhs().getType();
  }
  if (getInit() && getInit().getType() != getTile().getType()) { // C5
    return emitOpError("expects init to be a ")
           << getTile().getType() << ", got " << getInit().getType();
  }
  MemRefType lhs = getLhs().getType();
  if (rhs.getElementType().isInteger(32)) {
    return verifyMatrix(*this, lhs);
  }
  if (lhs.getRank() != 2 || !hasStaticStrides(lhs)) { // C1
    return emitOpError("expects lhs to be a matrix with static strides, got ")
           << lhs;
  }
  return success();
}

LogicalResult BlockProductOp::verify() {
  if (failed(verifyMatrix(*this, getLhs().getType())) ||
      failed(verifyMatrix(*this, getSums().getType()))) { // C1, C3
    return failure();
  }
  MemRefType rhs = getRhs().getType();
  if (failed(verifyRhs(*this, rhs, getRhsIndices()))) { // C2
    return failure();
  }
  int64_t columns = getColumns(), whole = 2 * tileColumns;
  for (MemRefType type : {rhs, getSums().getType()}) {
    if (columns < 1 || columns % whole != 0 ||
        (type.getShape().back() != ShapedType::kDynamic &&
         type.getShape().back() < columns)) { // C3
      return emitOpError("expects columns that are a multiple of ")
             << whole << " and those of " << type << " at most, got "
             << columns;
    }
  }
  IntegerAttr depth;
  if (matchPattern(getDepth(), m_Constant(&depth)) &&
      (depth.getInt() < 1 || depth.getInt() % stepDepth != 0)) { // C4
    return emitOpError("expects a depth that is a multiple of ")
           << stepDepth << ", got " << depth.getInt();
  }
  Region &turns = getMeanwhile();
  if (turns.empty() != !getTurns() ||
      (!turns.empty() && (turns.getNumArguments() != 1 ||
                          !turns.getArgument(0).getType().isIndex()))) { // C5
    return emitOpError("expects 'meanwhile' with a number of turns and a "
                       "region of one index");
  }
  return success();
}

Block &BlockProductOp::runMeanwhile(Value turns) {
  getTurnsMutable().assign(turns);
  Block &block = getMeanwhile().emplaceBlock();
  block.addArgument(turns.getType(), getLoc());
  return block;
}

LogicalResult PairDotOp::verify() {
  if (getA().getType().getNumElements() !=
      2 * getSum().getType().getNumElements()) { // C1
    return emitOpError("expects two elements per sum, got ")
           << getA().getType() << " for " << getSum().getType();
  }
  return success();
}

LogicalResult TileRowSumOp::verify() {
  auto tile = cast<VectorType>(getTile().getType());
  auto sums = cast<VectorType>(getSums().getType());
  if (sums.getShape()[0] != tile.getShape()[0] ||
      sums.getShape()[1] != 1) { // C1
    return emitOpError("expects one sum per row of ")
           << tile << ", got " << sums;
  }
  return success();
}

SmallVector<Value>
TileRowSumOp::emitRows(ImplicitLocOpBuilder &b,
                       ArrayRef<SmallVector<Value>> operands) {
  SmallVector<Value> sums;
  for (Value row : operands.front()) {
    // Any order: without the flag the lanes would be added one by one.
    Value sum = vector::ReductionOp::create(b, vector::CombiningKind::ADD, row,
                                            arith::FastMathFlags::reassoc);
    sums.push_back(vector::BroadcastOp::create(
        b, VectorType::get({1}, b.getF32Type()), sum));
  }
  return sums;
}

void TileRowSumOp::evaluateTile(ArrayRef<ArrayRef<double>> operands,
                                MutableArrayRef<double> result) {
  size_t columns = operands.front().size() / result.size();
  for (auto [i, sum] : llvm::enumerate(result)) {
    sum = 0;
    for (double element : operands.front().slice(i * columns, columns)) {
      sum += element;
    }
  }
}

LogicalResult TileExchangeOp::verify() {
  if (cast<VectorType>(getTile().getType()).getShape()[1] % 2 != 0) { // C1
    return emitOpError("expects an even number of columns, got ")
           << getTile().getType();
  }
  return success();
}

SmallVector<Value>
TileExchangeOp::emitRows(ImplicitLocOpBuilder &b,
                         ArrayRef<SmallVector<Value>> operands) {
  int64_t columns = cast<VectorType>(getTile().getType()).getShape()[1];
  auto places = llvm::map_to_vector(llvm::seq<int64_t>(0, columns),
                                    [](int64_t column) { return column ^ 1; });
  return llvm::map_to_vector(operands.front(), [&](Value row) -> Value {
    return vector::ShuffleOp::create(b, row, row, places);
  });
}

void TileExchangeOp::evaluateTile(ArrayRef<ArrayRef<double>> operands,
                                  MutableArrayRef<double> result) {
  for (size_t i = 0; i < result.size(); i += 2) {
    result[i] = operands.front()[i + 1];
    result[i + 1] = operands.front()[i];
  }
}

LogicalResult TileStackOp::verify() {
  ArrayRef<int64_t> shape = cast<VectorType>(getResult().getType()).getShape();
  auto part = VectorType::get({1, shape[1]},
                              getElementTypeOrSelf(getResult().getType()));
  if (getParts().size() != static_cast<size_t>(shape[0]) ||
      getParts().front().getType() != part) { // C1
    return emitOpError("expects ")
           << shape[0] << " parts of type " << part << ", got "
           << getParts().size() << " of " << getParts().front().getType();
  }
  return success();
}

SmallVector<Value>
TileStackOp::emitRows(ImplicitLocOpBuilder &,
                      ArrayRef<SmallVector<Value>> operands) {
  return llvm::map_to_vector(
      operands, [](const SmallVector<Value> &part) { return part.front(); });
}

void TileStackOp::evaluateTile(ArrayRef<ArrayRef<double>> operands,
                               MutableArrayRef<double> result) {
  auto to = result.begin();
  for (ArrayRef<double> part : operands) {
    to = std::copy(part.begin(), part.end(), to);
  }
}

LogicalResult LookupOp::verify() {
  if (getIndex().getType().getShape() !=
      getResult().getType().getShape()) { // C1
    return emitOpError("expects one index per lane of ")
           << getResult().getType() << ", got " << getIndex().getType();
  }
  return success();
}

#include "codegen/cpu/TileRows.cpp.inc"

#define GET_OP_CLASSES
#include "codegen/cpu/TileOps.cpp.inc"
