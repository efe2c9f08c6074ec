//===- Tile.cpp - The dialect of tiles, as a plugin -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Tile.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "TileDialect.cpp.inc"
#include "TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "Tile.cpp.inc"

namespace tile {

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "TileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Tile.cpp.inc"
      >();
}

/// `<` rows `x` columns `x` element `,` along row-members `x` column-members
/// `>`
Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape, members;
  Type element;
  StringRef word;
  if (parser.parseLess() || parser.parseDimensionList(shape, false) ||
      parser.parseType(element) || parser.parseComma() ||
      parser.parseKeyword(&word) ||
      parser.parseDimensionList(members, false, false) ||
      parser.parseGreater()) {
    return {};
  }
  std::optional<Along> along = symbolizeAlong(word);
  if (!along || shape.size() != 2 || members.size() != 2) {
    parser.emitError(parser.getNameLoc(),
                     "expected `product` or `row` and two extents each of tile "
                     "and members");
    return {};
  }
  return get(parser.getContext(), shape, element, *along, members[0],
             members[1]);
}

void TileType::print(AsmPrinter &printer) const {
  printer << "<" << rows() << "x" << columns() << "x" << getElementType()
          << ", " << stringifyAlong(getAlong()) << " " << getRowMembers() << "x"
          << getColumnMembers() << ">";
}

ShapedType TileType::cloneWith(std::optional<ArrayRef<int64_t>> shape,
                               Type element) const {
  return with(shape.value_or(getShape()), element);
}
bool TileType::hasRank() const { return true; }

static bool sameDistribution(TileType a, TileType b) {
  return a.with(b.getShape(), b.getElementType()) == b;
}

LogicalResult ProductOp::verify() {
  auto lhsTile = dyn_cast<TileType>(getLhs().getType());
  if (bool(lhsTile) == bool(getLhsSlot())) { // C1
    return emitOpError("expects a slot index for a left operand in memory "
                       "alone");
  }
  TileType sum = getSum().getType();
  int64_t depth = boxColumns(getLhs().getType());
  int64_t rhsRows = boxRows(getRhs().getType());
  int64_t rhsColumns = boxColumns(getRhs().getType());
  if (getTransposed()) {
    std::swap(rhsRows, rhsColumns);
  }
  if (boxRows(getLhs().getType()) != sum.rows() || rhsRows != depth ||
      rhsColumns != sum.columns()) { // C2
    return emitOpError("expects ")
           << sum.rows() << "x" << depth << " times " << depth << "x"
           << sum.columns() << ", got " << rhsRows << "x" << rhsColumns
           << " on the right";
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  TileType tile = getTile().getType(), result = getResult().getType();
  if (result != tile.with({tile.rows(), 1}, tile.getElementType())) {
    return emitOpError("expects a result of one column, distributed as tile");
  }
  return success();
}

LogicalResult MapOp::verify() {
  TileType result = getResult().getType();
  Block &body = getBody().front();
  auto fits = [](int64_t own, int64_t all) { return own == 1 || own == all; };
  if (body.getNumArguments() != getOperands().size() + 2) { // C2
    return emitOpError("expects a body of ")
           << getOperands().size() + 2 << " arguments";
  }
  for (auto [operand, argument] :
       llvm::zip(getOperands(), body.getArguments())) {
    auto type = cast<TileType>(operand.getType());
    if (!sameDistribution(type, result) || !fits(type.rows(), result.rows()) ||
        !fits(type.columns(), result.columns())) { // C1
      return emitOpError("has an operand ")
             << type << " that does not fit " << result;
    }
    if (argument.getType() != type.getElementType()) { // C2
      return emitOpError("takes ")
             << argument.getType() << " for an element of " << type;
    }
  }
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValues().getTypes() != TypeRange(result.getElementType())) {
    return emitOpError("yields another element than ") // C2
           << result.getElementType();
  }
  return success();
}

} // namespace tile

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tile", "0", [](DialectRegistry *registry) {
            registry->insert<tile::TileDialect>();
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tile", "0", [] {
            registerPass(tile::createLowerToLoopsPass);
            registerPass(tile::createLowerToThreadsPass);
          }};
}
