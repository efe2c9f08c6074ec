//===- EvaluatorTest.cpp - Executing hova IR ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the golden vectors cannot show: precision, kernels, the folding
// function, observers and errors.

#include "EvaluatorFixture.h"
#include "codegen/reference/Compare.h"
#include "codegen/reference/Inputs.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/evaluate/Evaluate.h"

using namespace mlir;
using namespace hova;
using hova::test::EvaluatorTest;
using hova::test::floats;

namespace {

using Element = HostTensor::Element;

HostTensor ids(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values) {
  HostTensor tensor(Element::I64, shape);
  std::copy(values.begin(), values.end(), tensor.mutableAs<int64_t>());
  return tensor;
}

constexpr const char *kDoubled = R"mlir(
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %y = hova.scale %x {factor = 0.1 : f64} : tensor<3xf32>
    %z = hova.add %y, %y : tensor<3xf32>, tensor<3xf32>
    return %z : tensor<3xf32>
  })mlir";

TEST_F(EvaluatorTest, double_precision_computes_in_float64) {
  HostTensor y = run(parse(kDoubled), {floats({3}, {1, 2, 3})});
  ASSERT_EQ(y.getElement(), Element::F64);
  EXPECT_EQ(y.as<double>()[0], 0.1 + 0.1);
}

TEST_F(EvaluatorTest, single_precision_rounds_every_result) {
  HostTensor y =
      run(parse(kDoubled), {floats({3}, {1, 2, 3})}, Precision::Single);
  ASSERT_EQ(y.getElement(), Element::F32);
  EXPECT_EQ(y.as<float>()[2], 2 * (0.1f * 3.0f));
}

TEST_F(EvaluatorTest, sums_of_a_single_run_are_rounded_in_order) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%x: tensor<1x3xf32>, %w: tensor<3x1xf32>)
        -> tensor<1x1xf32> {
      %y = hova.linear %x, %w
          : tensor<1x3xf32>, tensor<3x1xf32> -> tensor<1x1xf32>
      return %y : tensor<1x1xf32>
    })mlir");
  HostTensor x = floats({1, 3}, {1, 0x1p24f, -0x1p24f});
  HostTensor w = floats({3, 1}, {1, 1, 1});
  EXPECT_EQ(run(main, {x, w}, Precision::Single).at(0), 0.0);
  EXPECT_EQ(run(main, {x, w}).at(0), 1.0);
}

TEST_F(EvaluatorTest, dynamic_dimensions_take_their_size_from_the_values) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %y = hova.activation relu %x : tensor<?x?xf32>
      return %y : tensor<?x?xf32>
    })mlir");
  HostTensor y = run(main, {floats({2, 1}, {-1, 2})});
  EXPECT_EQ(y.getShape(), llvm::ArrayRef<int64_t>({2, 1}));
  EXPECT_EQ(y.at(0), 0.0);
}

constexpr const char *kKernel = R"mlir(
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = hova.kernel "act" (%x) {
    ^bb0(%a: tensor<4xf32>):
      %r = hova.activation relu %a : tensor<4xf32> loc("encoder.0.relu")
      %s = hova.scale %r {factor = 2.0 : f64} : tensor<4xf32> loc("encoder.0.twice")
      hova.yield %s : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  })mlir";

TEST_F(EvaluatorTest, kernels_are_evaluated_in_place) {
  HostTensor y = run(parse(kKernel), {floats({4}, {-1, 0, 1, 2})});
  EXPECT_EQ(y.at(0), 0.0);
  EXPECT_EQ(y.at(3), 4.0);
}

TEST_F(EvaluatorTest, observers_see_every_value_with_its_layer) {
  std::vector<std::string> seen;
  evaluator.setObserver([&](OpResult result, const HostTensor &) {
    Operation *op = result.getOwner();
    auto kernel = dyn_cast<KernelOp>(op);
    seen.push_back((kernel ? resultPath(kernel, result.getResultNumber())
                           : pathOf(op->getLoc()))
                       .str());
  });
  run(parse(kKernel), {floats({4}, {-1, 0, 1, 2})});
  EXPECT_EQ(seen, (std::vector<std::string>{"encoder.0.relu", "encoder.0.twice",
                                            "encoder.0.twice"}));
}

