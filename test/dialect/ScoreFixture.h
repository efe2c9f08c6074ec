//===- ScoreFixture.h - Regions of scores as text ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_DIALECT_SCOREFIXTURE_H
#define HOVA_TEST_DIALECT_SCOREFIXTURE_H

#include "dialect/attention/AttentionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <string>
#include <utility>
#include <vector>

namespace hova::test {

/// Parses the regions of attentions with 2 batch entries, 4 heads, 16 queries
/// and 24 keys.
class ScoreTest : public testing::Test {
protected:
  /// Name and type of a captured tensor.
  using Captured = std::vector<std::pair<std::string, std::string>>;

  ScoreTest() {
    context.loadDialect<HovaDialect, mlir::func::FuncDialect,
                        mlir::arith::ArithDialect, mlir::math::MathDialect>();
    context.getDiagEngine().registerHandler(
        [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  }

  /// `body` has the arguments of a region, and `captured` by their names.
  ScoreRegion parse(const std::string &body, const Captured &captured = {}) {
    bool givesScores = body.find("carried") != std::string::npos;
    std::string outer, names, types, arguments;
    for (const auto &[name, type] : captured) {
      outer += ", %" + name + "_: " + type;
      names += (names.empty() ? "%" : ", %") + name + "_";
      types += ", " + type;
      arguments += ", %" + name + ": " + type;
    }
    std::string text =
        "func.func @main(%q: tensor<2x16x32xf32>, %k: tensor<2x24x32xf32>" +
        outer + ") {\n  %o" + (givesScores ? ":2" : "") +
        " = hova.attention %q, %k, %k " +
        (names.empty() ? "" : "captured(" + names + ") ") +
        "{heads = 4 : i64} : (tensor<2x16x32xf32>, tensor<2x24x32xf32>, "
        "tensor<2x24x32xf32>" +
        types + ") -> " +
        (givesScores ? "(tensor<2x16x32xf32>, tensor<2x4x16x24xf32>)"
                     : "tensor<2x16x32xf32>") +
        " scores {\n^bb0(%raw: f32, %batch: index, %head: index, "
        "%query: index, %key: index" +
        arguments + "):\n" + body + "\n}\nreturn\n}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << message << "\n" << text;
    AttentionOp attention;
    module->walk([&](AttentionOp op) { attention = op; });
    return attention.scoreRegion();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string message;
};

} // namespace hova::test

#endif // HOVA_TEST_DIALECT_SCOREFIXTURE_H
