//===- NameScores.cpp - What values of a score region are called ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/NameScores.h"

#include "dialect/Site.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace hova::frontend {

/// What the name of a captured tensor ends with: its elements have the name.
static constexpr llvm::StringLiteral kTable = "_table";

static void setName(Value value, const Twine &name) {
  auto text = StringAttr::get(value.getContext(), name);
  value.setLoc(NameLoc::get(text, value.getLoc()));
}

/// The name that a value was given; empty without.
static StringRef nameOf(Value value) {
  auto name = dyn_cast<NameLoc>(value.getLoc());
  return name ? name.getName().strref() : StringRef();
}

/// `slope` of decoder.0.slope, and of slope.weight, the weight of a layer.
static StringRef lastWord(StringRef path) {
  path.consume_back(".weight");
  return path.substr(path.find_last_of('.') + 1);
}

template <typename Predicate> static StringRef wordOf(Predicate predicate) {
  return llvm::StringSwitch<StringRef>(stringifyEnum(predicate))
      .Cases({"eq", "oeq"}, "equal")
      .Cases({"ne", "une"}, "unequal")
      .Cases({"slt", "olt"}, "less")
      .Cases({"sle", "ole"}, "at_most")
      .Cases({"sgt", "ogt"}, "more")
      .Cases({"sge", "oge"}, "at_least")
      .Default("compared");
}

/// What an operation makes of its operands; functions have their own names.
static StringRef wordOf(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    return wordOf(compare.getPredicate());
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    return wordOf(compare.getPredicate());
  }
  StringRef mnemonic = op->getName().stripDialect();
  return llvm::StringSwitch<StringRef>(mnemonic)
      .Cases({"addf", "addi"}, "sum")
      .Cases({"subf", "subi"}, "difference")
      .Cases({"mulf", "muli"}, "product")
      .Cases({"divf", "floordivsi"}, "quotient")
      .Case("remsi", "rest")
      .Cases({"maximumf", "maxsi"}, "max")
      .Cases({"minimumf", "minsi"}, "min")
      .Case("negf", "negated")
      .Case("absf", "abs")
      .Case("andi", "both")
      .Case("ori", "either")
      .Case("xori", "unlike")
      .Case("select", "chosen")
      .Default(mnemonic);
}

/// `c5`, `true`.
static std::string nameOfConstant(arith::ConstantOp constant) {
  auto integer = dyn_cast<IntegerAttr>(constant.getValue());
  if (!integer) {
    return "cst";
  }
  if (integer.getType().isInteger(1)) {
    return integer.getValue().isZero() ? "false" : "true";
  }
  return "c" + std::to_string(integer.getInt());
}

static std::string nameFor(Operation *op, ScoreRegion region) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    return nameOfConstant(constant);
  }
  if (auto element = dyn_cast<ElementOp>(op)) {
    StringRef table = nameOf(element.getTable());
    return table.drop_back(table.ends_with(kTable) ? kTable.size() : 0).str();
  }
  if (isa<CastOpInterface>(op)) {
    // The same in another type.
    return nameOf(op->getOperand(0)).str();
  }
  bool isScaled =
      isa<arith::MulFOp>(op) && op->getOperand(0) == region.getRaw();
  return isScaled ? "scaled" : wordOf(op).str();
}

void nameScores(ScoreRegion region, ValueRange captured) {
  StringRef words[] = {"raw", "batch", "head", "query", "key"};
  Block &block = region.getBlock();
  for (auto [argument, word] : llvm::zip(block.getArguments(), words)) {
    setName(argument, word);
  }
  for (auto [argument, operand] : llvm::zip(region.getCaptured(), captured)) {
    setName(argument, lastWord(pathOf(operand.getLoc())) + kTable);
  }
  ScoreYieldOp yield = region.getYield();
  llvm::SmallDenseMap<Value, StringRef> roles;
  for (auto [value, role] :
       {std::pair<Value, StringRef>(yield.getScore(), "score"),
        std::pair<Value, StringRef>(yield.getKept(), "kept")}) {
    bool isMade =
        value.getDefiningOp() && !isa<arith::ConstantOp>(value.getDefiningOp());
    if (isMade) {
      roles[value] = role;
    }
  }
  for (Operation &op : block.without_terminator()) {
    Value result = op.getResult(0);
    auto role = roles.find(result);
    setName(result,
            role == roles.end() ? nameFor(&op, region) : role->second.str());
  }
}

} // namespace hova::frontend
