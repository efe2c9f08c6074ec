//===- LevelsTest.cpp - Rows of GPUs
//---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OtherGpu.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/facts/Occupancy.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/targets/Targets.h"
#include "dialect/HovaDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace hova::test {
namespace {

TEST(Levels, are_ordered_as_a_program_tries_them) {
  auto namesOf = [](llvm::StringRef names) {
    std::string joined;
    auto gpus = resolveGpus(names);
    if (!gpus) {
      return llvm::toString(gpus.takeError());
    }
    for (const GpuFacts *gpu : *gpus) {
      joined += gpu->name.str() + " ";
    }
    return joined;
  };
  EXPECT_EQ(namesOf(""), "sm_80 sm_86 ");
  EXPECT_EQ(namesOf("sm_86,sm_120,sm_80,sm_90a"), "sm_90a sm_80 sm_120 sm_86 ");
  EXPECT_EQ(namesOf("sm_80,sm_80"), "'sm_80' is given twice");
  EXPECT_NE(namesOf("sm_80,").find("got ''"), std::string::npos);
}

/// What the kernels of a program are, its first level decides: whatever that
/// has code for, the others have.
TEST(Levels, scale_the_rows_of_every_product_that_8_0_scales) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  const GpuFacts &first = *findGpu("sm_80");
  int64_t scaled = 0;
  for (Type element :
       {Type(BFloat16Type::get(&context)), Type(Float32Type::get(&context))}) {
    for (int64_t inner = 8; inner <= 2048; inner += 8) {
      for (int64_t columns : {int64_t(8), int64_t(16), int64_t(64), inner}) {
        if (!canScaleProduct(first, element, inner, columns)) {
          continue;
        }
        ++scaled;
        for (const char *name : {"sm_86", "sm_89", "sm_90a", "sm_120"}) {
          EXPECT_TRUE(canScaleProduct(*findGpu(name), element, inner, columns))
              << name << ", " << inner << " by " << columns;
        }
      }
    }
  }
  EXPECT_GT(scaled, 500);
}

/// What a tile has on its way, with what its warps stage of results.
int64_t bytesOf(CudaScheduleAttr schedule, Type element) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t stage =
      bytes == 2
          ? 16 * 2 *
                std::min<int64_t>(
                    schedule.getColumns() / schedule.getColumnWarps(), 64)
          : 0;
  return schedule.getStages() * schedule.getStep() * bytes *
             (schedule.getRows() + schedule.getColumns()) +
         schedule.warps() * stage;
}

TEST(Levels, have_room_for_the_tiles_of_their_rows) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<HovaCudaDialect>();
  getOtherGpu();
  for (const GpuFacts *gpu : getGpus()) {
    for (Type element : {Type(BFloat16Type::get(&context)),
                         Type(Float32Type::get(&context))}) {
      for (int64_t rows = 1; rows <= 16384; rows *= 2) {
        CudaScheduleAttr schedule =
            scheduleProduct(*gpu, element, rows, 768, 3072);
        EXPECT_GT(blocksByGroupMemory(*gpu, bytesOf(schedule, element)), 0)
            << gpu->name.str();
      }
      CudaScheduleAttr inner = scheduleInnerProduct(*gpu, element, 768);
      EXPECT_GT(blocksByGroupMemory(*gpu, bytesOf(inner, element)), 0)
          << gpu->name.str();
    }
  }
}

/// A row of a file of its own is all that a further level takes.
TEST(Levels, are_added_by_a_row) {
  DialectRegistry registry;
  registerTargets(registry);
  registry.insert<HovaDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @main(%x: tensor<1x64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<1x64x64xbf16> {
      %r = hova.kernel "k" (%x, %w) {
      ^bb0(%x_: tensor<1x64x64xbf16>, %w_: tensor<64x64xbf16>):
        %1 = hova.linear %x_, %w_ {transposed} : tensor<1x64x64xbf16>, tensor<64x64xbf16> -> tensor<1x64x64xbf16>
        hova.yield %1 : tensor<1x64x64xbf16>
      } : (tensor<1x64x64xbf16>, tensor<64x64xbf16>) -> tensor<1x64x64xbf16>
      return %r : tensor<1x64x64xbf16>
    })",
                                            &context);
  ASSERT_TRUE(module);
  PassManager manager(&context);
  manager.addPass(createAssignGpuPass({getOtherGpu().name.str()}));
  manager.addPass(createAssignCudaSchedulePass());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  EXPECT_EQ(&gpuOf(*module), &getOtherGpu());
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  EXPECT_NE(text.find("<rows = 32, columns = 32, row_warps = 2, column_warps = "
                      "1, step = 32, stages = 2>"),
            std::string::npos)
      << text;
}

} // namespace
} // namespace hova::test
