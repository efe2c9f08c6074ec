//===- SharedMemoryTest.cpp - What the levels of a program share ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/SharedMemory.h"
#include "dialect/HovaDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace {

OwningOpRef<ModuleOp> level(MLIRContext &context, int arena, int image,
                            int place) {
  std::string text =
      "func.func private @main() attributes {hova.arena_bytes = " +
      std::to_string(arena) + ", hova.image_bytes = " + std::to_string(image) +
      ", hova.inputs = 1}\nfunc.func @weights() {\n"
      "  \"mine.weight\"() {hova.offset = " +
      std::to_string(place) + "} : () -> ()\n  return\n}";
  return parseSourceString<ModuleOp>(text, ParserConfig(&context, false));
}

TEST(SharedMemory, is_the_same_of_all_levels) {
  MLIRContext context;
  context.loadDialect<hova::HovaDialect, func::FuncDialect>();
  context.allowUnregisteredDialects();
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said = diagnostic.str();
    return success();
  });
  auto differs = [&](int arena, int image, int place) {
    said.clear();
    auto first = level(context, 128, 64, 0);
    auto other = level(context, arena, image, place);
    EXPECT_TRUE(first && other);
    return failed(
        hova::verifySharedMemory(*first, "znver4", *other, "x86-64-v3"));
  };
  EXPECT_FALSE(differs(128, 64, 0)) << said;
  EXPECT_TRUE(differs(192, 64, 0));
  EXPECT_EQ(said, "levels of a program share its memory, but "
                  "'hova.arena_bytes' is 128 : i64 of level znver4 and 192 : "
                  "i64 of level x86-64-v3");
  EXPECT_TRUE(differs(128, 32, 0));
  EXPECT_NE(said.find("'hova.image_bytes' is 64"), std::string::npos) << said;
  EXPECT_TRUE(differs(128, 64, 4));
  EXPECT_NE(said.find("stand elsewhere"), std::string::npos) << said;
}

} // namespace
