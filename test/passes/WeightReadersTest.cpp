//===- WeightReadersTest.cpp - Layouts of weights, by who reads them ------===//
// SPDX-License-Identifier: Apache-2.0
//
// A target that multiplies with panels, and reads everything else row by row.

#include "passes/WeightReaders.h"
#include "dialect/HovaDialect.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/token/TokenOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace hova;

namespace {

constexpr const char *kMultiply = R"(
  %NAME = hova.kernel "NAME" (%x, %w) {
  ^bb0(%a: tensor<2x9x8xf32>, %m: tensor<8x8xf32>):
    %r = hova.linear %a, %m : tensor<2x9x8xf32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9x8xf32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>)";

constexpr const char *kGather = R"(
  %NAME = hova.kernel "NAME" (%i, %w) {
  ^bb0(%a: tensor<2x9xi32>, %m: tensor<8x8xf32>):
    %r = hova.embedding %a, %m : tensor<2x9xi32>, tensor<8x8xf32> -> tensor<2x9x8xf32>
    hova.yield %r : tensor<2x9x8xf32>
  } : (tensor<2x9xi32>, tensor<8x8xf32>) -> tensor<2x9x8xf32>)";

class WeightReadersTest : public ::testing::Test {
protected:
  WeightReadersTest() {
    context.loadDialect<HovaDialect, func::FuncDialect>();
    readers.readsLayout = [](OpOperand &use) {
      auto linear = dyn_cast<LinearOp>(use.getOwner());
      return linear && use.get() == linear.getWeight();
    };
    readers.layoutOf = [this](ImageWeightOp) {
      return cast<WeightLayoutAttrInterface>(
          parseAttribute("#hova.column_strips<64>", &context));
    };
    readers.suffix = "panels";
  }

  /// Gives layouts to the weights of two kernels, which read the same one.
  void assign(const char *first, const char *second) {
    std::string text =
        "func.func @main(%x: tensor<2x9x8xf32>, %i: tensor<2x9xi32>) -> "
        "(tensor<2x9x8xf32>, tensor<2x9x8xf32>) {\n"
        "%w = hova.image_weight \"w\" : tensor<8x8xf32>";
    for (auto [kernel, name] : {std::pair(first, "y"), {second, "z"}}) {
      std::string copy = kernel;
      for (size_t at; (at = copy.find("NAME")) != std::string::npos;) {
        copy.replace(at, 4, name);
      }
      text += copy;
    }
    text += R"(
      return %y, %z : tensor<2x9x8xf32>, tensor<2x9x8xf32>
    }
    func.func private @weights() {
      %w = hova.weight "w" : tensor<8x8xf32>
      hova.store_weight "w", %w : tensor<8x8xf32>
      return
    })";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    assignWeightLayouts(module->lookupSymbol<func::FuncOp>("main"), readers);
    ASSERT_TRUE(succeeded(verify(*module)));
    for (auto weight : main().getOps<ImageWeightOp>()) {
      EXPECT_TRUE(!weight.getLayoutAttr() ||
                  succeeded(verifyWeightReaders(weight, readers)));
    }
  }

  func::FuncOp main() { return module->lookupSymbol<func::FuncOp>("main"); }
  /// The names of the weights that the kernels read, those with a layout in
  /// brackets.
  std::string read() {
    std::string names;
    for (auto kernel : main().getOps<KernelOp>()) {
      auto weight = kernel.getInputs()[1].getDefiningOp<ImageWeightOp>();
      std::string name = weight.getName().str();
      names += weight.getLayoutAttr() ? "[" + name + "]" : name;
    }
    return names;
  }
  /// The names of all that is stored.
  std::string stored() {
    std::string names;
    for (auto store : module->lookupSymbol<func::FuncOp>("weights")
                          .getOps<StoreWeightOp>()) {
      names += store.getName().str() + " ";
    }
    return names;
  }

  MLIRContext context;
  WeightReaders readers;
  OwningOpRef<ModuleOp> module;
};

TEST_F(WeightReadersTest, what_all_multiply_with_has_the_layout) {
  assign(kMultiply, kMultiply);
  EXPECT_EQ(read(), "[w][w]");
  EXPECT_EQ(stored(), "w ");
}

TEST_F(WeightReadersTest, what_all_gather_from_has_none) {
  assign(kGather, kGather);
  EXPECT_EQ(read(), "ww");
  EXPECT_EQ(stored(), "w ");
}

TEST_F(WeightReadersTest, what_is_read_both_ways_is_stored_twice) {
  assign(kGather, kMultiply);
  EXPECT_EQ(read(), "w[w.panels]");
  EXPECT_EQ(stored(), "w w.panels ");
}

TEST_F(WeightReadersTest, the_order_of_readers_does_not_matter) {
  assign(kMultiply, kGather);
  EXPECT_EQ(read(), "[w.panels]w");
  EXPECT_EQ(stored(), "w w.panels ");
}

} // namespace
