//===- WeightSectionTest.cpp - What is taken for a linked file ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/WeightSection.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <vector>

namespace {

// A linker that was killed or says nothing leaves a part of a file, or none.
TEST(WeightSection, only_a_whole_file_is_one) {
  auto self = llvm::MemoryBuffer::getFile("/proc/self/exe");
  ASSERT_TRUE(self);
  std::vector<char> file((*self)->getBufferStart(), (*self)->getBufferEnd());
  EXPECT_TRUE(hova::isWholeElf(file));
  for (size_t size : {size_t(0), size_t(1), size_t(63), size_t(64),
                      size_t(4096), file.size() / 2, file.size() - 1}) {
    EXPECT_FALSE(hova::isWholeElf(llvm::ArrayRef(file).take_front(size)))
        << size;
  }
  file[0] = 'x';
  EXPECT_FALSE(hova::isWholeElf(file));
}

} // namespace
