//===- Ranges.h - Programs for sequences of any size ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A program may be for a range of items and of tokens in an item (`hova.ranges`
// on its function). Its types say the largest sizes: that is what phases decide
// by, and what it means where a run has these. In a run with fewer, the rows of
// the items stand one after the other without gaps, and a table says where each
// begins. So the *extent* of a value follows from its shape alone:
//
//   [items, tokens] of integers, [items, tokens, columns]   rows: tokens
//   [items, columns]                                        rows: items
//
// Where items alone are a range, each is as any other: values that begin with
// an axis of items, or of so many for each, have those of a run first, where
// they are in the largest.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_DIALECT_RANGES_H
#define HOVA_DIALECT_RANGES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>
#include <string>

namespace hova {

/// On a function: the least and the largest number of items, and of tokens in
/// one. Absent: shapes are fixed.
inline constexpr llvm::StringLiteral kRangesAttr = "hova.ranges";

/// Beside it: the parameters of the description that these are, or an empty
/// text for a size that is fixed.
inline constexpr llvm::StringLiteral kRangeNamesAttr = "hova.range_names";

/// What the rows of a value are.
enum class Extent { fixed, items, tokens };

struct SequenceRanges {
  int64_t leastItems = 1, items = 1;
  int64_t leastTokens = 1, tokens = 1;

  /// Those of the function that `op` is or stands in; nothing where shapes are
  /// fixed.
  static std::optional<SequenceRanges> readFrom(mlir::Operation *op);
  /// The same; nothing where items all have as many tokens, too.
  static std::optional<SequenceRanges> ofTokens(mlir::Operation *op);
  mlir::Attribute asAttribute(mlir::MLIRContext *context) const;

  /// Whether items differ in their number of tokens.
  bool haveTokens() const { return leastTokens < tokens; }
  int64_t countRows() const { return items * tokens; }
  /// The table of a run's sequences (`hova.sequence_buffer`): where its parts
  /// begin, and how many integers it has.
  static constexpr int64_t kItems = 0, kRows = 1, kFirstRows = 2;
  int64_t placeOfPositions() const { return kFirstRows + items + 1; }
  int64_t countWords() const { return placeOfPositions() + countRows(); }
  /// What the table is to a kernel: one row.
  mlir::MemRefType tableType(mlir::MLIRContext *context) const;
  /// The table of a run of the largest sizes.
  llvm::SmallVector<int32_t> makeLargestTable() const;
  /// The extent of what is computed from inputs, or of an input.
  Extent extentOf(mlir::Type type) const;
};

} // namespace hova

#endif // HOVA_DIALECT_RANGES_H
