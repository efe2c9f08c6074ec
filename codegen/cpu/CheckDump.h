//===- CheckDump.h - Whether a dump may be compiled from ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_CHECKDUMP_H
#define HOVA_CODEGEN_CPU_CHECKDUMP_H

#include "mlir/IR/BuiltinOps.h"

namespace hova {

/// Succeeds if `dump`, a module of any phase that its reader may have edited,
/// is a program with the inputs and outputs of `imported`, the program of the
/// description behind it, and if everything that later phases, code generation
/// and `hova verify` look up in it by name is there, has its type and lies
/// within what it is a part of. What passes and MLIR's own verifier check is
/// theirs. Otherwise one error is reported at its place in the dump.
mlir::LogicalResult checkDump(mlir::ModuleOp dump, mlir::ModuleOp imported);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_CHECKDUMP_H
