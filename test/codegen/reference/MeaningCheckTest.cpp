//===- MeaningCheckTest.cpp - Passes that change the meaning are named ----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/MeaningCheck.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hova;

namespace {

/// Calls a function on the module; named like a real pass.
class TestPass : public PassWrapper<TestPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestPass)
  TestPass(std::string name, std::function<void(ModuleOp)> change)
      : name(std::move(name)), change(std::move(change)) {}
  llvm::StringRef getName() const override { return name; }
  void runOnOperation() override { change(getOperation()); }

private:
  std::string name;
  std::function<void(ModuleOp)> change;
};

constexpr const char *kModule = R"mlir(
  func.func @main(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
    %w = hova.weight "w" : tensor<3x4xf32>
    %y = hova.linear %x, %w : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
    %z = hova.scale %y {factor = 0.5 : f64} : tensor<2x4xf32> loc("layer.0.half")
    return %z : tensor<2x4xf32>
  })mlir";

void rescale(ModuleOp module, double factor) {
  module.walk([&](ScaleOp op) { op.setFactor(APFloat(factor)); });
}

using Passes =
    llvm::ArrayRef<std::pair<const char *, std::function<void(ModuleOp)>>>;

/// Messages of running passes on a program under the check.
std::vector<std::string> messages(Passes passes, MeaningSummary &summary,
                                  llvm::StringRef program = kModule) {
  MLIRContext context;
  context.loadDialect<HovaDialect, func::FuncDialect, arith::ArithDialect>();
  std::vector<std::string> result;
  context.getDiagEngine().registerHandler(
      [&](Diagnostic &diagnostic) { result.push_back(diagnostic.str()); });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  PassManager manager(&context);
  auto check = std::make_unique<MeaningCheck>();
  MeaningCheck *state = check.get();
  manager.addInstrumentation(std::move(check));
  for (auto &[name, change] : passes) {
    manager.addPass(std::make_unique<TestPass>(name, change));
  }
  EXPECT_TRUE(succeeded(manager.run(*module)));
  summary = state->getSummary();
  return result;
}

TEST(MeaningCheck, is_silent_where_nothing_changes) {
  MeaningSummary summary;
  auto said = messages({{"KeepPass", [](ModuleOp) {}},
                        {"SamePass", [](ModuleOp m) { rescale(m, 0.5); }}},
                       summary);
  EXPECT_TRUE(said.empty());
  EXPECT_EQ(summary.guiltyPass, "");
  EXPECT_EQ(summary.passes, 2);
  EXPECT_EQ(summary.compared, 2);
  EXPECT_EQ(summary.values, 2);
}

TEST(MeaningCheck, names_the_pass_that_changes_a_result) {
  MeaningSummary summary;
  auto said = messages({{"KeepPass", [](ModuleOp) {}},
                        {"BreakPass", [](ModuleOp m) { rescale(m, 0.6); }},
                        {"LaterPass", [](ModuleOp) {}}},
                       summary);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("pass 'BreakPass' changes result 0 of 'main' by"),
            std::string::npos)
      << said[0];
  EXPECT_NE(said[0].find("the first value that differs is that of 'hova.scale' "
                         "at layer.0.half"),
            std::string::npos)
      << said[0];
  EXPECT_EQ(summary.guiltyPass, "BreakPass");
  EXPECT_EQ(summary.guiltyLayer, "layer.0.half");
}

TEST(MeaningCheck, stops_comparing_what_it_cannot_evaluate) {
  auto lower = [](ModuleOp module) {
    module.walk([&](ScaleOp op) {
      OpBuilder builder(op);
      auto unknown = UnrealizedConversionCastOp::create(
          builder, op.getLoc(), op.getType(), op.getX());
      op.replaceAllUsesWith(unknown.getResult(0));
      op.erase();
    });
  };
  MeaningSummary summary;
  auto said =
      messages({{"LowerPass", lower}, {"NextPass", [](ModuleOp) {}}}, summary);
  EXPECT_TRUE(said.empty());
  EXPECT_EQ(summary.guiltyPass, "");
  EXPECT_EQ(summary.passes, 2);
  EXPECT_EQ(summary.compared, 0);
  EXPECT_EQ(summary.values, 0);
  EXPECT_NE(summary.obstacle.find("has no reference evaluation"),
            std::string::npos)
      << summary.obstacle;
}

TEST(MeaningCheck, compares_nothing_of_dynamic_shape) {
  MeaningSummary summary;
  messages({{"KeepPass", [](ModuleOp) {}}}, summary,
           "func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {"
           "  return %x : tensor<?x3xf32> }");
  EXPECT_EQ(summary.passes, 1);
  EXPECT_EQ(summary.values, 0);
  EXPECT_EQ(summary.obstacle, "argument 0 of 'main' is no tensor of static "
                              "shape, but 'tensor<?x3xf32>'");
}

TEST(MeaningCheck, counts_no_result_that_is_never_finite) {
  MeaningSummary summary;
  messages({{"KeepPass", [](ModuleOp) {}}}, summary,
           "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {"
           "  %nan = arith.constant dense<0x7FC00000> : tensor<2xf32>"
           "  %y = hova.add %x, %nan : tensor<2xf32>, tensor<2xf32>"
           "  return %y : tensor<2xf32> }");
  EXPECT_EQ(summary.passes, 1);
  EXPECT_EQ(summary.compared, 0);
  EXPECT_EQ(summary.values, 0);
}

} // namespace
