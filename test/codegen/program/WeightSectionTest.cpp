//===- WeightSectionTest.cpp - Weights in a linked file -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/WeightSection.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <vector>

namespace {

using namespace llvm::ELF;

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

constexpr uint64_t kBytes = 3 * hova::kWeightPageBytes;

/// The object with a segment for its section, as a linker would make one.
class Linked {
public:
  Linked() {
    std::string object = hova::makeWeightObject(kBytes);
    file.assign(object.begin(), object.end());
    header = structure<Elf64_Ehdr>(0);
    header.e_phoff = file.size();
    header.e_phnum = 1;
    put(0, header);
    Elf64_Phdr segment = {};
    segment.p_type = PT_LOAD;
    segment.p_memsz = kBytes;
    file.resize(file.size() + sizeof segment);
    put(header.e_phoff, segment);
  }
  template <typename T> T structure(uint64_t at) const {
    T value;
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
  }
  template <typename T> void put(uint64_t at, const T &value) {
    std::memcpy(file.data() + at, &value, sizeof value);
  }
  /// Where the header of a section lies.
  uint64_t placeOf(int section) const {
    return header.e_shoff + section * sizeof(Elf64_Shdr);
  }
  /// What is wrong; empty: nothing.
  std::string place(uint64_t bytes = kBytes) {
    return llvm::toString(hova::placePackedWeights(file, 65536, bytes));
  }

  std::vector<char> file;
  Elf64_Ehdr header;
};

TEST(WeightSection, takes_the_image_into_its_section_and_segment) {
  Linked linked;
  ASSERT_EQ(linked.place(), "");
  auto section = linked.structure<Elf64_Shdr>(linked.placeOf(1));
  auto segment = linked.structure<Elf64_Phdr>(linked.header.e_phoff);
  EXPECT_EQ(section.sh_offset, 65536u);
  EXPECT_EQ(section.sh_type, Elf64_Word(SHT_PROGBITS));
  EXPECT_EQ(segment.p_offset, 65536u);
  EXPECT_EQ(segment.p_filesz, kBytes);
  EXPECT_EQ(segment.p_flags, Elf64_Word(PF_R));
}

TEST(WeightSection, says_what_is_missing_and_what_to_do) {
  Linked section;
  auto names = section.structure<Elf64_Shdr>(section.placeOf(4));
  section.file[names.sh_offset + 2] = 'x';
  EXPECT_EQ(section.place(),
            "the linked program has no section '.hova_weights' for its "
            "weights: the linker has dropped it; --weights-mode=file keeps "
            "them in a file beside it");

  Linked size;
  EXPECT_EQ(size.place(kBytes + 64),
            "the section '.hova_weights' of the linked program has 12288 "
            "bytes, its weights 12352; --weights-mode=file keeps them in a "
            "file beside it");

  // After the weights, as a linker puts .bss.
  Linked segment;
  auto constant = segment.structure<Elf64_Shdr>(segment.placeOf(2));
  constant.sh_addr = kBytes;
  segment.put(segment.placeOf(2), constant);
  ASSERT_EQ(Linked(segment).place(), "");
  auto load = segment.structure<Elf64_Phdr>(segment.header.e_phoff);
  load.p_memsz += 4096;
  segment.put(segment.header.e_phoff, load);
  std::vector<char> before = segment.file;
  EXPECT_EQ(segment.place(),
            "the weights of the linked program share their segment with "
            "'.rodata': make what the runtime and the kernels have there "
            "constant; --weights-mode=file keeps them in a file beside it");
  EXPECT_EQ(segment.file, before);

  // A section of no bytes is nobody's neighbour.
  constant.sh_size = 0;
  segment.put(segment.placeOf(2), constant);
  EXPECT_EQ(segment.place(),
            "no segment of the linked program is as long as its section "
            "'.hova_weights' and has nothing else; --weights-mode=file keeps "
            "them in a file beside it");

  Linked none;
  load.p_type = PT_NOTE;
  none.put(none.header.e_phoff, load);
  EXPECT_EQ(none.place(),
            "no segment of the linked program is as long as its section "
            "'.hova_weights' and has nothing else; --weights-mode=file keeps "
            "them in a file beside it");

  Linked whole;
  whole.file.pop_back();
  EXPECT_EQ(whole.place(),
            "the linked program is cut off: it ends before its tables; "
            "compile it again");
}

// Offsets of the file are used inside of the file or not at all: under a
// sanitizer, or where nothing is mapped, any other access ends this test.
TEST(WeightSection, believes_no_offset) {
  Linked linked;
  for (size_t i = 0; i < linked.file.size(); ++i) {
    for (char wrong : {'\x7f', '\xff', '\x01'}) {
      Linked broken;
      broken.file[i] = wrong;
      broken.place();
    }
  }
  Linked names;
  auto table = names.structure<Elf64_Shdr>(names.placeOf(4));
  table.sh_offset = uint64_t(-8);
  names.put(names.placeOf(4), table);
  EXPECT_NE(names.place(), "");
}

} // namespace
