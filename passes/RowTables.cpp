//===- RowTables.cpp - Where a kernel's rows are in another order ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/RowTables.h"

using namespace mlir;

namespace hova {

/// Numbers of arguments: `values` are the kernel's arguments, or what it
/// yields.
static LogicalResult checkNumbers(KernelOp kernel, StringRef attribute,
                                  ValueRange values) {
  Attribute given = kernel->getAttr(attribute);
  auto numbers = dyn_cast_or_null<DenseI64ArrayAttr>(given);
  ValueRange arguments = kernel.getBody().getArguments();
  auto isTableOf = [&](Value value, int64_t number) {
    if (number < 0 || number >= static_cast<int64_t>(arguments.size())) {
      return number == -1;
    }
    auto table = cast<RankedTensorType>(arguments[number].getType());
    auto rows = cast<RankedTensorType>(value.getType());
    return table.getElementType().isInteger(32) && table.getRank() == 1 &&
           rows.getRank() > 0;
  };
  if (!given ||
      (numbers && static_cast<size_t>(numbers.size()) <= values.size() &&
       llvm::all_of(llvm::zip_first(numbers.asArrayRef(), values),
                    [&](const auto &pair) {
                      auto [number, value] = pair;
                      return isTableOf(value, number);
                    }))) {
    return success();
  }
  return kernel.emitOpError("expects '")
         << attribute << "' to be -1 or the number of a row table among its "
         << arguments.size() << " arguments, got " << given;
}

LogicalResult checkRowTables(KernelOp kernel) {
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  return success(
      succeeded(checkNumbers(kernel, kInputRowsAttr,
                             kernel.getBody().getArguments())) &&
      succeeded(checkNumbers(kernel, kResultRowsAttr, yield.getValues())));
}

} // namespace hova
