//===- Disassembly.h - What the machine code of kernels does ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LINK_DISASSEMBLY_H
#define HOVA_CODEGEN_CUDA_LINK_DISASSEMBLY_H

#include "codegen/program/DeviceReport.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace hova {

/// The main loops of a cubin's kernels, by name; those without one have none.
/// They are read of what NVIDIA's disassembler prints, `nvdisasm` in the folder
/// of `ptxas`. An error is the end of a sentence that says why they are not
/// known.
llvm::Expected<llvm::StringMap<MainLoop>> countMainLoops(llvm::StringRef ptxas,
                                                         llvm::StringRef cubin);

/// The same of the text of `nvdisasm -c`, which knows no times.
llvm::StringMap<MainLoop> readMainLoops(llvm::StringRef text);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LINK_DISASSEMBLY_H
