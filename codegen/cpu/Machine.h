//===- Machine.h - LLVM's code generator for a level ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_MACHINE_H
#define HOVA_CODEGEN_CPU_MACHINE_H

#include "codegen/cpu/IsaLevel.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace hova {

/// A position-independent x86-64 Linux target at `optimization` (0 to 3).
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeTargetMachine(const IsaLevel &level, unsigned optimization);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_MACHINE_H
