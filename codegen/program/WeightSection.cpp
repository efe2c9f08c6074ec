//===- WeightSection.cpp - Room for weights in a linked file --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/WeightSection.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/BinaryFormat/ELF.h"

#include <cstddef>
#include <cstring>

namespace hova {

static constexpr llvm::StringLiteral kWeightSection = ".hova_weights";

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

/// Whether the file has `size` bytes from `offset` on.
static bool holds(llvm::ArrayRef<char> file, uint64_t offset, uint64_t size) {
  return offset <= file.size() && size <= file.size() - offset;
}

/// Structures lie anywhere in the file: no place of one is a multiple of
/// anything, unless the file is what a linker has written.
template <typename T> static T readAt(llvm::ArrayRef<char> file, uint64_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

template <typename T>
static void writeAt(llvm::MutableArrayRef<char> file, uint64_t at,
                    const T &value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

bool isWholeElf(llvm::ArrayRef<char> file) {
  using namespace llvm::ELF;
  if (!holds(file, 0, sizeof(Elf64_Ehdr))) {
    return false;
  }
  auto header = readAt<Elf64_Ehdr>(file, 0);
  uint64_t sections = uint64_t(header.e_shnum) * sizeof(Elf64_Shdr);
  uint64_t segments = uint64_t(header.e_phnum) * sizeof(Elf64_Phdr);
  // The linker writes the section headers last.
  return std::memcmp(header.e_ident, ElfMagic, 4) == 0 && sections != 0 &&
         header.e_shstrndx < header.e_shnum &&
         holds(file, header.e_shoff, sections) &&
         holds(file, header.e_phoff, segments);
}

/// The name at `offset` of the section `names`; empty where there is none.
static llvm::StringRef nameAt(llvm::ArrayRef<char> file,
                              const llvm::ELF::Elf64_Shdr &names,
                              uint64_t offset) {
  if (!holds(file, names.sh_offset, names.sh_size) || offset >= names.sh_size) {
    return {};
  }
  llvm::StringRef rest(file.data() + names.sh_offset + offset,
                       names.sh_size - offset);
  return rest.take_until([](char c) { return c == '\0'; });
}

/// Whether a segment has the first byte of a section in memory.
static bool begins(const llvm::ELF::Elf64_Shdr &section,
                   const llvm::ELF::Elf64_Phdr &segment) {
  return segment.p_type == llvm::ELF::PT_LOAD &&
         section.sh_addr >= segment.p_vaddr &&
         section.sh_addr - segment.p_vaddr < segment.p_memsz;
}

/// The sections that share the segment of the weights, in quotes. An empty one
/// shares nothing: where the constants before the weights end with a page, the
/// linker puts a padding of no bytes there.
static std::string findNeighbours(llvm::ArrayRef<char> file,
                                  const llvm::ELF::Elf64_Shdr &weights) {
  using namespace llvm::ELF;
  auto header = readAt<Elf64_Ehdr>(file, 0);
  auto sectionAt = [&](int i) {
    return readAt<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  Elf64_Shdr names = sectionAt(header.e_shstrndx);
  std::string found;
  for (int i = 0; i < header.e_phnum; ++i) {
    auto segment =
        readAt<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    for (int j = 0; begins(weights, segment) && j < header.e_shnum; ++j) {
      Elf64_Shdr other = sectionAt(j);
      llvm::StringRef name = nameAt(file, names, other.sh_name);
      if ((other.sh_flags & SHF_ALLOC) && other.sh_size != 0 &&
          name != kWeightSection && begins(other, segment)) {
        found += (found.empty() ? "'" : ", '") + name.str() + "'";
      }
    }
  }
  return found;
}

llvm::Error placePackedWeights(llvm::MutableArrayRef<char> file,
                               uint64_t offset, uint64_t bytes) {
  using namespace llvm::ELF;
  auto fail = [](const llvm::Twine &message, llvm::StringRef remedy) {
    return llvm::createStringError(
        std::make_error_code(std::errc::executable_format_error),
        message + "; " + remedy);
  };
  // Such a program has no place for weights.
  const llvm::StringLiteral keepBeside =
      "--weights-mode=file keeps them in a file beside it";
  if (!isWholeElf(file)) {
    return fail("the linked program is cut off: it ends before its tables",
                "compile it again");
  }
  auto header = readAt<Elf64_Ehdr>(file, 0);
  auto placeOf = [&](uint64_t section) {
    return header.e_shoff + section * sizeof(Elf64_Shdr);
  };
  auto names = readAt<Elf64_Shdr>(file, placeOf(header.e_shstrndx));
  uint64_t place = 0;
  for (int i = 0; i < header.e_shnum; ++i) {
    auto candidate = readAt<Elf64_Shdr>(file, placeOf(i));
    if (nameAt(file, names, candidate.sh_name) == kWeightSection) {
      place = placeOf(i);
    }
  }
  if (place == 0) {
    return fail("the linked program has no section '" + kWeightSection +
                    "' for its weights: the linker has dropped it",
                keepBeside);
  }
  auto section = readAt<Elf64_Shdr>(file, place);
  if (section.sh_size != bytes) {
    return fail("the section '" + kWeightSection +
                    "' of the linked program has " +
                    llvm::Twine(section.sh_size) + " bytes, its weights " +
                    llvm::Twine(bytes),
                keepBeside);
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    uint64_t entry = header.e_phoff + i * sizeof(Elf64_Phdr);
    auto segment = readAt<Elf64_Phdr>(file, entry);
    if (segment.p_type == PT_LOAD && segment.p_vaddr == section.sh_addr &&
        segment.p_filesz == 0 && segment.p_memsz == bytes) {
      segment.p_offset = section.sh_offset = offset;
      segment.p_filesz = bytes;
      segment.p_flags = PF_R;
      section.sh_type = SHT_PROGBITS;
      section.sh_flags = SHF_ALLOC | SHF_X86_64_LARGE;
      writeAt(file, entry, segment);
      writeAt(file, place, section);
      return llvm::Error::success();
    }
  }
  std::string neighbours = findNeighbours(file, section);
  if (neighbours.empty()) {
    return fail("no segment of the linked program is as long as its section '" +
                    kWeightSection + "' and has nothing else",
                keepBeside);
  }
  // What may be written lies in one segment.
  return fail("the weights of the linked program share their segment with " +
                  neighbours +
                  ": make what the runtime and the kernels have there constant",
              keepBeside);
}

} // namespace hova
