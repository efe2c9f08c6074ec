//===- CodeUnit.h - Code that LLVM generates at once ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A unit is one module of LLVM in a context of its own, so that several are
// generated beside each other. Objects are made of one unit per function and
// one for the program's description, however many processors there are: the
// linker's result does not depend on the machine. Text has everything in one.
//
// Functions of all units live in one space of names when they are linked, with
// those of other models too if the user links them: `kernel_attn` of level 0
// becomes `kernel_attn.0.PREFIX`, hidden from other programs.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_CPU_LINK_CODEUNIT_H
#define HOVA_CODEGEN_CPU_LINK_CODEUNIT_H

#include "codegen/cpu/IsaLevel.h"
#include "codegen/program/Compile.h"

namespace hova {

struct CodeUnit {
  /// After phase `target`; null: no code.
  mlir::OwningOpRef<mlir::ModuleOp> code;
  /// Index in CompileOptions::levels.
  size_t level = 0;
  /// Holds the description of the program.
  bool describes = false;
};

/// What the function of a run is called in all units.
std::string runName(size_t level, llvm::StringRef prefix);

/// The same of the launches that it walks.
std::string launchesName(size_t level, llvm::StringRef prefix);

/// Adds a unit for every function of `lowered`, with declarations of what it
/// calls and the constants that it reads.
void splitCode(mlir::ModuleOp lowered, size_t level,
               llvm::SmallVectorImpl<CodeUnit> &units);

/// The text or object code of each unit, in their order; units lose their
/// modules. As many at once as `context` has threads. Failures are reported to
/// the context.
mlir::FailureOr<llvm::SmallVector<std::string>>
generateCode(mlir::MLIRContext *context, llvm::MutableArrayRef<CodeUnit> units,
             llvm::ArrayRef<IsaLevel> levels, const CompileOptions &options,
             DescribeFunction describe);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_LINK_CODEUNIT_H
