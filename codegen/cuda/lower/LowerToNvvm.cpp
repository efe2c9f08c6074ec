//===- LowerToNvvm.cpp - The passes behind the recipes of kernels ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace hova {

void buildLowerToNvvm(OpPassManager &manager) {
  // Positions and offsets have 32 bits.
  constexpr unsigned kIndexBits = 32;
  manager.addPass(createLowerGroupOpsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // What a thread alone decides, and so every exchange of chunks, stands
  // before the loops.
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass({kIndexBits}));
  manager.addPass(createConvertControlFlowToLLVMPass({kIndexBits}));
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createLowerLoopAnnotationsPass());
}

void registerCudaPasses() {
  registerHovaCudaPasses();
  PassPipelineRegistration<>(
      "hova-lower-to-nvvm",
      "Lower functions of group operations to kernels of the NVVM dialect",
      buildLowerToNvvm);
}

void registerCudaDialects(DialectRegistry &registry) {
  registry.insert<NVVM::NVVMDialect>();
}

} // namespace hova
