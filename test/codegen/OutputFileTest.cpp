//===- OutputFileTest.cpp - How files are written -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/OutputFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>
#include <string>

namespace {

constexpr uint64_t kPiece = 4096, kCall = 4 << 20;

/// Bytes of the only file in `folder`.
uint64_t sizeOfOnlyFile(llvm::StringRef folder) {
  std::error_code code;
  llvm::sys::fs::directory_iterator file(folder, code);
  return llvm::cantFail(llvm::errorOrToExpected(file->status())).getSize();
}

// A file system that has large pages for large calls keeps weights in them.
TEST(OutputFile, gathers_pieces_into_calls_of_two_huge_pages) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("output-file", folder));
  llvm::SmallString<128> path = folder;
  llvm::sys::path::append(path, "file");
  auto write = [&](llvm::raw_ostream &os) {
    std::string piece(kPiece, 'w');
    for (uint64_t written = 0; written < kCall; written += kPiece) {
      EXPECT_EQ(sizeOfOnlyFile(folder), 0u) << written;
      os << piece;
    }
    os << piece;
    EXPECT_EQ(sizeOfOnlyFile(folder), kCall);
    return llvm::Error::success();
  };
  EXPECT_FALSE(llvm::errorToBool(hova::writeFileWhole(path, 0666, write)));
  EXPECT_EQ(sizeOfOnlyFile(folder), kCall + kPiece);
  EXPECT_FALSE(llvm::sys::fs::remove_directories(folder));
}

} // namespace
