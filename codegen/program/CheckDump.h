//===- CheckDump.h - Whether a dump may be compiled from ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_CHECKDUMP_H
#define HOVA_CODEGEN_PROGRAM_CHECKDUMP_H

#include "codegen/Target.h"

namespace hova {

/// Succeeds if `dump`, a module of any phase that its reader may have edited,
/// is a program with the inputs and outputs of `imported`, the program of the
/// description after it, and if everything that later phases, code generation
/// and `hova verify` look up in it by name is there, has its type and lies
/// within what it is a part of. What passes and MLIR's own verifier check is
/// theirs; of the phases from `assign` on, `target` says what code is, and
/// checks the promises. Otherwise one error is reported at its place in the
/// dump.
mlir::LogicalResult checkDump(mlir::ModuleOp dump, mlir::ModuleOp imported,
                              const Target &target);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_CHECKDUMP_H
