//===- EvaluateFiles.h - Reference evaluation of tensor files -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `hova evaluate`: the reference semantics of a program on real inputs, from
// npy files to npy files, in float64.

#ifndef HOVA_CODEGEN_REFERENCE_EVALUATEFILES_H
#define HOVA_CODEGEN_REFERENCE_EVALUATEFILES_H

#include "codegen/reference/Evaluator.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace hova {

/// Reads an npy file: floating-point types as F32 or F64, integers as I64,
/// booleans as I1.
llvm::Expected<HostTensor> readTensor(llvm::StringRef path);

/// Writes F64, F32, I64 or I1 as npy, whole or not at all.
llvm::Error writeTensor(llvm::StringRef path, const HostTensor &tensor);

/// A tensor file for an input; the name may be empty where there is one input.
struct NamedFile {
  std::string name;
  std::string path;
};

/// The arguments of `main` (attribute `hova.name`) from the files, which must
/// name every one of them once.
llvm::Expected<llvm::SmallVector<HostTensor>>
readInputs(mlir::func::FuncOp main, llvm::ArrayRef<NamedFile> inputs);

/// The names of the files that `evaluateFiles` writes into its directory.
std::vector<std::string> outputFileNames(mlir::func::FuncOp main);

/// The outputs of a program for its inputs.
using RunFunction =
    llvm::function_ref<llvm::Expected<llvm::SmallVector<HostTensor>>(
        llvm::ArrayRef<HostTensor>)>;

/// Calls `run` with what `readInputs` reads, and writes each result to
/// `directory`/NAME.npy.
llvm::Error evaluateFiles(mlir::func::FuncOp main,
                          llvm::ArrayRef<NamedFile> inputs,
                          llvm::StringRef directory, RunFunction run);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_EVALUATEFILES_H
