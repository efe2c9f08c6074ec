//===- Ranges.cpp - Programs for sequences of any size --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Ranges.h"

using namespace mlir;

namespace hova {

/// In the order of Extent.
static constexpr StringLiteral extentNames[] = {"", "items", "tokens",
                                                "other_tokens"};

StringRef nameOf(Extent extent) {
  return extentNames[static_cast<size_t>(extent)];
}

Extent extentNamed(StringRef name) {
  auto found = llvm::find(extentNames, name);
  return found == std::end(extentNames)
             ? Extent::fixed
             : static_cast<Extent>(found - std::begin(extentNames));
}

/// Axes of sums over blocks of an item's tokens (hova.key_summary).
static constexpr size_t kSummaryRank = 5;

std::optional<SequenceRanges> SequenceRanges::readFrom(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  function = function ? function : op->getParentOfType<FunctionOpInterface>();
  auto numbers = function
                     ? function->getAttrOfType<DenseI64ArrayAttr>(kRangesAttr)
                     : DenseI64ArrayAttr();
  if (!numbers) {
    return std::nullopt;
  }
  SequenceRanges ranges{numbers[0], numbers[1], numbers[2], numbers[3]};
  if (numbers.size() > 4) {
    ranges.leastOtherTokens = numbers[4];
    ranges.otherTokens = numbers[5];
  }
  ranges.layers = numbers.size() > 6 ? numbers[6] : 0;
  return ranges;
}

std::optional<SequenceRanges> SequenceRanges::ofTokens(Operation *op) {
  std::optional<SequenceRanges> ranges = readFrom(op);
  return ranges && ranges->haveTokens() ? ranges : std::nullopt;
}

Attribute SequenceRanges::asAttribute(MLIRContext *context) const {
  SmallVector<int64_t> numbers = {leastItems, items, leastTokens, tokens};
  if (haveOtherTokens()) {
    numbers.append({leastOtherTokens, otherTokens});
  }
  if (layers) {
    numbers.push_back(layers);
  }
  return DenseI64ArrayAttr::get(context, numbers);
}

void SequenceRanges::setLayers(int64_t count) {
  layers = count;
  leastOtherTokens = count * leastTokens;
  otherTokens = count * tokens;
}

MemRefType SequenceRanges::tableType(MLIRContext *context) const {
  return MemRefType::get({1, countWords()}, IntegerType::get(context, 32));
}

SmallVector<int32_t> SequenceRanges::makeLargestTable() const {
  SmallVector<int32_t> words(countWords());
  for (Extent extent : {Extent::tokens, Extent::otherTokens}) {
    if (extent == Extent::otherTokens && !haveOtherTokens()) {
      break;
    }
    int32_t *table = words.data() + placeOfTable(extent);
    int64_t length = tokensOf(extent), rows = countRows(extent);
    table[kItems] = items;
    table[kRows] = rows;
    for (int64_t item = 0; item <= items; ++item) {
      table[kFirstRows + item] = item * length;
    }
    for (int64_t row = 0; row < rows; ++row) {
      table[placeOfPositions() + row] = row % length;
    }
  }
  return words;
}

bool SequenceRanges::mayBe(Type type, Extent extent) const {
  auto shaped = cast<ShapedType>(type);
  ArrayRef<int64_t> shape = shaped.getShape();
  if (!areTokens(extent)) {
    return extentOf(type) == extent;
  }
  bool isThere = extent == Extent::tokens || haveOtherTokens();
  return haveTokens() && isThere && shape.size() >= 2 && shape[0] == items &&
         shape[1] == tokensOf(extent) &&
         (shape.size() == 3 || shaped.getElementType().isInteger());
}

Extent SequenceRanges::extentOf(Type type) const {
  ArrayRef<int64_t> shape = cast<ShapedType>(type).getShape();
  if (!haveTokens()) {
    return shape.size() > 1 && shape[0] % items == 0 ? Extent::items
                                                     : Extent::fixed;
  }
  for (Extent extent : {Extent::tokens, Extent::otherTokens}) {
    if (mayBe(type, extent)) {
      return extent;
    }
  }
  bool isOfItems = shape.size() == 2 || shape.size() == kSummaryRank;
  return isOfItems && shape[0] == items ? Extent::items : Extent::fixed;
}

Extent SequenceRanges::extentOfArgument(FunctionOpInterface main,
                                        unsigned number) const {
  auto name = main.getArgAttrOfType<StringAttr>(number, kExtentAttr);
  return name ? extentNamed(name.getValue())
              : extentOf(main.getArgument(number).getType());
}

} // namespace hova
