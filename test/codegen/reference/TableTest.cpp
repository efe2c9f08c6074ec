//===- TableTest.cpp - Tables, as they are made and as they are defined ---===//
// SPDX-License-Identifier: Apache-2.0
//
// The compiler makes tables (`TableOpInterface::tabulate`), the evaluator
// defines them (`ReferenceOpInterface::evaluate`): each for itself, and alike.

#include "EvaluatorFixture.h"
#include "codegen/reference/Compare.h"

using namespace mlir;
using namespace hova;
using hova::test::floats;

namespace {

/// What both ways to fold weights store for the same operation, that of the
/// image and that of the reference.
class TableTest : public hova::test::EvaluatorTest {
protected:
  void expectEqual(const std::string &operation, const std::string &type,
                   const std::string &weight = "") {
    func::FuncOp weights =
        parse("func.func @weights() {" + weight + "\n%t = " + operation + "\n" +
                  "hova.store_weight \"t\", %t : " + type + "\nreturn }\n" +
                  "func.func @main() -> " + type +
                  "{ %t = hova.image_weight \"t\" : " + type +
                  "\n return %t : " + type + "}",
              "weights");
    HostTensor stored;
    ASSERT_TRUE(succeeded(
        evaluator.foldWeights(weights,
                              [&](StoreWeightOp, const HostTensor &value) {
                                stored = value;
                                return success();
                              })))
        << message;
    ASSERT_TRUE(succeeded(evaluator.foldWeights(weights))) << message;
    HostTensor defined = run(module->lookupSymbol<func::FuncOp>("main"), {});
    Comparison same = compareModel(stored, defined, defined);
    EXPECT_TRUE(same.within) << operation << ": " << same.reason;
    EXPECT_GT(same.elements, 0);
  }
};

std::string sides(int64_t height, int64_t width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

TEST_F(TableTest, compiler_and_evaluator_agree_about_windows) {
  const int64_t cases[][6] = {
      {2, 2, 0, 0, 4, 4}, {2, 2, 1, 1, 4, 4}, {3, 2, 1, 0, 6, 8},
      {3, 2, 0, 1, 6, 8}, {4, 3, 3, 1, 8, 9}, {3, 5, 2, 4, 9, 10},
  };
  for (auto &[h, w, down, right, gridH, gridW] : cases) {
    std::string rule = "<" + sides(h, w) + ", shift " + sides(down, right) +
                       ", grid " + sides(gridH, gridW) + ">";
    int64_t tokens = gridH * gridW, windows = tokens / (h * w);
    int64_t classes = (down ? 2 : 1) * (right ? 2 : 1);
    std::string table = std::to_string((2 * h - 1) * (2 * w - 1)) + "x3xf32";
    std::string places = std::to_string(h * w);
    std::string rows = "tensor<" + std::to_string(2 * tokens) + "xi32>";
    expectEqual("hova.row_table [#hova.window" + rule + "] source 2, " +
                    std::to_string(tokens) + ", 8 : " + rows,
                rows);
    std::string back = "hova.row_table [#hova.inverse<#hova.window" + rule +
                       ">] source " + std::to_string(2 * windows) + ", " +
                       places + ", 8 : " + rows;
    expectEqual(back, rows);
    std::string kinds = "tensor<" + std::to_string(windows) + "xi32>";
    expectEqual("hova.window_classes " + rule + " : " + kinds, kinds);
    std::string bias = "tensor<" + std::to_string(classes) + "x3x" + places +
                       "x" + places + "xf32>";
    expectEqual("hova.window_bias " + rule + " table(%w) : (tensor<" + table +
                    ">) -> " + bias,
                bias, "%w = hova.weight \"w\" : tensor<" + table + ">");
    std::string offsets =
        "tensor<" + std::to_string((2 * h - 1) * (2 * w - 1)) + "x2xf32>";
    expectEqual("hova.window_offsets " + rule + " reference 5, 1 : " + offsets,
                offsets);
  }
}

TEST_F(TableTest, compiler_and_evaluator_agree_about_merges_and_chains) {
  std::string rows = "tensor<96xi32>";
  expectEqual(
      "hova.row_table [#hova.merge<2x3, grid 4x12>] source 2, 48, 8 : " + rows,
      rows);
  expectEqual("hova.row_table [#hova.chain<#hova.inverse<#hova.window<2x2, "
              "shift 1x0, grid 4x12>>, #hova.merge<2x3, grid 4x12>>] source "
              "24, 4, 8 : " +
                  rows,
              rows);
}

TEST_F(TableTest, compiler_and_evaluator_agree_about_positions) {
  expectEqual("hova.sinusoid interleaved : tensor<40x7xf32>",
              "tensor<40x7xf32>");
  expectEqual("hova.sinusoid split : tensor<40x8xf32>", "tensor<40x8xf32>");
  expectEqual("hova.sinusoid interleaved {base = 2.0 : f64} : tensor<40x7xf32>",
              "tensor<40x7xf32>");
  expectEqual("hova.sinusoid split {base = 37.5 : f64} : tensor<40x8xf32>",
              "tensor<40x8xf32>");
}

/// Numbers around those of which tables are made, in the place of weights.
FailureOr<HostTensor> sharedWeight(WeightOp) {
  float inf = std::numeric_limits<float>::infinity();
  return floats({16},
                {-inf, -3, -0.5f, -0.25f, 0, 0.5f, 0.75f, 1.5f, 2.5f, 3.25f,
                 4.5f, 4.75f, 1e9f, 2147483648.0f, inf, std::nanf("")});
}

TEST_F(TableTest, compiler_and_evaluator_agree_about_numbers_of_weights) {
  evaluator = Evaluator(sharedWeight);
  std::string weight = "%w = hova.weight \"w\" : tensor<16xf32>";
  expectEqual("hova.index_table %w : tensor<16xf32> -> tensor<16xi32>",
              "tensor<16xi32>", weight);
  expectEqual("hova.head_factors %w {most = 100.0 : f64} : tensor<16xf32>",
              "tensor<16xf32>", weight);
}

} // namespace
