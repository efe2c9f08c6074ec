//===- RepeatedRowsTest.cpp - Rows of operands that repeat ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/RepeatedRows.h"
#include <gtest/gtest.h>

using namespace hova;
using namespace mlir;

namespace {

/// The row of the operand that each row of the result meets, counted as NumPy
/// does: axis by axis.
std::vector<int64_t> countedRows(ArrayRef<int64_t> operand,
                                 ArrayRef<int64_t> shape) {
  std::vector<int64_t> rows = {0};
  int64_t operandRows = 1;
  for (size_t i = 2; i <= shape.size(); ++i) {
    int64_t size = shape[shape.size() - i];
    int64_t operandSize = i <= operand.size() ? operand[operand.size() - i] : 1;
    std::vector<int64_t> outer;
    for (int64_t index = 0; index < size; ++index) {
      for (int64_t row : rows) {
        outer.push_back((operandSize == 1 ? 0 : index * operandRows) + row);
      }
    }
    rows = std::move(outer);
    operandRows *= operandSize;
  }
  return rows;
}

TEST(RepeatedRows, are_those_of_the_axes) {
  struct {
    SmallVector<int64_t> operand, shape;
  } cases[] = {
      {{3, 8}, {2, 3, 8}},                   // a table
      {{8}, {2, 3, 8}},                      // a vector
      {{1}, {2, 3, 8}},                      // a factor
      {{2, 1, 8}, {2, 3, 8}},                // a row of each item
      {{1, 3, 8}, {2, 3, 8}},                // an item for all
      {{4, 1}, {2, 3, 4, 8}},                // a factor of each head
      {{2, 1, 4, 1}, {2, 3, 4, 8}},          // on both sides
      {{3, 1, 1}, {2, 3, 4, 8}},             // in the middle
      {{5, 1, 2, 3, 8}, {4, 5, 7, 2, 3, 8}}, // two neighbours
      {{5, 1, 1, 3, 8}, {4, 5, 1, 2, 3, 8}}, // an axis of one in both
      {{2, 1, 3, 1, 5, 6}, {2, 4, 3, 2, 5, 6}},
  };
  for (const auto &[operand, shape] : cases) {
    std::vector<int64_t> rows = countedRows(operand, shape);
    for (size_t row = 0; row < rows.size(); ++row) {
      // Constants meet in C++.
      Expr found = repeatedRow(Expr(row), operand, shape);
      EXPECT_TRUE(found.isSame(Expr(rows[row]))) << row;
    }
  }
}

} // namespace
