//===- LowerToNvvm.cpp - The passes after the recipes of kernels ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace hova {

void buildLowerToNvvm(AddPass add) {
  // Positions and offsets have 32 bits.
  constexpr unsigned kIndexBits = 32;
  add(createLowerGroupOpsPass());
  // Loops have no blocks to merge, and to look for them takes most of the time.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  add(createCanonicalizerPass(config));
  add(createCSEPass());
  // What a thread alone decides, and so every exchange of chunks, stands
  // before the loops.
  add(createLoopInvariantCodeMotionPass());
  add(createCSEPass());
  add(createOrderLoadsPass());
  // Choices of copies are operations still, which move whole.
  add(createOrderLaunchesPass());
  add(createSCFToControlFlowPass());
  add(createConvertVectorToLLVMPass());
  add(createConvertMathToLLVMPass());
  add(createArithToLLVMConversionPass({kIndexBits}));
  add(createConvertControlFlowToLLVMPass({kIndexBits}));
  add(createReconcileUnrealizedCastsPass());
  add(createLowerLoopAnnotationsPass());
}

void registerCudaPasses() {
  registerHovaCudaPasses();
  PassPipelineRegistration<>(
      "hova-lower-to-nvvm",
      "Lower functions of group operations to kernels of the NVVM dialect",
      [](OpPassManager &manager) {
        buildLowerToNvvm([&](std::unique_ptr<Pass> pass) {
          manager.addPass(std::move(pass));
        });
      });
}

void registerCudaDialects(DialectRegistry &registry) {
  registry.insert<NVVM::NVVMDialect>();
}

} // namespace hova
