//===- ProgramDescriptor.h - The constant that describes a program --------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_PROGRAMDESCRIPTOR_H
#define HOVA_CODEGEN_PROGRAM_PROGRAMDESCRIPTOR_H

#include "codegen/program/Compile.h"
#include "llvm/IR/Module.h"

namespace hova {

/// Adds the constant `hova_program_<prefix>` (hova_runtime.h) to `module`,
/// filled from the module after `tile`. The code of `levels` may lie in other
/// modules. `flops` are those of the description, dense; `bill` is that of
/// Bill.h, or empty.
void addProgramDescriptor(llvm::Module &module, mlir::ModuleOp tiled,
                          const CompileOptions &options,
                          llvm::ArrayRef<LevelCode> levels, int64_t flops,
                          llvm::StringRef bill);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_PROGRAMDESCRIPTOR_H
