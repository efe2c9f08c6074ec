//===- GroupOps.cpp - Types and verifiers of the operations of a group ----===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/group/GroupOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hova;

#define GET_TYPEDEF_CLASSES
#include "dialect/group/GroupTypes.cpp.inc"

void HovaDialect::registerGroupTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/group/GroupTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult
verifyExtents(llvm::function_ref<InFlightDiagnostic()> emitError,
              ArrayRef<int64_t> shape, size_t rank, Type element,
              bool takesIntegers = false) {
  if (shape.size() != rank ||
      !llvm::all_of(shape, [](int64_t size) { return size > 0; })) {
    return emitError() << "expects " << rank << " positive extents";
  }
  bool isInteger = takesIntegers && element.isInteger(32);
  if (!isInteger && !isa<Float32Type, BFloat16Type, Float16Type>(element)) {
    return emitError() << "expects elements of f32, bf16"
                       << (takesIntegers ? ", f16 or i32" : " or f16")
                       << ", got " << element;
  }
  return success();
}

LogicalResult
TileType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 ArrayRef<int64_t> shape, Type element,
                 TileDistribution distribution, int64_t rowMembers,
                 int64_t columnMembers) {
  if (failed(verifyExtents(emitError, shape, 2, element,
                           /*takesIntegers=*/true))) {
    return failure();
  }
  if (rowMembers <= 0 || columnMembers <= 0) {
    return emitError() << "expects positive numbers of members, got "
                       << rowMembers << "x" << columnMembers;
  }
  auto divides = [](int64_t members, int64_t extent) {
    return extent == 1 || extent % members == 0;
  };
  if (!divides(rowMembers, shape[0]) || !divides(columnMembers, shape[1])) {
    return emitError() << "expects members that divide " << shape[0] << "x"
                       << shape[1] << ", got " << rowMembers << "x"
                       << columnMembers;
  }
  if (distribution == TileDistribution::partial && shape[1] != 1) {
    return emitError() << "expects one column of a partial tile, got "
                       << shape[1];
  }
  return success();
}

/// `<` rows `x` columns `x` element `,` distribution row-members `x`
/// column-members
/// `>`
Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape, members;
  Type element;
  StringRef word;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma()) {
    return {};
  }
  SMLoc distributionPlace = parser.getCurrentLocation();
  if (parser.parseKeyword(&word)) {
    return {};
  }
  std::optional<TileDistribution> distribution =
      symbolizeTileDistribution(word);
  if (!distribution) {
    parser.emitError(distributionPlace,
                     "expected 'product', 'row' or 'partial', got '")
        << word << "'";
    return {};
  }
  if (parser.parseDimensionList(members, /*allowDynamic=*/false,
                                /*withTrailingX=*/false) ||
      parser.parseGreater()) {
    return {};
  }
  if (members.size() != 2) {
    parser.emitError(distributionPlace,
                     "expected members of rows and of columns");
    return {};
  }
  return getChecked([&] { return parser.emitError(place); },
                    parser.getContext(), shape, element, *distribution,
                    members[0], members[1]);
}

void TileType::print(AsmPrinter &printer) const {
  printer << "<" << rows() << "x" << columns() << "x" << getElementType()
          << ", " << stringifyTileDistribution(getDistribution()) << " "
          << getRowMembers() << "x" << getColumnMembers() << ">";
}

ShapedType TileType::cloneWith(std::optional<ArrayRef<int64_t>> shape,
                               Type element) const {
  return with(shape.value_or(getShape()), element, getDistribution());
}
bool TileType::hasRank() const { return true; }

LogicalResult
SlotsType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  ArrayRef<int64_t> shape, Type element) {
  return verifyExtents(emitError, shape, 3, element);
}

/// `<` slots `x` rows `x` columns `x` element `>`
Type SlotsType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseGreater()) {
    return {};
  }
  return getChecked([&] { return parser.emitError(place); },
                    parser.getContext(), shape, element);
}

void SlotsType::print(AsmPrinter &printer) const {
  printer << "<" << count() << "x" << rows() << "x" << columns() << "x"
          << getElementType() << ">";
}

ShapedType SlotsType::cloneWith(std::optional<ArrayRef<int64_t>> shape,
                                Type element) const {
  return get(getContext(), shape.value_or(getShape()), element);
}
bool SlotsType::hasRank() const { return true; }

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult hova::verifyRows(Operation *op, StringRef name,
                               MemRefType matrix) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(matrix.getStridesAndOffset(strides, offset)) ||
      matrix.isDynamicDim(1) || strides[1] != 1 ||
      ShapedType::isDynamic(strides[0])) {
    return op->emitOpError("expects ")
           << name << " to have static columns, a unit column stride and a "
           << "static row stride, got " << matrix;
  }
  return success();
}

