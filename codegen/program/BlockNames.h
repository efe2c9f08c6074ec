//===- BlockNames.h - Says in LLVM's text what code is for ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_BLOCKNAMES_H
#define HOVA_CODEGEN_PROGRAM_BLOCKNAMES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

namespace hova {

/// What the location of an operation or of a block argument says.
struct CodeOrigin {
  llvm::StringRef path;  ///< of a value in the model
  llvm::StringRef stage; ///< in the kernel: "stage 1"
  llvm::StringRef loop;  ///< what the loop runs over: "rows"
};

CodeOrigin originOf(mlir::Location location);

/// Names the basic blocks of `translated` after what the same blocks of
/// `lowered` (phase `target`) were made from: the paths of the values, the
/// stages of the kernel, what a loop runs over. LLVM prints these names as the
/// labels of its IR and as comments of its assembly, and they change no code.
void nameBlocks(mlir::ModuleOp lowered, llvm::Module &translated);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_BLOCKNAMES_H
