//===- CudaTarget.cpp - GPUs as a target ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/DeviceProgram.h"
#include "codegen/cuda/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "passes/tile/Passes.h"

using namespace mlir;

namespace hova {

FuseOptions CudaTarget::getFuseOptions() const {
  return {haveClusters ? "#hova_cuda.fusion<clusters = true>"
                       : "#hova_cuda.fusion",
          /*columnGroupWidth=*/1};
}

/// Policies ask the module.
void CudaTarget::addKernelForms(PhaseBuilder &phase) const {
  phase.add(createAssignGpuPass({first.name.str()}));
}

void CudaTarget::buildAssignPhase(PhaseBuilder &phase) const {
  phase.add(createAssignGpuPass({gpu.name.str()}));
  phase.add(createAssignCudaSchedulePass());
  phase.addCheck(createVerifyCudaAssignedPass());
}

void CudaTarget::buildTilePhase(PhaseBuilder &phase) const {
  phase.add(createTileCudaKernelsPass());
  // Recipes write the same index arithmetic again for every operation.
  phase.add(createCanonicalizerPass());
  phase.add(createCSEPass());
  phase.addCheck(createVerifyTiledPass());
}

/// Tiles are vectors already: a block of threads holds them in registers, and
/// how, the next phase says.
void CudaTarget::buildVectorizePhase(PhaseBuilder &phase) const {
  phase.addCheck(createVerifyTiledPass());
}

void CudaTarget::buildTargetPhase(PhaseBuilder &phase) const {
  phase.add(createAssignBlockCyclesPass());
  phase.add(createLowerDeviceProgramPass());
  buildLowerToNvvm(
      [&](std::unique_ptr<Pass> pass) { phase.add(std::move(pass)); });
  phase.addCheck(createVerifyDeviceCodePass());
  phase.addCheck(createVerifyLaunchOrderPass());
}

LogicalResult CudaTarget::checkCode(ModuleOp code) const {
  return success(succeeded(readDeviceProgram(code)));
}

int64_t CudaTarget::getFlopsPerByte() const { return gpu.flopsPerByte; }

} // namespace hova
