//===- CpuTarget.cpp - The CPU as a target --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "passes/tile/Passes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace hova {

CpuTarget::CpuTarget(IsaLevel level, unsigned number)
    : level(std::move(level)), number(number),
      facts(this->level.avx512, this->level.oneFma, this->level.matrixUnit) {}

FuseOptions CpuTarget::getFuseOptions() const {
  auto policy =
      llvm::formatv("#hova_cpu.fusion<few_rows = {0}, least_macs = {1}, "
                    "few_units = {2}, least_block = {3}, part_terms = {4}>",
                    facts.fewRows, facts.leastColumnMacs, facts.fewHeads,
                    facts.leastQueries, facts.blockTokens);
  return {policy.str(), facts.panelColumns};
}

void CpuTarget::addKernelForms(PhaseBuilder &phase) const {
  // Where every operation is to be a kernel of its own, none is formed.
  if (phase.runs("hova-fuse-kernels")) {
    phase.addOptional(createFormSequenceKernelsPass());
  }
}

void CpuTarget::buildAssignPhase(PhaseBuilder &phase) const {
  // Copies of rows are stages too.
  phase.add(createAssignRowTablesPass());
  AssignCpuSchedulePassOptions schedule;
  schedule.avx512 = level.avx512;
  // Keys and values are not packed for what is no faster.
  schedule.bf16 = level.bf16 && !level.slowPairs;
  schedule.oneFma = level.oneFma;
  schedule.matrixUnit = level.matrixUnit;
  phase.add(createAssignCpuSchedulePass(schedule));
  phase.addCheck(createVerifyAssignedPass());
}

void CpuTarget::buildTilePhase(PhaseBuilder &phase) const {
  phase.add(createTileCpuKernelsPass());
  // Recipes write the same index arithmetic again for every operation.
  phase.add(createCanonicalizerPass());
  phase.add(createCSEPass());
  phase.addCheck(createVerifyTiledPass());
}

void CpuTarget::buildVectorizePhase(PhaseBuilder &phase) const {
  if (!level.matrixUnit) {
    phase.add(createVectorizeBlockProductsPass());
  }
  phase.add(
      createVectorizeTilesPass({facts.productSteps, CpuFacts::lineElements}));
  // Index arithmetic and constants of the rows of a tile are mostly the same.
  phase.addNested<func::FuncOp>(createCanonicalizerPass());
  phase.addNested<func::FuncOp>(createCSEPass());
  // One expression per vector: before the rows exist it would be one per tile.
  LowerActivationsPassOptions activations;
  // Tables of 16 entries, and exponentials, have instructions of AVX-512.
  activations.lookups = activations.exponentials = level.avx512;
  phase.add(createLowerActivationsPass(activations));
  // Every expression brought its coefficients.
  phase.addNested<func::FuncOp>(createCSEPass());
  phase.addCheck(createVerifyVectorizedPass());
}

void CpuTarget::buildTargetPhase(PhaseBuilder &phase) const {
  LowerLaunchesPassOptions launches;
  launches.suffix = "_" + std::to_string(number);
  launches.leastWork = facts.leastWork;
  phase.add(createLowerLaunchesPass(launches));
  LowerStoragePassOptions storage;
  storage.bf16 = level.bf16;
  storage.slowPairs = level.slowPairs;
  // From here on function by function, so that they are lowered side by side.
  if (level.matrixUnit) {
    phase.add(createLowerBlockProductsPass());
  }
  // Exponentials that are only rounded are told by the roundings, which go
  // next.
  phase.add(createLowerExponentialsPass());
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

LogicalResult CpuTarget::checkCode(ModuleOp code) const {
  auto run = code.lookupSymbol<LLVM::LLVMFuncOp>("hova_run_0");
  auto launches = code.lookupSymbol<LLVM::GlobalOp>("hova_launches_0");
  if (!run || run.isExternal() || !launches) {
    return code.emitError("expects a function 'hova_run_0' with a body and a "
                          "constant 'hova_launches_0'");
  }
  return success();
}

} // namespace hova
