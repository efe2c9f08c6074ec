//===- Ranges.cpp - Programs for sequences of any size --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Ranges.h"

using namespace mlir;

namespace hova {

std::optional<SequenceRanges> SequenceRanges::readFrom(Operation *op) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  function = function ? function : op->getParentOfType<FunctionOpInterface>();
  auto numbers = function
                     ? function->getAttrOfType<DenseI64ArrayAttr>(kRangesAttr)
                     : DenseI64ArrayAttr();
  if (!numbers) {
    return std::nullopt;
  }
  return SequenceRanges{numbers[0], numbers[1], numbers[2], numbers[3]};
}

std::optional<SequenceRanges> SequenceRanges::ofTokens(Operation *op) {
  std::optional<SequenceRanges> ranges = readFrom(op);
  return ranges && ranges->haveTokens() ? ranges : std::nullopt;
}

Attribute SequenceRanges::asAttribute(MLIRContext *context) const {
  return DenseI64ArrayAttr::get(context,
                                {leastItems, items, leastTokens, tokens});
}

MemRefType SequenceRanges::tableType(MLIRContext *context) const {
  return MemRefType::get({1, countWords()}, IntegerType::get(context, 32));
}

SmallVector<int32_t> SequenceRanges::makeLargestTable() const {
  SmallVector<int32_t> table(countWords());
  table[kItems] = items;
  table[kRows] = countRows();
  for (int64_t item = 0; item <= items; ++item) {
    table[kFirstRows + item] = item * tokens;
  }
  for (int64_t row = 0; row < countRows(); ++row) {
    table[placeOfPositions() + row] = row % tokens;
  }
  return table;
}

Extent SequenceRanges::extentOf(Type type) const {
  auto shaped = cast<ShapedType>(type);
  ArrayRef<int64_t> shape = shaped.getShape();
  if (!haveTokens()) {
    return shape.size() > 1 && shape[0] % items == 0 ? Extent::items
                                                     : Extent::fixed;
  }
  bool hasTokens = shape.size() >= 2 && shape[0] == items && shape[1] == tokens;
  if (hasTokens && (shape.size() == 3 || shaped.getElementType().isInteger())) {
    return Extent::tokens;
  }
  return shape.size() == 2 && shape[0] == items ? Extent::items : Extent::fixed;
}

} // namespace hova
