//===- ProgramDescriptor.h - The constant that describes a program --------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_PROGRAMDESCRIPTOR_H
#define HOVA_CODEGEN_CPU_PROGRAMDESCRIPTOR_H

#include "codegen/cpu/Compile.h"
#include "llvm/IR/Module.h"

namespace hova {

/// Facts of a program that are not in its tiled module.
struct ProgramFacts {
  int64_t flops = 0; ///< of the description, dense
  std::string weightId;
};

/// Digest of the model's weights and of their layout in the image: names,
/// shapes, order and panels, but no values.
std::string weightDigest(mlir::ModuleOp tiled);

/// Adds the constant `hova_program_<prefix>` (hova_runtime.h) to `module`,
/// filled from the module after `tile`. The functions of the levels (runName)
/// may lie in other modules.
void addProgramDescriptor(llvm::Module &module, mlir::ModuleOp tiled,
                          const CompileOptions &options,
                          const ProgramFacts &facts);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_PROGRAMDESCRIPTOR_H
