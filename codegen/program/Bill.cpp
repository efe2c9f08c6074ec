//===- Bill.cpp - What a program was made from ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/Bill.h"

#include "codegen/JsonText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace hova {

/// Descriptions are at most as long (reader::Limits).
static constexpr uint64_t kMostDescriptionBytes = 16 << 20;

/// Of options, names and a line for each site; 100,000 sites have less.
static constexpr uint64_t kMostBillBytes = 64 << 20;

static Error rejected(const Twine &message) {
  return createStringError(std::make_error_code(std::errc::invalid_argument),
                           message);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Object fileJson(const HashedFile &file) {
  return json::Object{{"file", json::fixUTF8(file.name)},
                      {"sha256", file.sha256}};
}

static json::Array filesJson(ArrayRef<HashedFile> files) {
  json::Array array;
  for (const HashedFile &file : files) {
    array.push_back(fileJson(file));
  }
  return array;
}

static json::Array textsJson(ArrayRef<std::string> texts) {
  json::Array array;
  for (const std::string &text : texts) {
    array.push_back(json::fixUTF8(text));
  }
  return array;
}

static json::Value billJson(const Bill &bill) {
  json::Object object{{"compiler", bill.compiler},
                      {"description", fileJson(bill.description)},
                      {"weights", filesJson(bill.weights)},
                      {"options", textsJson(bill.options)},
                      {"levels", textsJson(bill.levels)},
                      {"verdicts", json::Array(bill.verdicts)}};
  if (!bill.dump.name.empty()) {
    object["dump"] = fileJson(bill.dump);
  }
  if (!bill.weightsName.empty()) {
    object["weights_file"] = json::fixUTF8(bill.weightsName);
  }
  if (!bill.checkpoint.empty()) {
    object["checkpoint"] = bill.checkpoint;
  }
  if (!bill.plugins.empty()) {
    object["plugins"] = filesJson(bill.plugins);
  }
  return object;
}

/// In ASCII: names of files may hold marks that a terminal obeys.
static std::string asciiJson(const json::Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  SmallVector<UTF16> units;
  convertUTF8ToUTF16String(text, units);
  std::string result;
  raw_string_ostream os(result);
  for (UTF16 unit : units) {
    if (unit < 0x7f) {
      os << static_cast<char>(unit);
    } else {
      os << format("\\u%04x", unit);
    }
  }
  return result;
}

/// In one line whatever it holds; file names may hold anything.
static std::string oneLine(StringRef text) {
  std::string result;
  raw_string_ostream os(result);
  printEscapedString(text, os);
  return result;
}

static void printFile(StringRef label, const HashedFile &file,
                      raw_ostream &os) {
  os << "  " << left_justify(label, 12) << oneLine(file.name) << ", SHA-256 "
     << file.sha256 << "\n";
}

static void printVerdicts(const Bill &bill, raw_ostream &os) {
  size_t fused = 0;
  std::string missed;
  raw_string_ostream lines(missed);
  for (const json::Value &entry : bill.verdicts) {
    const json::Object &site = *entry.getAsObject();
    if (site.getBoolean("fused").value_or(false)) {
      ++fused;
      continue;
    }
    lines << "  not fused   " << oneLine(site.getString("path").value_or(""))
          << ": " << oneLine(site.getString("why").value_or("")) << "\n";
  }
  os << "  verdicts    " << fused << " of " << bill.verdicts.size()
     << " sites are fused\n"
     << missed;
}

static void printText(const Bill &bill, raw_ostream &os) {
  os << "made from\n";
  printFile("description", bill.description, os);
  if (!bill.dump.name.empty()) {
    printFile("dump", bill.dump, os);
  }
  for (const HashedFile &file : bill.weights) {
    printFile("weights", file, os);
  }
  if (!bill.checkpoint.empty()) {
    os << "  names of    " << bill.checkpoint << "\n";
  }
  for (const HashedFile &file : bill.plugins) {
    printFile("plugin", file, os);
  }
  os << "  options     " << oneLine(join(bill.options, " ")) << "\n";
  printVerdicts(bill, os);
}

static std::string packed(StringRef text) {
  SmallVector<uint8_t> bytes;
  compression::zlib::compress(arrayRefFromStringRef(text), bytes,
                              compression::zlib::BestSizeCompression);
  return toStringRef(bytes).str();
}

std::string writeBill(const Bill &bill) {
  std::string result;
  raw_string_ostream os(result);
  printText(bill, os);
  os << '\0' << asciiJson(billJson(bill)) << '\0' << packed(bill.text);
  return result;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Before a file is read as a whole: a device has no end, and what is in a FIFO
/// is gone then.
static Error checkRegular(StringRef path) {
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(path, status)) {
    return createFileError(path, error);
  }
  // Reading a folder fails by itself, in the system's words.
  bool isRead = status.type() == sys::fs::file_type::regular_file ||
                status.type() == sys::fs::file_type::directory_file;
  return isRead ? Error::success()
                : createFileError(path, rejected("it is no regular file"));
}

Expected<HashedFile> hashFile(StringRef path) {
  if (Error error = checkRegular(path)) {
    return std::move(error);
  }
  Expected<sys::fs::file_t> file = sys::fs::openNativeFileForRead(path);
  if (!file) {
    return createFileError(path, file.takeError());
  }
  SHA256 hash;
  SmallVector<char, 0> piece;
  piece.resize_for_overwrite(1 << 20);
  Expected<size_t> size = 0;
  do {
    size = sys::fs::readNativeFile(*file, piece);
    if (size) {
      hash.update(StringRef(piece.data(), *size));
    }
  } while (size && *size != 0);
  (void)sys::fs::closeFile(*file);
  if (!size) {
    return createFileError(path, size.takeError());
  }
  auto digest = hash.final();
  return HashedFile{sys::path::filename(path).str(),
                    toHex(ArrayRef(digest), /*LowerCase=*/true)};
}

static HashedFile readFile(const json::Object *object) {
  return object ? HashedFile{object->getString("file").value_or("").str(),
                             object->getString("sha256").value_or("").str()}
                : HashedFile();
}

static std::vector<HashedFile> readFiles(const json::Object &bill,
                                         StringRef key) {
  std::vector<HashedFile> files;
  if (const json::Array *array = bill.getArray(key)) {
    for (const json::Value &entry : *array) {
      files.push_back(readFile(entry.getAsObject()));
    }
  }
  return files;
}

static std::vector<std::string> readTexts(const json::Object &bill,
                                          StringRef key) {
  std::vector<std::string> texts;
  if (const json::Array *array = bill.getArray(key)) {
    for (const json::Value &entry : *array) {
      texts.push_back(entry.getAsString().value_or("").str());
    }
  }
  return texts;
}

static Error unpack(StringRef section, Bill &bill) {
  SmallVector<uint8_t> bytes;
  bytes.resize_for_overwrite(kMostDescriptionBytes + 1);
  size_t size = bytes.size();
  if (Error error = compression::zlib::decompress(
          arrayRefFromStringRef(section), bytes.data(), size)) {
    return joinErrors(rejected("its description cannot be unpacked"),
                      std::move(error));
  }
  bill.text = toStringRef(ArrayRef(bytes).take_front(size)).str();
  auto digest = SHA256::hash(arrayRefFromStringRef(bill.text));
  if (toHex(ArrayRef(digest), /*LowerCase=*/true) != bill.description.sha256) {
    return rejected("its description is not the one whose hash it has");
  }
  return Error::success();
}

static Expected<Bill> parse(StringRef section,
                            function_ref<std::string(StringRef)> refuse) {
  auto [json, description] = section.split('\0').second.split('\0');
  if (json.size() > kMostBillBytes) {
    return rejected("its bill has " + Twine(json.size()) +
                    " bytes, and at most " + Twine(kMostBillBytes) +
                    " are read");
  }
  Expected<json::Value> value = parseJsonText(json);
  if (!value) {
    return joinErrors(rejected("its bill is no JSON"), value.takeError());
  }
  const json::Object *object = value->getAsObject();
  if (!object) {
    return rejected("its bill is no object of JSON");
  }
  Bill bill;
  bill.compiler = object->getString("compiler").value_or("").str();
  bill.description = readFile(object->getObject("description"));
  bill.dump = readFile(object->getObject("dump"));
  bill.weights = readFiles(*object, "weights");
  bill.weightsName = object->getString("weights_file").value_or("").str();
  bill.checkpoint = object->getString("checkpoint").value_or("").str();
  bill.plugins = readFiles(*object, "plugins");
  bill.options = readTexts(*object, "options");
  bill.levels = readTexts(*object, "levels");
  for (const std::string &word : bill.options) {
    if (std::string why = refuse(word); !why.empty()) {
      return rejected("its bill has an option that it must not: " + why);
    }
  }
  if (Error error = unpack(description, bill)) {
    return std::move(error);
  }
  return bill;
}

/// Calls `read` with the ELF file at `path`.
template <typename Result, typename Read>
static Expected<Result> readElf(StringRef path, Read read) {
  if (Error error = checkRegular(path)) {
    return std::move(error);
  }
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer) {
    return createFileError(path, buffer.getError());
  }
  auto file = object::ObjectFile::createELFObjectFile(
      (*buffer)->getMemBufferRef(), /*InitContent=*/false);
  auto *elf = file ? dyn_cast<object::ELF64LEObjectFile>(file->get()) : nullptr;
  if (!elf) {
    consumeError(file.takeError());
    return createFileError(path, rejected("it is no program of hova"));
  }
  Expected<Result> result = read(*elf);
  return result ? std::move(result)
                : createFileError(path, rejected(toString(result.takeError())));
}