constexpr const char *kWeights = R"mlir(
  func.func @weights() {
    %w = hova.weight "w" : tensor<2x3xf32>
    %p = hova.pack %w[#hova.column_strips<2>] : tensor<2x3xf32> -> tensor<2x2x2xf32>
    hova.store_weight "w.packed", %p : tensor<2x2x2xf32>
    %t = hova.transpose %w : tensor<2x3xf32> -> tensor<3x2xf32>
    hova.store_weight "w.transposed", %t : tensor<3x2xf32>
    return
  }
  func.func @main(%x: tensor<1x2xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
    %w = hova.image_weight "w.packed" {layout = #hova.column_strips<2>} : tensor<2x3xf32>
    %y = hova.linear %x, %w : tensor<1x2xf32>, tensor<2x3xf32> -> tensor<1x3xf32>
    %t = hova.image_weight "w.transposed" : tensor<3x2xf32>
    %z = hova.linear %x, %t {transposed}
        : tensor<1x2xf32>, tensor<3x2xf32> -> tensor<1x3xf32>
    return %y, %z : tensor<1x3xf32>, tensor<1x3xf32>
  })mlir";

TEST_F(EvaluatorTest, main_reads_what_the_folding_function_stored) {
  func::FuncOp main = parse(kWeights);
  ASSERT_TRUE(succeeded(
      evaluator.foldWeights(module->lookupSymbol<func::FuncOp>("weights"))));
  auto results = evaluator.run(main, {floats({1, 2}, {1, 10})});
  ASSERT_TRUE(succeeded(results)) << message;
  for (const HostTensor &result : *results) {
    EXPECT_EQ(result.at(0), 30.0);
    EXPECT_EQ(result.at(1), 41.0);
    EXPECT_EQ(result.at(2), 52.0);
  }
}

TEST_F(EvaluatorTest, the_folding_function_hands_out_float32) {
  parse(kWeights);
  std::vector<std::string> names;
  auto store = [&](StoreWeightOp op, const HostTensor &value) {
    EXPECT_EQ(value.getElement(), Element::F32);
    names.push_back(op.getName().str());
    return success();
  };
  ASSERT_TRUE(succeeded(evaluator.foldWeights(
      module->lookupSymbol<func::FuncOp>("weights"), store)));
  EXPECT_EQ(names, (std::vector<std::string>{"w.packed", "w.transposed"}));
}

TEST_F(EvaluatorTest, weights_are_loaded_when_they_are_first_used) {
  parse(R"mlir(
    func.func @weights() {
      %a = hova.weight "a" : tensor<2x3xf32>
      %b = hova.weight "b" : tensor<2x3xf32>
      %c = hova.weight "c" : tensor<2x3xf32>
      %t = hova.transpose %b : tensor<2x3xf32> -> tensor<3x2xf32>
      hova.store_weight "b.transposed", %t : tensor<3x2xf32>
      hova.store_weight "a.plain", %a : tensor<2x3xf32>
      hova.store_weight "b.plain", %b : tensor<2x3xf32>
      return
    })mlir",
        "weights");
  std::vector<std::string> events;
  Evaluator lazy([&](WeightOp op) {
    events.push_back("load " + op.getName().str());
    return countingWeight(op);
  });
  ASSERT_TRUE(succeeded(
      lazy.foldWeights(module->lookupSymbol<func::FuncOp>("weights"),
                       [&](StoreWeightOp op, const HostTensor &) {
                         events.push_back("store " + op.getName().str());
                         return success();
                       })));
  EXPECT_EQ(events,
            (std::vector<std::string>{"load b", "store b.transposed", "load a",
                                      "store a.plain", "store b.plain"}));
}

