//===- ShippedFile.cpp - Files that come with hova ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/ShippedFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

namespace hova {

llvm::Expected<std::string> findShippedFile(llvm::StringRef name) {
  Dl_info self;
  if (!::dladdr(reinterpret_cast<const void *>(&findShippedFile), &self)) {
    return llvm::createStringError(std::errc::no_such_file_or_directory,
                                   "cannot find hova's own library");
  }
  llvm::SmallString<256> path;
  if (std::error_code code = llvm::sys::fs::real_path(self.dli_fname, path)) {
    return llvm::createStringError(code, "cannot find '%s'", self.dli_fname);
  }
  llvm::sys::path::remove_filename(path);
  llvm::SmallString<256> beside = path;
  llvm::sys::path::append(beside, "hova", name);
  // A program of the build that carries this code itself lies in bin/.
  llvm::SmallString<256> sibling = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(sibling, "lib", "hova", name);
  for (const auto &candidate : {beside, sibling}) {
    if (llvm::sys::fs::exists(candidate)) {
      return std::string(candidate);
    }
  }
  return llvm::createStringError(std::errc::no_such_file_or_directory,
                                 "hova is not installed completely: '%s' is "
                                 "missing",
                                 beside.c_str());
}

} // namespace hova
