//===- OutputFile.cpp - Files that appear whole or not at all -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/OutputFile.h"

#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <unistd.h>

namespace hova {

static llvm::Error makeWriteError(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "cannot write '%s': %s",
                                 path.str().c_str(), code.message().c_str());
}

/// Bytes of one call, two huge pages. What a file system with large folios gets
/// in one call lies together in physical memory, and stays there for programs
/// that read their weights from it. Where these lie in scattered pages of 4 kB,
/// a program takes up to 4 % longer.
static constexpr size_t kWriteBytes = size_t(4) << 20;

/// Everything that must succeed before the rename.
static llvm::Error fillTemporary(llvm::sys::fs::TempFile &temporary,
                                 llvm::StringRef path, WriteFunction write) {
  llvm::raw_fd_ostream os(temporary.FD, /*shouldClose=*/false);
  os.SetBufferSize(kWriteBytes);
  llvm::Error error = write(os);
  os.flush();
  std::error_code code = os.error();
  // The stream ends the process in its destructor otherwise.
  os.clear_error();
  if (error) {
    return error;
  }
  if (!code && ::fsync(temporary.FD) != 0) {
    code = std::error_code(errno, std::generic_category());
  }
  return code ? makeWriteError(path, code) : llvm::Error::success();
}

llvm::Error writeFileWhole(llvm::StringRef path, unsigned mode,
                           WriteFunction write) {
  auto temporary =
      llvm::sys::fs::TempFile::create(path + ".%%%%%%%%.tmp", mode);
  if (!temporary) {
    return makeWriteError(path, llvm::errorToErrorCode(temporary.takeError()));
  }
  if (llvm::Error error = fillTemporary(*temporary, path, write)) {
    return llvm::joinErrors(std::move(error), temporary->discard());
  }
  if (llvm::Error error = temporary->keep(path)) {
    return makeWriteError(path, llvm::errorToErrorCode(std::move(error)));
  }
  return llvm::Error::success();
}

} // namespace hova