TEST_F(EvaluatorTest, computed_weights_are_rounded_for_plain_runs_only) {
  func::FuncOp main = parse(R"mlir(
    func.func private @weights() {
      %w = hova.weight "w" : tensor<3xf32>
      %s = hova.scale %w {factor = 0.1 : f64} : tensor<3xf32>
      hova.store_weight "w.scale", %s : tensor<3xf32>
      return
    }
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %w = hova.image_weight "w.scale" : tensor<3xf32>
      %y = hova.add %x, %w : tensor<3xf32>, tensor<3xf32>
      return %y : tensor<3xf32>
    })mlir");
  ASSERT_TRUE(succeeded(
      evaluator.foldWeights(module->lookupSymbol<func::FuncOp>("weights"))));
  HostTensor zeros = floats({3}, {0, 0, 0});
  EXPECT_EQ(run(main, {zeros}).at(1), 0.1);
  EXPECT_EQ(run(main, {zeros}, Precision::Single).at(1), 0.1f);
}

TEST_F(EvaluatorTest, a_weight_that_was_not_stored_is_an_error) {
  func::FuncOp main = parse(kWeights);
  EXPECT_TRUE(failed(evaluator.run(main, {floats({1, 2}, {1, 10})})));
  EXPECT_NE(message.find("'w.packed'"), std::string::npos) << message;
}

TEST_F(EvaluatorTest, an_id_outside_of_the_table_is_an_error) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%i: tensor<1x2xi32>, %t: tensor<3x1xf32>)
        -> tensor<1x2x1xf32> {
      %y = hova.embedding %i, %t
          : tensor<1x2xi32>, tensor<3x1xf32> -> tensor<1x2x1xf32>
      return %y : tensor<1x2x1xf32>
    })mlir");
  HostTensor table = floats({3, 1}, {7, 8, 9});
  EXPECT_EQ(run(main, {ids({1, 2}, {2, 0}), table}).at(0), 9.0);
  EXPECT_TRUE(failed(evaluator.run(main, {ids({1, 2}, {0, 3}), table})));
  EXPECT_NE(message.find("got 3 at element 1"), std::string::npos) << message;
}

TEST_F(EvaluatorTest, operations_without_a_meaning_are_errors) {
  func::FuncOp main = parse(R"mlir(
    func.func private @other(tensor<1xf32>) -> tensor<1xf32>
    func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
      %y = call @other(%x) : (tensor<1xf32>) -> tensor<1xf32>
      return %y : tensor<1xf32>
    })mlir");
  EXPECT_TRUE(failed(evaluator.run(main, {floats({1}, {1})})));
  EXPECT_NE(message.find("has no reference evaluation"), std::string::npos);
}

TEST_F(EvaluatorTest, nan_propagates_through_masks_only_where_it_is_kept) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%q: tensor<1x2x1xf32>, %k: tensor<1x2x1xf32>,
                    %v: tensor<1x2x1xf32>) -> tensor<1x2x1xf32> {
      %y = hova.attention %q, %k, %v
          {heads = 1 : i64}
          : (tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %not_later = arith.cmpi sle, %key, %query : index
        hova.score_yield %raw kept %not_later
      }
      return %y : tensor<1x2x1xf32>
    })mlir");
  HostTensor q = floats({1, 2, 1}, {1, 1}), v = floats({1, 2, 1}, {3, 4});
  HostTensor k = floats({1, 2, 1}, {1, std::nanf("")});
  HostTensor y = run(main, {q, k, v});
  EXPECT_EQ(y.at(0), 3.0);
  EXPECT_TRUE(std::isnan(y.at(1)));
}

TEST_F(EvaluatorTest, a_plain_float32_product_is_within_its_magnitudes) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%x: tensor<5x96xf32>, %w: tensor<96x7xf32>,
                    %b: tensor<7xf32>) -> tensor<5x7xf32> {
      %y = hova.linear %x, %w bias(%b)
          : tensor<5x96xf32>, tensor<96x7xf32>, tensor<7xf32> -> tensor<5x7xf32>
      return %y : tensor<5x7xf32>
    })mlir");
  std::vector<HostTensor> operands = {
      makeNumbers({5, 96}, InputKind::Random, 1),
      makeNumbers({96, 7}, InputKind::Random, 2),
      makeNumbers({7}, InputKind::Random, 3)};
  HostTensor want = run(main, operands);
  HostTensor plain = run(main, operands, Precision::Single);
  auto linear = *main.getOps<ReferenceOpInterface>().begin();
  auto magnitudes = contractionMagnitudes(linear, operands);
  ASSERT_TRUE(succeeded(magnitudes));
  EXPECT_TRUE(compareContraction(plain, want, *magnitudes, 96).within);
  // A product that lost its last term is not.
  operands[0].mutableAs<float>()[95] = 0;
  HostTensor broken = run(main, operands, Precision::Single);
  EXPECT_FALSE(compareContraction(broken, want, *magnitudes, 96).within);
}