LogicalResult hova::verifyInBounds(Operation *op, ArrayRef<bool> inBounds) {
  if (inBounds.size() != 2) {
    return op->emitOpError("expects in_bounds of rows and of columns, got ")
           << inBounds.size();
  }
  return success();
}

static LogicalResult verifyElement(Operation *op, StringRef name,
                                   ShapedType memory, Type element) {
  if (memory.getElementType() != element) {
    return op->emitOpError("expects ")
           << name << " to have elements of " << element << ", got " << memory;
  }
  return success();
}

LogicalResult GroupLoadOp::verify() {
  TileType tile = getTile().getType();
  auto matrix = dyn_cast<MemRefType>(getSource().getType());
  size_t indices = matrix ? 2 : 1;
  if (getIndices().size() != indices) { // C1
    return emitOpError("expects ")
           << indices << (matrix ? " indices" : " index") << ", got "
           << getIndices().size();
  }
  if (failed(verifyElement(*this, "source",
                           cast<ShapedType>(getSource().getType()),
                           tile.getElementType()))) { // C2
    return failure();
  }
  if (matrix) { // C3
    return success(succeeded(verifyRows(*this, "source", matrix)) &&
                   succeeded(verifyInBounds(*this, getInBounds())));
  }
  auto slots = cast<SlotsType>(getSource().getType());
  if (slots.getShape().drop_front() != tile.getShape()) { // C2
    return emitOpError("expects a tile of a whole box of ")
           << slots << ", got " << tile;
  }
  return success();
}

/// Of an operation whose body takes an element of each operand and a position.
/// Operands may be a product's where the result is partial.
static LogicalResult verifyBody(Operation *op, OperandRange operands,
                                TileType result, Block &body) {
  auto fits = [](int64_t extent, int64_t all) {
    return extent == 1 || extent == all;
  };
  if (body.getNumArguments() != operands.size() + 2) {
    return op->emitOpError("expects a body of ")
           << operands.size() + 2 << " arguments, got "
           << body.getNumArguments();
  }
  for (auto [operand, argument] : llvm::zip(operands, body.getArguments())) {
    auto type = cast<TileType>(operand.getType());
    bool isAlike = type.getDistribution() == result.getDistribution() ||
                   (result.getDistribution() == TileDistribution::partial &&
                    type.columns() == 1 &&
                    type.getDistribution() == TileDistribution::product);
    if (!isAlike || type.getRowMembers() != result.getRowMembers() ||
        type.getColumnMembers() != result.getColumnMembers() ||
        !fits(type.rows(), result.rows()) ||
        !fits(type.columns(), result.columns())) {
      return op->emitOpError("has an operand ")
             << type << " that does not fit the result " << result;
    }
    if (argument.getType() != type.getElementType()) {
      return op->emitOpError("takes ")
             << argument.getType() << " for an element of " << type;
    }
  }
  for (BlockArgument position : body.getArguments().take_back(2)) {
    if (!position.getType().isIndex()) {
      return op->emitOpError("takes ")
             << position.getType() << " for a position";
    }
  }
  return success();
}

LogicalResult GroupGatherOp::verify() {
  TileType tile = getTile().getType();
  Type element = getElementTypeOrSelf(getSource().getType());
  bool areIntegers = (element.isInteger(8) || element.isInteger(64)) &&
                     tile.getElementType().isInteger(32);
  auto matrix = dyn_cast<MemRefType>(getSource().getType());
  if ((!areIntegers &&
       failed(verifyElement(*this, "source",
                            cast<ShapedType>(getSource().getType()), // C1
                            tile.getElementType()))) ||
      (matrix && failed(verifyRows(*this, "source", matrix))) || // C2
      failed(verifyInBounds(*this, getInBounds()))) {
    return failure();
  }
  if (matrix && getSlot()) { // C2
    return emitOpError("expects no slot of a matrix");
  }
  Block &body = getBody().front();
  if (failed(verifyBody(*this, getBy(), tile, body))) { // C3, C5
    return failure();
  }
  TypeRange yielded =
      cast<GroupYieldOp>(body.getTerminator()).getOperandTypes();
  if (yielded.size() != 2 ||
      !llvm::all_of(yielded, [](Type type) { return type.isIndex(); })) { // C3
    return emitOpError("expects a body that yields two indices, a row and a "
                       "column of source, got (")
           << yielded << ")";
  }
  if (tile.getDistribution() == TileDistribution::partial) { // C4
    return emitOpError(
               "expects the distribution of a product or of a row, got ")
           << tile;
  }
  return success();
}

