//===- EvaluatorFixture.h - Programs as text, and their values --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_CODEGEN_REFERENCE_EVALUATORFIXTURE_H
#define HOVA_TEST_CODEGEN_REFERENCE_EVALUATORFIXTURE_H

#include "codegen/reference/Evaluator.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace hova::test {

inline HostTensor floats(llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<float> values) {
  HostTensor tensor(HostTensor::Element::F32, shape);
  std::copy(values.begin(), values.end(), tensor.mutableAs<float>());
  return tensor;
}

/// Parses and runs programs whose weights count from 0.
class EvaluatorTest : public testing::Test {
protected:
  EvaluatorTest() {
    context.loadDialect<HovaDialect, mlir::func::FuncDialect>();
    context.getDiagEngine().registerHandler(
        [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  }

  mlir::func::FuncOp parse(llvm::StringRef text,
                           llvm::StringRef name = "main") {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << message;
    return module->lookupSymbol<mlir::func::FuncOp>(name);
  }

  HostTensor run(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> inputs,
                 Precision precision = Precision::Double) {
    evaluator.setPrecision(precision);
    auto results = evaluator.run(function, inputs);
    EXPECT_TRUE(succeeded(results)) << message;
    return succeeded(results) ? results->front() : HostTensor();
  }

  /// Every weight is counted from 0 in row-major order.
  static mlir::FailureOr<HostTensor> countingWeight(WeightOp op) {
    auto shape = op.getResult().getType().getShape();
    HostTensor tensor(HostTensor::Element::F32, shape);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.mutableAs<float>()[i] = static_cast<float>(i);
    }
    return tensor;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string message;
  Evaluator evaluator{countingWeight};
};

} // namespace hova::test

#endif // HOVA_TEST_CODEGEN_REFERENCE_EVALUATORFIXTURE_H