TEST_F(EvaluatorTest, sums_in_any_order_are_none_where_one_order_overflows) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%x: tensor<3x3xf32>, %w: tensor<3x1xf32>)
        -> tensor<3x1xf32> {
      %y = hova.linear %x, %w
          : tensor<3x3xf32>, tensor<3x1xf32> -> tensor<3x1xf32>
      return %y : tensor<3x1xf32>
    })mlir");
  // Two of the first row's summands are too much for f32; the second adds one
  // after its opposite. The third is far from the end.
  HostTensor x =
      floats({3, 3}, {3e38f, -3e38f, 1, 1, 3e38f, -3e38f, 1, 2e38f, -1e38f});
  HostTensor w = floats({3, 1}, {1, 1, 1});
  HostTensor plain = run(main, {x, w}, Precision::Single);
  HostTensor any = run(main, {x, w}, Precision::AnyOrder);
  EXPECT_EQ(plain.at(0), 1);
  EXPECT_EQ(plain.at(1), 0);
  EXPECT_TRUE(std::isnan(any.at(0)));
  EXPECT_TRUE(std::isnan(any.at(1)));
  EXPECT_EQ(any.at(2), plain.at(2));
}

constexpr const char *kCausalRelu = R"mlir(
  func.func @main(%q: tensor<1x2x1xf32>, %k: tensor<1x2x1xf32>,
                  %v: tensor<1x2x1xf32>) -> tensor<1x2x1xf32> {
    %s = hova.key_summary relu %k, %v {heads = 1 : i64, block = 2 : i64}
        : (tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> tensor<1x1x1x1x2xf32>
    %y = hova.summary_attention relu %q, %s key(%k) value(%v)
        {heads = 1 : i64, block = 2 : i64}
        : (tensor<1x2x1xf32>, tensor<1x1x1x1x2xf32>, tensor<1x2x1xf32>,
           tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
    return %y : tensor<1x2x1xf32>
  })mlir";

TEST_F(EvaluatorTest, sums_over_keys_in_any_order_are_those_of_magnitudes) {
  // Two keys that annul each other: a query of 1e15 is too much for one of them
  // alone, one of 1 is not.
  HostTensor k = floats({1, 2, 1}, {1e15f, 1e15f});
  HostTensor v = floats({1, 2, 1}, {1e15f, -1e15f});
  func::FuncOp main = parse(kCausalRelu);
  auto last = [&](float query, Precision precision) {
    HostTensor q = floats({1, 2, 1}, {1, query});
    return run(main, {q, k, v}, precision).at(1);
  };
  EXPECT_EQ(last(1e15f, Precision::Single), 0);
  EXPECT_TRUE(std::isnan(last(1e15f, Precision::AnyOrder)));
  EXPECT_EQ(last(1, Precision::AnyOrder), 0);
}

constexpr const char *kStored = R"mlir(
  func.func private @weights() {
    %w = hova.weight "w" : tensor<1x2xf32>
    %a = hova.scale %w {factor = 1.001 : f64} : tensor<1x2xf32>
    %b = hova.convert %a : tensor<1x2xf32> -> tensor<1x2xbf16>
    hova.store_weight "w", %b : tensor<1x2xbf16>
    return
  }
  func.func @main(%x: tensor<1x1xf32>) -> tensor<1x2xf32> {
    %w = hova.image_weight "w" : tensor<1x2xbf16>
    %a = hova.convert %x : tensor<1x1xf32> -> tensor<1x1xbf16>
    %y = hova.linear %a, %w : tensor<1x1xbf16>, tensor<1x2xbf16> -> tensor<1x2xf32>
    return %y : tensor<1x2xf32>
  })mlir";

