//===- KernelStructureTest.cpp - Which kernels are the same code ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/KernelStructure.h"
#include "codegen/cpu/HovaCpuDialect.h"
#include "dialect/HovaDialect.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace {

/// What `structureOf` says of a kernel with the operation of another dialect.
std::string structureWith(MLIRContext &context, llvm::StringRef operation,
                          llvm::StringRef lanes = "64") {
  std::string text =
      R"(func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k = hova.kernel "k" units<row 4> (%x) attributes {schedule = #hova_cpu.schedule<tile = 4x32, lanes = )" +
      lanes.str() +
      R"(, grain = 1>} {
  ^bb0(%a: tensor<4x8xf32>):
    %s = hova.stage [#hova.layout<rows 8>] {
      %y = )" +
      operation.str() +
      R"(
      hova.yield %y : tensor<4x8xf32>
    } : tensor<4x8xf32>
    hova.yield %s : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %k : tensor<4x8xf32>
})";
  auto module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context, false));
  EXPECT_TRUE(module) << text;
  std::string structure;
  module->walk([&](hova::KernelOp kernel) {
    hova::KernelBuffers buffers;
    buffers.kernel = kernel;
    structure = hova::structureOf(buffers);
  });
  EXPECT_FALSE(structure.empty());
  return structure;
}

std::string structureOfBody(MLIRContext &context, llvm::StringRef body) {
  return structureWith(context, ("\"mine.map\"(%a) ({" + body +
                                 "}) : (tensor<4x8xf32>) -> tensor<4x8xf32>")
                                    .str());
}

TEST(KernelStructure, sees_the_schedule) {
  MLIRContext context;
  context.loadDialect<hova::HovaDialect, hova::HovaCpuDialect,
                      func::FuncDialect>();
  const char *relu = "hova.activation relu %a : tensor<4x8xf32>";
  EXPECT_EQ(structureWith(context, relu), structureWith(context, relu));
  EXPECT_NE(structureWith(context, relu), structureWith(context, relu, "32"));
}

TEST(KernelStructure, sees_the_regions_of_operations) {
  MLIRContext context;
  context.loadDialect<hova::HovaDialect, hova::HovaCpuDialect,
                      func::FuncDialect>();
  context.allowUnregisteredDialects();
  std::string add = R"(
    ^bb0(%e: f32):
      %r = "mine.add"(%e, %e) : (f32, f32) -> f32
      "mine.yield"(%r) : (f32) -> ())";
  std::string multiply = R"(
    ^bb0(%e: f32):
      %r = "mine.multiply"(%e, %e) : (f32, f32) -> f32
      "mine.yield"(%r) : (f32) -> ())";
  std::string order = R"(
    ^bb0(%e: f32, %f: f32):
      "mine.yield"(%e) : (f32) -> ())";
  std::string otherOrder = R"(
    ^bb0(%e: f32, %f: f32):
      "mine.yield"(%f) : (f32) -> ())";
  EXPECT_EQ(structureOfBody(context, add), structureOfBody(context, add));
  EXPECT_NE(structureOfBody(context, add), structureOfBody(context, multiply));
  EXPECT_NE(structureOfBody(context, order),
            structureOfBody(context, otherOrder));
  EXPECT_NE(structureOfBody(context, order), structureOfBody(context, add));
}

} // namespace
