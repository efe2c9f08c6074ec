//===- MeaningCheckTest.cpp - Passes that change the meaning are named ----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/MeaningCheck.h"
#include "dialect/DenseOps.h"
#include "dialect/ProgramOps.h"
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
    %z = hova.scale %y {factor = 0.5 : f64} : tensor<2x4xf32>
    return %z : tensor<2x4xf32>
  })mlir";

void rescale(ModuleOp module, double factor) {
  module.walk([&](ScaleOp op) { op.setFactor(APFloat(factor)); });
}

/// Messages of running passes on `kModule` under the check.
std::vector<std::string>
messages(llvm::ArrayRef<std::pair<const char *, std::function<void(ModuleOp)>>>
             passes,
         bool &difference) {
  MLIRContext context;
  context.loadDialect<HovaDialect, func::FuncDialect, arith::ArithDialect>();
  std::vector<std::string> result;
  context.getDiagEngine().registerHandler(
      [&](Diagnostic &diagnostic) { result.push_back(diagnostic.str()); });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kModule, &context);
  PassManager manager(&context);
  auto check = std::make_unique<MeaningCheck>();
  MeaningCheck *state = check.get();
  manager.addInstrumentation(std::move(check));
  for (auto &[name, change] : passes) {
    manager.addPass(std::make_unique<TestPass>(name, change));
  }
  EXPECT_TRUE(succeeded(manager.run(*module)));
  difference = state->foundDifference();
  return result;
}

TEST(MeaningCheck, is_silent_where_nothing_changes) {
  bool difference = true;
  auto said = messages({{"KeepPass", [](ModuleOp) {}},
                        {"SamePass", [](ModuleOp m) { rescale(m, 0.5); }}},
                       difference);
  EXPECT_TRUE(said.empty());
  EXPECT_FALSE(difference);
}

TEST(MeaningCheck, names_the_pass_that_changes_a_result) {
  bool difference = false;
  auto said = messages({{"KeepPass", [](ModuleOp) {}},
                        {"BreakPass", [](ModuleOp m) { rescale(m, 0.6); }},
                        {"LaterPass", [](ModuleOp) {}}},
                       difference);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("pass 'BreakPass' changes result 0"),
            std::string::npos)
      << said[0];
  EXPECT_TRUE(difference);
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
  bool difference = true;
  auto said = messages({{"LowerPass", lower}}, difference);
  EXPECT_TRUE(said.empty());
  EXPECT_FALSE(difference);
}

} // namespace