TEST_F(EvaluatorTest, float64_rounds_nothing_that_is_computed) {
  func::FuncOp main = parse(kStored);
  auto weights = module->lookupSymbol<func::FuncOp>("weights");
  ASSERT_TRUE(succeeded(evaluator.foldWeights(weights)));
  EXPECT_EQ(run(main, {floats({1, 1}, {1.001f})}).at(1), 1.001f * 1.001);
}

TEST_F(EvaluatorTest, float64_rounds_the_weights_of_the_model) {
  func::FuncOp main = parse(R"mlir(
    func.func private @weights() {
      %w = hova.weight "w" : tensor<1x512xf32>
      %b = hova.convert %w : tensor<1x512xf32> -> tensor<1x512xbf16>
      hova.store_weight "w", %b : tensor<1x512xbf16>
      return
    }
    func.func @main(%x: tensor<1x1xbf16>) -> tensor<1x512xf32> {
      %w = hova.image_weight "w" : tensor<1x512xbf16>
      %y = hova.linear %x, %w : tensor<1x1xbf16>, tensor<1x512xbf16> -> tensor<1x512xf32>
      return %y : tensor<1x512xf32>
    })mlir");
  auto weights = module->lookupSymbol<func::FuncOp>("weights");
  ASSERT_TRUE(succeeded(evaluator.foldWeights(weights)));
  // 511 is not a number of bf16.
  EXPECT_EQ(run(main, {floats({1, 1}, {1})}).at(511), 512);
}

/// The same numbers are rows of a table, tokens of which there are one for each
/// item, and heads, which weights alone make here.
constexpr const char *kLearned = R"mlir(
  func.func private @weights() {
    %w = hova.weight "w" : tensor<1x512xf32>
    %b = hova.convert %w : tensor<1x512xf32> -> tensor<1x512xbf16>
    %r = hova.reshape %b : tensor<1x512xbf16> -> tensor<1x1x512xbf16>
    hova.store_weight "w", %b : tensor<1x512xbf16>
    hova.store_weight "r", %r : tensor<1x1x512xbf16>
    return
  }
  func.func @main(%i: tensor<1x1xi32>, %s: tensor<1x1x1xf32>)
      -> (tensor<1x1x512xf32>, tensor<1x1x1x512xf32>, tensor<1x1x512xbf16>) {
    %w = hova.image_weight "w" : tensor<1x512xbf16>
    %h = hova.image_weight "r" : tensor<1x1x512xbf16>
    %e = hova.embedding %i, %w : tensor<1x1xi32>, tensor<1x512xbf16> -> tensor<1x1x512xf32>
    %l = hova.repeat %h : tensor<1x1x512xbf16> -> tensor<1x1x1x512xbf16>
    %t = hova.convert %l : tensor<1x1x1x512xbf16> -> tensor<1x1x1x512xf32>
    %c = hova.scale_heads %h, %s : tensor<1x1x512xbf16>, tensor<1x1x1xf32>
    return %e, %t, %c : tensor<1x1x512xf32>, tensor<1x1x1x512xf32>, tensor<1x1x512xbf16>
  })mlir";

TEST_F(EvaluatorTest, float64_rounds_learned_numbers_where_they_are_weights) {
  func::FuncOp main = parse(kLearned);
  ASSERT_TRUE(main);
  auto weights = module->lookupSymbol<func::FuncOp>("weights");
  ASSERT_TRUE(succeeded(evaluator.foldWeights(weights)));
  auto lastOf = [&](Precision precision) {
    evaluator.setPrecision(precision);
    HostTensor id(HostTensor::Element::I64, {1, 1});
    auto results = evaluator.run(main, {id, floats({1, 1, 1}, {0})});
    EXPECT_TRUE(succeeded(results)) << message;
    std::vector<double> last;
    for (HostTensor &result : *results) {
      last.push_back(result.at(511));
    }
    return last;
  };
  // 511 is not a number of bf16.
  EXPECT_EQ(lastOf(Precision::Double), (std::vector<double>{512, 511, 511}));
  EXPECT_EQ(lastOf(Precision::Single), (std::vector<double>{512, 512, 512}));
}