Expected<Bill> readBill(StringRef path,
                        function_ref<std::string(StringRef)> refuse) {
  return readElf<Bill>(
      path, [&](const object::ELF64LEObjectFile &elf) -> Expected<Bill> {
        for (const object::SectionRef &section : elf.sections()) {
          Expected<StringRef> name = section.getName();
          if (!name) {
            return name.takeError();
          }
          if (*name == kBillSection) {
            Expected<StringRef> contents = section.getContents();
            return contents ? parse(*contents, refuse) : contents.takeError();
          }
        }
        return rejected("it has no section '" + kBillSection +
                        "', which programs of hova have");
      });
}

Expected<std::string> readSoname(StringRef path) {
  return readElf<std::string>(
      path, [&](const object::ELF64LEObjectFile &elf) -> Expected<std::string> {
        auto entries = elf.getELFFile().dynamicEntries();
        if (!entries) {
          return entries.takeError();
        }
        std::optional<uint64_t> offset, table;
        for (const auto &entry : *entries) {
          if (entry.getTag() == ELF::DT_SONAME) {
            offset = entry.getVal();
          } else if (entry.getTag() == ELF::DT_STRTAB) {
            table = entry.getPtr();
          }
        }
        if (!offset || !table) {
          return "";
        }
        auto strings = elf.getELFFile().toMappedAddr(*table + *offset);
        if (!strings) {
          return strings.takeError();
        }
        StringRef file = elf.getData();
        StringRef rest = file.drop_front(
            reinterpret_cast<const char *>(*strings) - file.data());
        return rest.take_until([](char c) { return c == '\0'; }).str();
      });
}

} // namespace hova
