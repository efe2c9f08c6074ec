//===- DecomposeTest.cpp - Decompositions keep the meaning ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A compound operation and what it decomposes to, evaluated in float64 on the
// same random operands.

#include "codegen/reference/Evaluator.h"
#include "dialect/attention/AttentionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace hova;

namespace {

std::vector<HostTensor> randomArguments(func::FuncOp function) {
  std::mt19937 engine(7);
  std::vector<HostTensor> arguments;
  for (Type type : function.getArgumentTypes()) {
    HostTensor tensor(HostTensor::Element::F32,
                      cast<ShapedType>(type).getShape());
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.mutableAs<float>()[i] =
          static_cast<float>(engine() % 2001) / 1000.0f - 1.0f;
    }
    arguments.push_back(tensor);
  }
  return arguments;
}

/// Largest difference between @main and its decomposition, relative to 1.
double decompositionError(llvm::StringRef text) {
  MLIRContext context;
  context.loadDialect<HovaDialect, func::FuncDialect, arith::ArithDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << text.str();
    return 1;
  }
  auto main = module->lookupSymbol<func::FuncOp>("main");
  std::vector<HostTensor> arguments = randomArguments(main);
  Evaluator evaluator(nullptr);
  HostTensor whole = evaluator.run(main, arguments)->front();

  IRRewriter rewriter(&context);
  int decomposed = 0;
  main.walk([&](DecomposeOpInterface op) {
    auto parts = op.decompose(rewriter);
    ASSERT_TRUE(succeeded(parts));
    rewriter.replaceOp(op, *parts);
    ++decomposed;
  });
  EXPECT_EQ(decomposed, 1);
  EXPECT_TRUE(succeeded(verify(*module)));
  HostTensor parts = evaluator.run(main, arguments)->front();
  double error = 0;
  for (int64_t i = 0; i < whole.size(); ++i) {
    error = std::max(error, std::abs(whole.at(i) - parts.at(i)));
  }
  return error;
}

TEST(Decompose, head_reweight_equals_its_parts) {
  EXPECT_LT(decompositionError(R"mlir(
    func.func @main(%h: tensor<2x5x12xf32>, %x: tensor<2x5x7xf32>,
                    %a1: tensor<4x4xf32>, %a2: tensor<7x4xf32>,
                    %b: tensor<4xf32>, %c: tensor<1xf32>)
        -> tensor<2x5x12xf32> {
      %y = hova.head_reweight %h, %x, %a1, %a2, %b score_bias(%c)
          {heads = 3 : i64}
          : (tensor<2x5x12xf32>, tensor<2x5x7xf32>, tensor<4x4xf32>,
             tensor<7x4xf32>, tensor<4xf32>, tensor<1xf32>)
         -> tensor<2x5x12xf32>
      return %y : tensor<2x5x12xf32>
    })mlir"),
            1e-14);
}

TEST(Decompose, channel_gate_equals_its_parts) {
  EXPECT_LT(decompositionError(R"mlir(
    func.func @main(%y: tensor<2x5x9xf32>, %x: tensor<2x5x7xf32>,
                    %u1: tensor<7x3xf32>, %u2: tensor<9x3xf32>,
                    %u: tensor<3x9xf32>, %b: tensor<9xf32>)
        -> tensor<2x5x9xf32> {
      %r = hova.channel_gate %y, %x, %u1, %u2, %u gate_bias(%b)
          : (tensor<2x5x9xf32>, tensor<2x5x7xf32>, tensor<7x3xf32>,
             tensor<9x3xf32>, tensor<3x9xf32>, tensor<9xf32>)
         -> tensor<2x5x9xf32>
      return %r : tensor<2x5x9xf32>
    })mlir"),
            1e-14);
}

} // namespace
