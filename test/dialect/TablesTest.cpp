//===- TablesTest.cpp - Numbers of the tables that programs read ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tables of numbers that a weight has, element by element; those of rows and
// windows are the subject of PlacementTest.cpp.

#include "dialect/HovaDialect.h"
#include "dialect/Interfaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace hova;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What the table of one operation holds for the elements `x`.
std::vector<double> tabulate(const std::string &operation,
                             const std::vector<float> &x) {
  MLIRContext context;
  context.loadDialect<HovaDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(
      "func.func private @table(%x: tensor<?xf32>) {\n%t = " + operation +
          "\nreturn\n}",
      &context);
  EXPECT_TRUE(module);
  HostTensor operand(HostTensor::Element::F32, static_cast<int64_t>(x.size()));
  std::copy(x.begin(), x.end(), operand.mutableAs<float>());
  std::vector<double> numbers;
  module->walk([&](TableOpInterface table) {
    SmallVector<HostTensor> results;
    table.tabulate(operand, results);
    for (int64_t i = 0; i < results.front().size(); ++i) {
      numbers.push_back(results.front().at(i));
    }
  });
  return numbers;
}

TEST(IndexTable, rounds_to_even_and_knows_what_is_no_index) {
  EXPECT_EQ(tabulate("hova.index_table %x : tensor<?xf32> -> tensor<?xi32>",
                     {-3, -0.75f, -0.5f, -0.25f, 0, 0.5f, 0.75f, 1, 1.5f, 2.5f,
                      3.25f, 4.75f, 2147483520.0f, 2147483648.0f, -kInfinity,
                      kInfinity, std::nanf("")}),
            (std::vector<double>{-1, -1, 0, 0, 0, 0, 1, 1, 2, 2, 3, 5,
                                 2147483520, -1, -1, -1, -1}));
}

TEST(HeadFactors, are_bounded_powers_of_e) {
  std::vector<double> factors =
      tabulate("hova.head_factors %x {most = 100.0 : f64} : tensor<?xf32>",
               {-kInfinity, 0, 1, 4.5f, 4.75f, kInfinity, std::nanf("")});
  ASSERT_EQ(factors.size(), 7u);
  EXPECT_EQ(factors[0], 0);
  EXPECT_EQ(factors[1], 1);
  EXPECT_DOUBLE_EQ(factors[2], 2.718281828459045);
  EXPECT_DOUBLE_EQ(factors[3], 90.01713130052181);
  EXPECT_EQ(factors[4], 100);
  EXPECT_EQ(factors[5], 100);
  EXPECT_TRUE(std::isnan(factors[6]));
}

} // namespace
