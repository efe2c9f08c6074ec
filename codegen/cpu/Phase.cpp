//===- Phase.cpp - assign and target for a CPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void hova::buildAssignPhase(PhaseBuilder &phase,
                            const PipelineOptions &options) {
  AssignCpuSchedulePassOptions schedule;
  if (!options.levels.empty()) {
    schedule.avx512 = options.levels.front().avx512;
    schedule.bf16 = options.levels.front().bf16;
    schedule.oneFma = options.levels.front().oneFma;
  }
  phase.add(createAssignCpuSchedulePass(schedule));
  phase.addCheck(createVerifyAssignedPass());
}

void hova::buildTargetPhase(PhaseBuilder &phase,
                            const PipelineOptions &options) {
  LowerLaunchesPassOptions launches;
  launches.suffix = options.symbolSuffix;
  phase.add(createLowerLaunchesPass(launches));
  LowerStoragePassOptions storage;
  storage.bf16 = options.levels.empty() || options.levels.front().bf16;
  // From here on function by function, so that they are lowered side by side.
  // Powers that are only rounded are told by the roundings, which go next.
  phase.add(createLowerPowersPass());
  phase.add(createLowerStoragePass(storage));
  phase.add(createLowerLookupsPass());
  phase.addNested<func::FuncOp>(createCanonicalizerPass());
  phase.addNested<func::FuncOp>(createCSEPass());
  phase.addNested<func::FuncOp>(createConvertVectorToLLVMPass());
  phase.addNested<func::FuncOp>(createSCFToControlFlowPass());
  // Only descriptors of static shape are left after this; bare pointers follow.
  phase.addNested<func::FuncOp>(memref::createExpandStridedMetadataPass());
  phase.addNested<func::FuncOp>(createLowerAffinePass());
  phase.addNested<func::FuncOp>(createConvertMathToLLVMPass());
  phase.addNested<func::FuncOp>(createArithToLLVMConversionPass());
  phase.add(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions signatures;
  signatures.useBarePtrCallConv = true;
  phase.add(createConvertFuncToLLVMPass(signatures));
  phase.add(createConvertControlFlowToLLVMPass());
  phase.addNested<LLVM::LLVMFuncOp>(createConvertIndexToLLVMPass());
  phase.addNested<LLVM::LLVMFuncOp>(createReconcileUnrealizedCastsPass());
  phase.addNested<LLVM::LLVMFuncOp>(createCSEPass());
  phase.addCheck(createVerifyLoweredPass());
}
