//===- RangeMistakes.h - What cannot be for a range of sizes ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_RANGES_RANGEMISTAKES_H
#define HOVA_DIALECT_RANGES_RANGEMISTAKES_H

#include "dialect/Ranges.h"

namespace hova {

/// The extent of a value in a program with ranges; fixed where there are none,
/// and for what is made of weights.
Extent extentOf(mlir::Value value);

/// Whether a value is a number for each token, [items, tokens], of items of any
/// length: in memory these are one row, without gaps between the items.
bool isPacked(mlir::Value value);

/// The keys that sums of a linear attention are over, whichever kernels compute
/// and merge these; null where a value is no such sums.
mlir::Value keysOfSums(mlir::Value sums);

/// Makes the rows of several layers a second range where `main` has such and no
/// second one yet.
void addRowsOfLayers(mlir::FunctionOpInterface main, SequenceRanges &ranges);

/// An operation that cannot be part of a program with ranges.
struct RangeMistake {
  mlir::Operation *op;
  std::string why; ///< a sentence without its end
};

/// The first one of `main`, in which items alone are a range.
std::optional<RangeMistake> findItemMistake(mlir::FunctionOpInterface main,
                                            const SequenceRanges &ranges);
/// The first one of `main`, which has ranges.
std::optional<RangeMistake> findRangeMistake(mlir::FunctionOpInterface main);

} // namespace hova

#endif // HOVA_DIALECT_RANGES_RANGEMISTAKES_H