LogicalResult GroupStoreOp::verify() {
  TileType tile = getTile().getType();
  if (tile.getDistribution() == TileDistribution::partial) { // C3
    return emitOpError("expects no partial tile; reduce it first");
  }
  bool areBytes = getElementTypeOrSelf(getTarget().getType()).isInteger(8) &&
                  tile.getElementType().isInteger(32);
  return success(
      (areBytes ||
       succeeded(verifyElement(*this, "target", getTarget().getType(), // C1
                               tile.getElementType()))) &&
      succeeded(verifyRows(*this, "target", getTarget().getType())) && // C2
      succeeded(verifyInBounds(*this, getInBounds())));
}

LogicalResult GroupShareOp::verify() {
  TileType tile = getTile().getType();
  SlotsType slots = getSlots().getType();
  int64_t boxes = getSlot() ? 1 : slots.count();
  if (tile.rows() != slots.rows() ||
      tile.columns() != boxes * slots.columns() ||
      slots.getElementType() != tile.getElementType()) { // C1
    return emitOpError("expects a tile of ")
           << (getSlot() ? "a whole box" : "all boxes") << " of " << slots
           << ", got " << tile;
  }
  if (tile.rows() == 1 || tile.columns() == 1 ||
      tile.getDistribution() == TileDistribution::partial) { // C2
    return emitOpError("expects several rows and columns, of a tile that is "
                       "not partial, got ")
           << tile;
  }
  return success();
}

LogicalResult GroupCopyOp::verify() {
  if (!getRows().empty()) { // C3
    bool takesRow =
        llvm::hasSingleElement(getRows()) &&
        getRows().getArgumentTypes() == TypeRange(getRow().getType());
    auto yield = takesRow
                     ? dyn_cast<GroupYieldOp>(getRows().front().getTerminator())
                     : GroupYieldOp();
    if (!yield || yield.getOperandTypes() != TypeRange(getRow().getType())) {
      return emitOpError("expects a body of one index that yields one");
    }
  }
  MemRefType source = getSource().getType();
  Type element = getSlots().getType().getElementType();
  bool isWidened = element.isF32() && source.getElementTypeBitWidth() == 16;
  return success((isWidened || succeeded(verifyElement(*this, "source", source,
                                                       element))) && // C1
                 succeeded(verifyRows(*this, "source", source)) &&   // C2
                 succeeded(verifyInBounds(*this, getInBounds())));
}

LogicalResult GroupTransposeOp::verify() {
  TileType tile = getTile().getType(), result = getResult().getType();
  if (tile.columns() != 1 || tile.rows() == 1 || result.rows() != 1 ||
      result.columns() != tile.rows() ||
      tile.getElementType() != result.getElementType() ||
      tile.members() != result.members()) { // C1
    return emitOpError("expects a column of several rows, and a row of as many "
                       "elements of the same type and members, got ")
           << tile << " and " << result;
  }
  if (tile.getDistribution() == TileDistribution::partial ||
      result.getDistribution() == TileDistribution::partial) { // C2
    return emitOpError("expects no partial tile; reduce it first");
  }
  return success();
}

LogicalResult GroupProductOp::verify() {
  TileType sum = getSum().getType();
  auto lhs = cast<ShapedType>(getLhs().getType());
  auto lhsTile = dyn_cast<TileType>(lhs);
  if (bool(lhsTile) == bool(getLhsSlot())) { // C1
    return emitOpError("expects a slot index for a lhs of slots alone");
  }
  SlotsType rhs = getRhs().getType();
  int64_t rows = lhs.getShape().take_back(2)[0], depth = lhs.getShape().back();
  int64_t rhsDepth = getTransposed() ? rhs.columns() : rhs.rows();
  int64_t columns = getTransposed() ? rhs.rows() : rhs.columns();
  if (rows != sum.rows() || depth != rhsDepth || columns != sum.columns()) {
    return emitOpError("expects ") // C2
           << sum.rows() << "x" << depth << " times " << depth << "x"
           << sum.columns() << ", got " << rows << "x" << depth << " times "
           << rhsDepth << "x" << columns;
  }
  if (lhs.getElementType() != rhs.getElementType() ||
      !sum.getElementType().isF32()) { // C3
    return emitOpError("expects one element type of lhs and rhs, and f32 of "
                       "sum, got ")
           << lhs.getElementType() << ", " << rhs.getElementType() << " and "
           << sum.getElementType();
  }
  auto liesAsProduct = [&](TileType tile) {
    return tile.getDistribution() == TileDistribution::product &&
           tile.getRowMembers() == sum.getRowMembers();
  };
  if (!liesAsProduct(sum) ||
      (lhsTile && (!liesAsProduct(lhsTile) || sum.getColumnMembers() != 1 ||
                   lhsTile.getColumnMembers() != 1))) { // C4
    return emitOpError("expects tiles as a product leaves them, and a lhs tile "
                       "whose rows alone are divided, as those of sum are");
  }
  return success();
}

