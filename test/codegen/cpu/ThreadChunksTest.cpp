//===- ThreadChunksTest.cpp - Places of rows that threads keep ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/ThreadChunks.h"
#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/recipes/CpuKernelCode.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace hova;

namespace {

// Bytes [0, 128) and [640, 1024) are in use during kernel 1, [128, 640) before.
const ArenaBlock kBlocks[] = {
    {128, 0, 2, 0}, {512, 0, 0, 128}, {384, 1, 3, 640}};

TEST(ThreadChunks, stand_in_the_lowest_gap_that_has_room) {
  ChunkRows chunks[] = {{64, 9}, {64, 4}, {64, 4}, {64, 5}};
  placeChunks(kBlocks, 1, /*fitAll=*/true, chunks);
  // 576 bytes have no room in the 512 of the gap, 256 have it twice.
  EXPECT_EQ(chunks[0].offset, 1024);
  EXPECT_EQ(chunks[0].rowBytesBefore, 0);
  EXPECT_EQ(chunks[1].offset, 128);
  EXPECT_EQ(chunks[2].offset, 384);
  // What stands after the blocks begins after the rows of who is there.
  EXPECT_EQ(chunks[3].offset, 1024);
  EXPECT_EQ(chunks[3].rowBytesBefore, 64);
}

TEST(ThreadChunks, stand_after_all_blocks_where_threads_may_have_more_rows) {
  ChunkRows chunks[] = {{64, 4}, {128, 4}, {64, 4}};
  placeChunks(kBlocks, 1, /*fitAll=*/false, chunks);
  int64_t before[] = {0, 64, 192};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(chunks[i].offset, 1024);
    EXPECT_EQ(chunks[i].rowBytesBefore, before[i]);
  }
}

/// The buffer of the value between two stages, at the launch of kernel 1.
ChunkBufferOp stageBuffer(MLIRContext &context, OwningOpRef<ModuleOp> &module,
                          DenseI64ArrayAttr costs) {
  context.loadDialect<HovaDialect, HovaCpuDialect, func::FuncDialect>();
  module = parseSourceString<ModuleOp>(R"(
    func.func @main(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
      %k = hova.kernel "k" units<row 4> (%x) {
      ^bb0(%a: tensor<4x16xf32>):
        %s = hova.stage [#hova.layout<rows 16>] {
          %r = hova.activation relu %a : tensor<4x16xf32>
          hova.yield %r : tensor<4x16xf32>
        } : tensor<4x16xf32>
        %t = hova.stage [#hova.layout<rows 16>] {
          %r = hova.activation tanh %s : tensor<4x16xf32>
          hova.yield %r : tensor<4x16xf32>
        } : tensor<4x16xf32>
        hova.yield %t : tensor<4x16xf32>
      } : (tensor<4x16xf32>) -> tensor<4x16xf32>
      return %k : tensor<4x16xf32>
    })",
                                       &context);
  KernelBuffers buffers;
  module->walk([&](KernelOp kernel) { buffers.kernel = kernel; });
  KernelOp kernel = buffers.kernel;
  CpuKernelCode code;
  SmallVector<Value> between = code.getStageBuffers(kernel);
  EXPECT_EQ(between.size(), 1u);
  auto type = MemRefType::get({4, 16}, Float32Type::get(&context));
  Block &body = kernel.getBody().front();
  buffers.values = {body.getArgument(0), body.getTerminator()->getOperand(0),
                    between.front()};
  buffers.types = {type, type, type};
  buffers.shape = CpuLaunchAttr::get(&context, 4, 1, 2, costs, {});
  OpBuilder builder(kernel);
  SmallVector<Value> places =
      code.createStageBuffers(builder, buffers, kBlocks, 1);
  EXPECT_EQ(places.size(), 1u);
  return places.front().getDefiningOp<ChunkBufferOp>();
}

TEST(ThreadChunks, fit_all_units_where_these_cost_the_same) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  EXPECT_EQ(stageBuffer(context, module, {}).getOffset(), 128u);
  // Otherwise a thread may have more of them than others, and of each buffer a
  // block.
  auto costs = DenseI64ArrayAttr::get(&context, {1, 3});
  EXPECT_EQ(stageBuffer(context, module, costs).getOffset(), 1024u);
}

} // namespace
