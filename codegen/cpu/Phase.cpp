//===- Phase.cpp - assign and target for a CPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void hova::buildAssignPhase(OpPassManager &manager,
                            const PipelineOptions &options) {
  AssignCpuSchedulePassOptions schedule;
  schedule.avx512 = options.levels.empty() || options.levels.front().avx512;
  manager.addPass(createAssignCpuSchedulePass(schedule));
  manager.addPass(createVerifyAssignedPass());
}

void hova::buildTargetPhase(OpPassManager &manager,
                            const PipelineOptions &options) {
  LowerLaunchesPassOptions launches;
  launches.suffix = options.symbolSuffix;
  manager.addPass(createLowerLaunchesPass(launches));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createSCFToControlFlowPass());
  // Only descriptors of static shape are left after this; bare pointers follow.
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(functions));
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyLoweredPass());
}