TEST_F(EvaluatorTest, storage_rounds_activations_too) {
  func::FuncOp main = parse(kStored);
  auto weights = module->lookupSymbol<func::FuncOp>("weights");
  ASSERT_TRUE(succeeded(evaluator.foldWeights(weights)));
  HostTensor y = run(main, {floats({1, 1}, {1.001f})}, Precision::Single);
  EXPECT_EQ(y.at(1), 1.0);
}

TEST_F(EvaluatorTest, storage_rounds_probabilities) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%x: tensor<1x1x1xbf16>, %k: tensor<1x3x1xbf16>)
        -> tensor<1x1x1xf32> {
      %y = hova.attention %x, %k, %k
          {heads = 1 : i64}
          : (tensor<1x1x1xbf16>, tensor<1x3x1xbf16>, tensor<1x3x1xbf16>) -> tensor<1x1x1xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %all = arith.constant true
        hova.score_yield %raw kept %all
      }
      return %y : tensor<1x1x1xf32>
    })mlir");
  std::vector<HostTensor> inputs = {floats({1, 1, 1}, {0}),
                                    floats({1, 3, 1}, {1, 1, 1})};
  // Three thirds in bf16.
  HostTensor y = run(main, inputs, Precision::Single);
  EXPECT_EQ(y.at(0), 3 * 0.333984375);
  EXPECT_NEAR(run(main, inputs).at(0), 1, 1e-15);
}

