//===- ShippedFile.h - Files that come with hova ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_SHIPPEDFILE_H
#define HOVA_CODEGEN_PROGRAM_SHIPPEDFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace hova {

/// The path of a file in `hova/` beside the library of this function, wherever
/// that was moved to: the prelinked runtime and its header, and a linker where
/// hova brings its own. std::errc::no_such_file_or_directory: there is none.
llvm::Expected<std::string> findShippedFile(llvm::StringRef name);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_SHIPPEDFILE_H
