//===- Phase.cpp - assign and target for a CPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void hova::buildAssignPhase(OpPassManager &manager,
                            const PipelineOptions &options) {
  AssignCpuSchedulePassOptions schedule;
  if (!options.levels.empty()) {
    schedule.avx512 = options.levels.front().avx512;
    schedule.bf16 = options.levels.front().bf16;
    schedule.oneFma = options.levels.front().oneFma;
  }
  manager.addPass(createAssignCpuSchedulePass(schedule));
  manager.addPass(createVerifyAssignedPass());
}

void hova::buildTargetPhase(OpPassManager &manager,
                            const PipelineOptions &options) {
  LowerLaunchesPassOptions launches;
  launches.suffix = options.symbolSuffix;
  manager.addPass(createLowerLaunchesPass(launches));
  LowerStoragePassOptions storage;
  storage.bf16 = options.levels.empty() || options.levels.front().bf16;
  // Function by function, so that they are lowered beside each other.
  OpPassManager &functions = manager.nest<func::FuncOp>();
  // Powers that are only rounded are told by the roundings, which go next.
  functions.addPass(createLowerPowersPass());
  functions.addPass(createLowerStoragePass(storage));
  functions.addPass(createLowerLookupsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createConvertVectorToLLVMPass());
  functions.addPass(createSCFToControlFlowPass());
  // Only descriptors of static shape are left after this; bare pointers follow.
  functions.addPass(memref::createExpandStridedMetadataPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(createConvertMathToLLVMPass());
  functions.addPass(createArithToLLVMConversionPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions signatures;
  signatures.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(signatures));
  manager.addPass(createConvertControlFlowToLLVMPass());
  OpPassManager &lowered = manager.nest<LLVM::LLVMFuncOp>();
  lowered.addPass(createConvertIndexToLLVMPass());
  lowered.addPass(createReconcileUnrealizedCastsPass());
  lowered.addPass(createCSEPass());
  manager.addPass(createVerifyLoweredPass());
}