LogicalResult GroupReduceOp::verify() {
  TileType tile = getTile().getType(), result = getResult().getType();
  bool isNarrow = tile.getElementTypeBitWidth() == 16;
  Type element =
      isNarrow ? Float32Type::get(getContext()) : tile.getElementType();
  if (result !=
      tile.with({tile.rows(), 1}, element, result.getDistribution())) {
    return emitOpError("expects a result of ") // C1
           << tile.rows() << "x1x" << element << " and the tile's members, got "
           << result;
  }
  if (isNarrow && getCombine() != Combine::add) { // C1
    return emitOpError("expects f32 or i32 elements unless it adds, got ")
           << tile.getElementType();
  }
  bool was = tile.getDistribution() == TileDistribution::partial;
  bool is = result.getDistribution() == TileDistribution::partial;
  if (was ? is
          : !is && result.getDistribution() != tile.getDistribution()) { // C2
    return emitOpError("expects the distribution of ")
           << (was ? "a partial tile to become others"
                   : "the tile, or partial ones")
           << ", got '" << stringifyTileDistribution(result.getDistribution())
           << "'";
  }
  return success();
}

LogicalResult GroupExchangeOp::verify() {
  TileType tile = getTile().getType();
  if (!tile.getElementType().isF32() || tile.columns() % 2 != 0 ||
      tile.getDistribution() == TileDistribution::partial) { // C1
    return emitOpError("expects a tile of f32 with an even number of columns "
                       "that is not partial, got ")
           << tile;
  }
  return success();
}

LogicalResult GroupHalfOp::verify() {
  TileType tile = getTile().getType();
  if (!tile.getElementType().isF32() ||
      tile.getDistribution() != TileDistribution::product ||
      tile.columns() % (2 * tile.getColumnMembers()) != 0) { // C1
    return emitOpError("expects a tile of f32 as a product leaves it, with an "
                       "even number of columns for each member, got ")
           << tile;
  }
  TileType half = tile.with({tile.rows(), tile.columns() / 2},
                            tile.getElementType(), tile.getDistribution());
  if (getResult().getType() != half) { // C2
    return emitOpError("expects half of the columns, ")
           << half << ", got " << getResult().getType();
  }
  return success();
}

LogicalResult GroupMapOp::verify() {
  TileType result = getResult().getType();
  Block &body = getBody().front();
  if (failed(verifyBody(*this, getOperands(), result, body))) { // C1, C2
    return failure();
  }
  auto yield = cast<GroupYieldOp>(body.getTerminator());
  if (yield.getValues().getTypes() != TypeRange(result.getElementType())) {
    return emitOpError("yields another element than ") // C2
           << result.getElementType();
  }
  return success();
}

/// Whether a thread does this without the others.
static bool isOfOneThread(Operation *op) {
  if (auto reduce = dyn_cast<GroupReduceOp>(op)) {
    return reduce.getResult().getType().getDistribution() ==
           TileDistribution::partial;
  }
  // What others read, such as a number of a table, is for the thread alone.
  bool isOther = !isa<HovaDialect>(op->getDialect());
  return isa<GroupMapOp, GroupGatherOp, LoopLikeOpInterface>(op) ||
         isMemoryEffectFree(op) ||
         (isOther && hasSingleEffect<MemoryEffects::Read>(op));
}

LogicalResult GroupWhereOp::verify() {
  TileType condition = getCondition().getType(), result = getResult().getType();
  if (condition.columns() != 1 || !condition.getElementType().isF32() ||
      condition.getDistribution() != TileDistribution::product) { // C1
    return emitOpError("expects a column of f32 as a product leaves it, got ")
           << condition;
  }
  if (result != condition.with(condition.getShape(), condition.getElementType(),
                               TileDistribution::partial)) { // C2
    return emitOpError("expects a partial column of f32 of the condition's "
                       "rows and members, got ")
           << result;
  }
  auto yield = cast<GroupYieldOp>(getBody().front().getTerminator());
  if (yield.getValues().getTypes() != TypeRange(result)) { // C2
    return emitOpError("expects a body that yields ") << result;
  }
  WalkResult walk = getBody().walk([&](Operation *op) -> WalkResult {
    if (isOfOneThread(op)) {
      return WalkResult::advance();
    }
    return op->emitOpError("needs threads that 'hova.group_where' leaves out");
  });
  return failure(walk.wasInterrupted()); // C3
}

void HovaDialect::registerGroupOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/group/GroupOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "dialect/group/GroupOps.cpp.inc"
