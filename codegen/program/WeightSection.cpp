//===- WeightSection.cpp - Room for weights in a linked file --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/WeightSection.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/ELF.h"

#include <cstddef>
#include <cstring>

namespace hova {

std::string makeWeightObject(uint64_t bytes) {
  using namespace llvm::ELF;
  const char strings[] = "\0.hova_weights\0.rodata\0.symtab\0.strtab\0"
                         "hova_weights_begin\0hova_weights_bytes";
  enum { Weights = 1, Constant = 15, Symbols = 23, Strings = 31 };
  enum { Begin = 39, Bytes = 58 };
  struct Object {
    Elf64_Ehdr header;
    uint64_t constant;
    Elf64_Sym symbols[3];
    char strings[80];
    Elf64_Shdr sections[5];
  } object = {};
  static_assert(sizeof strings <= sizeof object.strings);
  std::memcpy(object.strings, strings, sizeof strings);
  object.constant = bytes;

  std::memcpy(object.header.e_ident, ElfMagic, 4);
  object.header.e_ident[EI_CLASS] = ELFCLASS64;
  object.header.e_ident[EI_DATA] = ELFDATA2LSB;
  object.header.e_ident[EI_VERSION] = EV_CURRENT;
  object.header.e_type = ET_REL;
  object.header.e_machine = EM_X86_64;
  object.header.e_version = EV_CURRENT;
  object.header.e_shoff = offsetof(Object, sections);
  object.header.e_ehsize = sizeof(Elf64_Ehdr);
  object.header.e_shentsize = sizeof(Elf64_Shdr);
  object.header.e_shnum = 5;
  object.header.e_shstrndx = 4;

  auto setSection = [&](int index, Elf64_Word name, Elf64_Word type,
                        Elf64_Xword flags, Elf64_Off offset, Elf64_Xword size,
                        Elf64_Xword align) {
    Elf64_Shdr &section = object.sections[index];
    section.sh_name = name;
    section.sh_type = type;
    section.sh_flags = flags;
    section.sh_offset = offset;
    section.sh_size = size;
    section.sh_addralign = align;
  };
  setSection(1, Weights, SHT_NOBITS, SHF_ALLOC | SHF_WRITE | SHF_X86_64_LARGE,
             offsetof(Object, constant), bytes, kWeightPageBytes);
  setSection(2, Constant, SHT_PROGBITS, SHF_ALLOC, offsetof(Object, constant),
             sizeof object.constant, 8);
  setSection(3, Symbols, SHT_SYMTAB, 0, offsetof(Object, symbols),
             sizeof object.symbols, 8);
  setSection(4, Strings, SHT_STRTAB, 0, offsetof(Object, strings),
             sizeof strings, 1);
  object.sections[3].sh_link = 4;
  object.sections[3].sh_info = 1;
  object.sections[3].sh_entsize = sizeof(Elf64_Sym);

  auto setSymbol = [&](int index, Elf64_Word name, Elf64_Half section) {
    Elf64_Sym &symbol = object.symbols[index];
    symbol.st_name = name;
    symbol.setBindingAndType(STB_GLOBAL, STT_OBJECT);
    symbol.st_other = STV_HIDDEN;
    symbol.st_shndx = section;
  };
  setSymbol(1, Begin, 1);
  setSymbol(2, Bytes, 2);
  return std::string(reinterpret_cast<const char *>(&object), sizeof object);
}

bool isWholeElf(llvm::ArrayRef<char> file) {
  using namespace llvm::ELF;
  Elf64_Ehdr header;
  if (file.size() < sizeof header) {
    return false;
  }
  std::memcpy(&header, file.data(), sizeof header);
  auto holds = [&](uint64_t offset, uint64_t size) {
    return offset <= file.size() && size <= file.size() - offset;
  };
  uint64_t sections = uint64_t(header.e_shnum) * sizeof(Elf64_Shdr);
  uint64_t segments = uint64_t(header.e_phnum) * sizeof(Elf64_Phdr);
  // The linker writes the section headers last.
  return std::memcmp(header.e_ident, ElfMagic, 4) == 0 && sections != 0 &&
         header.e_shstrndx < header.e_shnum &&
         holds(header.e_shoff, sections) && holds(header.e_phoff, segments);
}

llvm::Error placeWeightImage(llvm::MutableArrayRef<char> file, uint64_t offset,
                             uint64_t bytes) {
  using namespace llvm::ELF;
  auto fail = [] {
    return llvm::createStringError(std::errc::invalid_argument,
                                   "the linked program has no place for the "
                                   "weight image");
  };
  auto *header = reinterpret_cast<Elf64_Ehdr *>(file.data());
  auto *sections =
      reinterpret_cast<Elf64_Shdr *>(file.data() + header->e_shoff);
  auto *segments =
      reinterpret_cast<Elf64_Phdr *>(file.data() + header->e_phoff);
  const char *names = file.data() + sections[header->e_shstrndx].sh_offset;
  Elf64_Shdr *section = nullptr;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (llvm::StringRef(names + sections[i].sh_name) == ".hova_weights") {
      section = &sections[i];
    }
  }
  if (!section || section->sh_size != bytes) {
    return fail();
  }
  for (int i = 0; i < header->e_phnum; ++i) {
    Elf64_Phdr &segment = segments[i];
    if (segment.p_type == PT_LOAD && segment.p_vaddr == section->sh_addr &&
        segment.p_filesz == 0 && segment.p_memsz == bytes) {
      segment.p_offset = section->sh_offset = offset;
      segment.p_filesz = bytes;
      segment.p_flags = PF_R;
      section->sh_type = SHT_PROGBITS;
      section->sh_flags = SHF_ALLOC | SHF_X86_64_LARGE;
      return llvm::Error::success();
    }
  }
  return fail();
}

} // namespace hova
