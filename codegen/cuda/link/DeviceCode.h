//===- DeviceCode.h - The constant that describes code for a GPU ----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LINK_DEVICECODE_H
#define HOVA_CODEGEN_CUDA_LINK_DEVICECODE_H

#include "codegen/cuda/DeviceProgram.h"
#include "codegen/cuda/link/Ptxas.h"
#include "llvm/IR/Module.h"

namespace hova {

/// Adds the constant `name`, a `hova_device_code` of hova_runtime.h, to
/// `module`. `ptx` is the text of its kernels; empty where they are emulated:
/// then `module` has the constants `hova_emulated_NAME` of all of them. `code`
/// is the text's machine code, which knows all kernels; null: there is none.
void addDeviceCode(llvm::Module &module, llvm::StringRef name,
                   const DeviceProgram &program, const GpuFacts &gpu,
                   llvm::StringRef ptx, const MachineCode *code);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LINK_DEVICECODE_H
