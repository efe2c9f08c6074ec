//===- OutputFile.h - Files that appear whole or not at all -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM's default stream truncates the final name before it writes: a full disk
// or a killed process loses the old file and leaves a torn one.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_CPU_OUTPUTFILE_H
#define HOVA_CODEGEN_CPU_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace hova {

/// Writes to a stream; an error cancels the output.
using WriteFunction = llvm::function_ref<llvm::Error(llvm::raw_ostream &)>;

/// Writes a file that appears whole or not at all: to a temporary in its
/// directory, synchronised, renamed. `mode` is reduced by the umask.
llvm::Error writeFileWhole(llvm::StringRef path, unsigned mode,
                           WriteFunction write);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_OUTPUTFILE_H