TEST_F(EvaluatorTest, columns_are_rows_of_whole_copies) {
  func::FuncOp main = parse(R"mlir(
    func.func private @weights() {
      %w = hova.weight "w" : tensor<3x2xf32>
      %p = hova.pack %w[#hova.transposed<align 16>] : tensor<3x2xf32> -> tensor<2x4xf32>
      hova.store_weight "w", %p : tensor<2x4xf32>
      return
    }
    func.func @main() -> tensor<3x2xf32> {
      %w = hova.image_weight "w" {layout = #hova.transposed<align 16>} : tensor<3x2xf32>
      return %w : tensor<3x2xf32>
    })mlir");
  auto weights = module->lookupSymbol<func::FuncOp>("weights");
  std::vector<float> image;
  ASSERT_TRUE(succeeded(evaluator.foldWeights(
      weights, [&](StoreWeightOp, const HostTensor &value) {
        image.assign(value.as<float>(), value.as<float>() + value.size());
        return success();
      })));
  EXPECT_EQ(image, (std::vector<float>{0, 2, 4, 0, 1, 3, 5, 0}));
  ASSERT_TRUE(succeeded(evaluator.foldWeights(weights)));
  HostTensor back = run(main, {});
  EXPECT_EQ(back.getShape(), llvm::ArrayRef<int64_t>({3, 2}));
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(back.at(i), i);
  }
}

// A square matrix has the shape of what is stored.
TEST_F(EvaluatorTest, what_is_packed_is_told_by_its_layout) {
  func::FuncOp main = parse(R"mlir(
    func.func private @weights() {
      %w = hova.weight "w" : tensor<4x4xf32>
      %p = hova.pack %w[#hova.transposed<align 16>] : tensor<4x4xf32> -> tensor<4x4xf32>
      hova.store_weight "packed", %p : tensor<4x4xf32>
      hova.store_weight "plain", %w : tensor<4x4xf32>
      return
    }
    func.func @main() -> (tensor<4x4xf32>, tensor<4x4xf32>) {
      %p = hova.image_weight "packed" {layout = #hova.transposed<align 16>} : tensor<4x4xf32>
      %w = hova.image_weight "plain" : tensor<4x4xf32>
      return %p, %w : tensor<4x4xf32>, tensor<4x4xf32>
    })mlir");
  ASSERT_TRUE(succeeded(
      evaluator.foldWeights(module->lookupSymbol<func::FuncOp>("weights"))));
  auto results = evaluator.run(main, {});
  ASSERT_TRUE(succeeded(results)) << message;
  for (const HostTensor &result : *results) {
    EXPECT_EQ(result.at(1), 1);
    EXPECT_EQ(result.at(4), 4);
  }
}

TEST_F(EvaluatorTest, pairs_of_rows_are_interleaved) {
  func::FuncOp main = parse(R"mlir(
    func.func private @weights() {
      %w = hova.weight "w" : tensor<3x5xf32>
      %c = hova.convert %w : tensor<3x5xf32> -> tensor<3x5xbf16>
      %p = hova.pack %c[#hova.column_strips<4, interleave 2>] : tensor<3x5xbf16> -> tensor<2x2x4x2xbf16>
      hova.store_weight "w", %p : tensor<2x2x4x2xbf16>
      return
    }
    func.func @main() -> tensor<3x5xbf16> {
      %w = hova.image_weight "w" {layout = #hova.column_strips<4, interleave 2>} : tensor<3x5xbf16>
      return %w : tensor<3x5xbf16>
    })mlir");
  auto weights = module->lookupSymbol<func::FuncOp>("weights");
  std::vector<float> image;
  ASSERT_TRUE(succeeded(evaluator.foldWeights(
      weights, [&](StoreWeightOp, const HostTensor &value) {
        image.assign(value.as<float>(), value.as<float>() + value.size());
        return success();
      })));
  // Two panels of [2 pairs][4 columns][2 rows]; zeros after the last row and
  // the last column.
  EXPECT_EQ(image, (std::vector<float>{0,  5, 1,  6, 2,  7, 3,  8, //
                                       10, 0, 11, 0, 12, 0, 13, 0, //
                                       4,  9, 0,  0, 0,  0, 0,  0, //
                                       14, 0, 0,  0, 0,  0, 0,  0}));
  ASSERT_TRUE(succeeded(evaluator.foldWeights(weights)));
  HostTensor back = run(main, {});
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(back.at(i), i);
  }
}

TEST_F(EvaluatorTest, rearranges_by_the_definition) {
  // A 4x4 image with the number of each token as its one channel.
  std::vector<float> numbers(16);
  for (int i = 0; i < 16; ++i) {
    numbers[i] = static_cast<float>(i);
  }
  HostTensor image = floats({1, 16, 1}, numbers);
  auto rearranged = [&](const char *placement, const char *shape) {
    HostTensor value =
        run(parse((llvm::Twine("func.func @main(%x: tensor<1x16x1xf32>) -> ") +
                   shape + " { %y = hova.rearrange %x [" + placement +
                   "] : tensor<1x16x1xf32> -> " + shape +
                   " return %y : " + shape + " }")
                      .str()),
            {image});
    std::vector<int> result;
    for (int64_t i = 0; i < value.size(); ++i) {
      result.push_back(static_cast<int>(value.at(i)));
    }
    return result;
  };
  // Rolled up by one row: the first row comes last.
  EXPECT_EQ(
      rearranged("#hova.window<2x2, shift 1x0, grid 4x4>", "tensor<4x4x1xf32>"),
      (std::vector<int>{4, 5, 8, 9, 6, 7, 10, 11, //
                        12, 13, 0, 1, 14, 15, 2, 3}));
  // Upper left, lower left, upper right, lower right.
  EXPECT_EQ(rearranged("#hova.merge<2x2, grid 4x4>", "tensor<1x4x4xf32>"),
            (std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7, //
                              8, 12, 9, 13, 10, 14, 11, 15}));
}

TEST(Exponential, is_zero_where_programs_have_no_denormal_numbers) {
  EXPECT_EQ(evaluateExponential(-88.0f), 0.0f); // 6e-39
  EXPECT_EQ(evaluateExponential(-87.0f), std::exp(-87.0f));
  EXPECT_EQ(evaluateExponential(-88.0), std::exp(-88.0));
  EXPECT_TRUE(std::isnan(evaluateExponential(std::nanf(""))));
}

} // namespace
