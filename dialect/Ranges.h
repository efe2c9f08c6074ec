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
//   [items, heads, blocks, rows, columns]                   rows: items
//
// The last are sums over blocks of an item's tokens: an item has room for the
// blocks of the longest, and what a run leaves there is of the blocks it has.
//
// Items may have tokens of two ranges, as those of a sentence and of what it is
// translated into. Then there is a table for each. Where both have one largest
// size, shapes do not tell them apart: arguments of the function say which one
// they are of (`hova.extent`), and who reads what decides the rest
// (`extentOf` in dialect/ranges/RangeMistakes.h).
//
// The rows of several layers' states, of which each token has one of each
// (`hova.index_sort`), are a second range, too: one that follows from the
// first.
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
/// one; perhaps those of other tokens after them, and how many of these each
/// token has where they are rows of several layers. Absent: shapes are fixed.
inline constexpr llvm::StringLiteral kRangesAttr = "hova.ranges";

/// Beside it: the parameters of the description that these are, or an empty
/// text for a size that is fixed.
inline constexpr llvm::StringLiteral kRangeNamesAttr = "hova.range_names";

/// On an argument or a result of a function with two ranges of tokens: which of
/// them it is of, by `nameOf`. On `hova.launch` of any program with ranges: of
/// what its units are so many times as many; absent where there are always as
/// many.
inline constexpr llvm::StringLiteral kExtentAttr = "hova.extent";

/// What the rows of a value are.
enum class Extent { fixed, items, tokens, otherTokens };

/// `tokens`, and so on; empty: fixed.
llvm::StringRef nameOf(Extent extent);
/// What has this name; `fixed` where nothing has.
Extent extentNamed(llvm::StringRef name);
/// Whether rows are tokens, of one range or of the other.
inline bool areTokens(Extent extent) { return extent >= Extent::tokens; }

struct SequenceRanges {
  int64_t leastItems = 1, items = 1;
  int64_t leastTokens = 1, tokens = 1;
  /// Of a second range; 0: there is none.
  int64_t leastOtherTokens = 0, otherTokens = 0;
  /// Where these are rows of so many layers for each token; else 0.
  int64_t layers = 0;

  /// Those of the function that `op` is or stands in; nothing where shapes are
  /// fixed.
  static std::optional<SequenceRanges> readFrom(mlir::Operation *op);
  /// The same; nothing where items all have as many tokens, too.
  static std::optional<SequenceRanges> ofTokens(mlir::Operation *op);
  mlir::Attribute asAttribute(mlir::MLIRContext *context) const;

  /// Whether items differ in their number of tokens.
  bool haveTokens() const {
    return leastTokens < tokens || leastOtherTokens < otherTokens;
  }
  bool haveOtherTokens() const { return otherTokens > 0; }
  /// Makes rows of so many layers the second range.
  void setLayers(int64_t count);
  /// Whether shapes leave open which tokens rows are.
  bool areAlike() const { return otherTokens == tokens; }
  /// The largest number of tokens in an item, and of rows.
  int64_t tokensOf(Extent extent) const {
    return extent == Extent::otherTokens ? otherTokens : tokens;
  }
  int64_t countRows(Extent extent = Extent::tokens) const {
    return items * tokensOf(extent);
  }
  /// The table of a run's sequences (`hova.sequence_buffer`): where its parts
  /// begin after that of a range of tokens, and how many integers it has.
  static constexpr int64_t kItems = 0, kRows = 1, kFirstRows = 2;
  int64_t placeOfTable(Extent extent) const {
    return extent == Extent::otherTokens ? placeOfPositions() + countRows() : 0;
  }
  int64_t placeOfPositions() const { return kFirstRows + items + 1; }
  int64_t countWords() const {
    int64_t first = placeOfTable(Extent::otherTokens);
    return haveOtherTokens()
               ? first + placeOfPositions() + countRows(Extent::otherTokens)
               : first;
  }
  /// What the table is to a kernel: one row.
  mlir::MemRefType tableType(mlir::MLIRContext *context) const;
  /// The table of a run of the largest sizes.
  llvm::SmallVector<int32_t> makeLargestTable() const;
  /// The extent of what is computed from inputs, or of an input: that of the
  /// first range where its type may be of both.
  Extent extentOf(mlir::Type type) const;
  /// Whether what has this type may have such rows.
  bool mayBe(mlir::Type type, Extent extent) const;
  /// The extent of an argument of the function `main`.
  Extent extentOfArgument(mlir::FunctionOpInterface main,
                          unsigned number) const;
};

} // namespace hova

#endif // HOVA_DIALECT_RANGES_H
