//===- Linker.h - The process that links ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The linker reads memory files (Process.h) and writes into a pipe.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_PROGRAM_LINKER_H
#define HOVA_CODEGEN_PROGRAM_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace hova {

using LinkedFile = std::vector<char>;

/// Runs the linker that came with hova (`ld.lld`, see ShippedFile.h) or, where
/// there is none, the one that hova was built with, and returns what it writes
/// to standard output, a whole ELF file.
///
/// Errors carry the system's code where it cannot be started, and
/// std::errc::executable_format_error, with its words, where it fails.
llvm::Expected<LinkedFile> runLinker(llvm::ArrayRef<std::string> arguments);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_LINKER_H
