//===- Ptxas.h - Machine code of kernels ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LINK_PTXAS_H
#define HOVA_CODEGEN_CUDA_LINK_PTXAS_H

#include "codegen/cuda/facts/GpuFacts.h"
#include "codegen/program/DeviceReport.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>

namespace hova {

/// Code for one architecture, and what the assembler said of it.
struct MachineCode {
  std::string bytes;     ///< an ELF file, a cubin
  std::string assembler; ///< "ptxas 13.0.88"
  llvm::StringMap<MachineCodeUse> kernels;
};

/// The first program of this name, as `ptxas`, in PATH, in the folder bin of
/// CUDA_HOME, of CUDA_PATH and of /usr/local/cuda; empty where there is none.
/// Relative folders of these variables, which mean another place in every
/// folder, are passed over.
std::string findCudaTool(llvm::StringRef name);

/// Runs the assembler with the path `ptxas` on a text for `gpu`. An error is
/// one sentence about that file, and says what it did not take.
llvm::Expected<MachineCode>
assemblePtx(llvm::StringRef ptxas, llvm::StringRef ptx, const GpuFacts &gpu);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LINK_PTXAS_H
