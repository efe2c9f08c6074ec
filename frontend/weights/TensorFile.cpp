//===- TensorFile.cpp - Named tensors of safetensors files ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The strict reader of single files is the runtime's. An index only names base
// names in its own folder, and every tensor must be exactly where it says.
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/TensorFile.h"

#include "frontend/reader/FileKind.h"
#include "frontend/reader/Json.h"
#include "frontend/weights/Weights.h"
#include "runtime/Safetensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <sstream>

namespace hova::frontend {

struct TensorFile::Shard {
  std::string path;
  hova_safetensors tensors = {};

  ~Shard() { hova_safetensors_close(&tensors); }
};

/// An entry with its file and its bytes.
struct TensorFile::Tensor {
  const Shard &shard;
  hova_element element;
  hova_span data;
};

static llvm::Error failure(const std::string &path, const std::string &text) {
  return llvm::createStringError(reader::escaped(path) + ": " + text);
}

static llvm::Error unreadable(const std::string &text) {
  return llvm::createStringError(std::make_error_code(std::errc::io_error),
                                 text);
}

/// The start of a file; empty if it cannot be read.
static std::string headOf(const std::string &path) {
  uint64_t size = 0;
  if (llvm::sys::fs::file_size(path, size)) {
    return "";
  }
  auto head =
      llvm::MemoryBuffer::getFileSlice(path, std::min<uint64_t>(size, 512), 0);
  return head ? (*head)->getBuffer().str() : "";
}

/// Why the safetensors reader refuses a file; what it is instead says more.
static llvm::Error refused(const std::string &path, hova_status status,
                           const hova_error &error) {
  if (status == HOVA_IO_ERROR) {
    return unreadable(error.text);
  }
  if (status == HOVA_OUT_OF_MEMORY) {
    return llvm::createStringError(
        std::make_error_code(std::errc::not_enough_memory), error.text);
  }
  std::string head = headOf(path);
  auto kind = reader::recognizeFile(head);
  if (!kind) {
    kind = reader::recognizeName(path);
  }
  if (!kind) {
    kind = reader::recognizeText(head);
  }
  if (!kind || llvm::StringRef(kind->what).contains("safetensors")) {
    return llvm::createStringError(error.text);
  }
  std::string hint = *kind->hint ? std::string("; ") + kind->hint : "";
  return failure(path, std::string("this is ") + kind->what +
                           ", not a safetensors file" + hint);
}

/// The names in a folder that end with `ending`, sorted.
static std::vector<std::string> namesIn(const std::string &folder,
                                        llvm::StringRef ending) {
  constexpr size_t mostNames = 10000;
  std::vector<std::string> names;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator at(folder, code), end;
       !code && at != end && names.size() < mostNames; at.increment(code)) {
    llvm::StringRef name = llvm::sys::path::filename(at->path());
    if (name.ends_with(ending)) {
      names.push_back(name.str());
    }
  }
  llvm::sort(names);
  return names;
}

/// Which file of a folder is meant: libraries write one of a name that all of
/// them know, or several and an index.
static llvm::Error isFolder(const std::string &folder) {
  constexpr size_t mostNamed = 4;
  std::vector<std::string> files = namesIn(folder, ".safetensors");
  std::vector<std::string> indices = namesIn(folder, ".safetensors.index.json");
  auto only = [&](const char *what, const std::string &name) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, name);
    return failure(folder, std::string("this is a folder; ") + what + " " +
                               reader::escaped(path.str().str()));
  };
  if (llvm::is_contained(files, "model.safetensors")) {
    return only("its weights are in", "model.safetensors");
  }
  if (indices.size() == 1) {
    return only("the index of its weights is", indices[0]);
  }
  if (files.size() == 1) {
    return only("its weights are in", files[0]);
  }
  std::string names;
  for (size_t i = 0; i < files.size() && i < mostNamed; ++i) {
    names += (i ? ", " : "") + reader::printable(files[i]);
  }
  if (files.size() > mostNamed) {
    names += " and " + std::to_string(files.size() - mostNamed) + " more";
  }
  return failure(folder, names.empty()
                             ? "this is a folder, in which there is no "
                               "safetensors file"
                             : "this is a folder; expected one of the files "
                               "in it: " +
                                   names);
}

std::string indexBeside(const std::string &path) {
  // model-00001-of-00003.safetensors: the index is model.safetensors.index.json
  llvm::StringRef name = llvm::sys::path::filename(path);
  size_t of = name.rfind("-of-");
  size_t dash = of == llvm::StringRef::npos ? of : name.rfind('-', of);
  if (dash == llvm::StringRef::npos || !name.ends_with(".safetensors")) {
    return "";
  }
  llvm::SmallString<256> index(llvm::sys::path::parent_path(path));
  llvm::sys::path::append(index,
                          name.take_front(dash) + ".safetensors.index.json");
  return llvm::sys::fs::exists(index) ? index.str().str() : "";
}

llvm::Expected<TensorFile> TensorFile::open(const std::string &path) {
  if (llvm::sys::fs::is_directory(path)) {
    return isFolder(path);
  }
  TensorFile file;
  file.fileName = path;
  bool isIndex = llvm::StringRef(path).ends_with(".json");
  llvm::Error error =
      isIndex ? file.openIndex(path) : file.addShard(path, nullptr);
  if (error) {
    return std::move(error);
  }
  return file;
}

std::vector<std::string> TensorFile::files() const {
  std::vector<std::string> paths;
  for (const std::shared_ptr<Shard> &shard : shards) {
    paths.push_back(shard->path);
  }
  return paths;
}

llvm::Error TensorFile::addModule(const std::string &prefix,
                                  const std::string &path) {
  return addShard(path, nullptr, prefix);
}

llvm::Error
TensorFile::addShard(const std::string &path,
                     const std::map<std::string, std::string> *expected,
                     const std::string &module) {
  auto shard = std::make_shared<Shard>();
  shard->path = path;
  hova_error error = {};
  hova_status status =
      hova_safetensors_open(path.c_str(), &shard->tensors, &error);
  if (status != HOVA_OK) {
    return refused(path, status, error);
  }
  std::string base = llvm::sys::path::filename(path).str();
  size_t number = shards.size();
  shards.push_back(shard);
  for (uint64_t i = 0; i < shard->tensors.count; ++i) {
    const hova_safetensors_entry &entry = shard->tensors.entries[i];
    if (expected) {
      auto wanted = expected->find(entry.name);
      if (wanted == expected->end() || wanted->second != base) {
        return failure(path, "tensor " + reader::inQuotes(entry.name) +
                                 " is here, but the index " +
                                 (wanted == expected->end()
                                      ? "does not name it"
                                      : "says " + wanted->second));
      }
    }
    Entry tensor;
    tensor.shape.assign(entry.dims, entry.dims + entry.rank);
    tensor.dtype = hova_dtype_name(entry.element);
    tensor.isFloat = hova_element_is_float(entry.element);
    tensor.isRead = hova_element_is_read(entry.element);
    tensor.shard = number;
    tensor.name = entry.name;
    tensor.isOfModule = !module.empty();
    if (!tensors.emplace(module + entry.name, std::move(tensor)).second) {
      return failure(path,
                     "tensor " + reader::inQuotes(entry.name) + " is called " +
                         reader::inQuotes(module + entry.name) + " here, and " +
                         fileName + " has another tensor of that name");
    }
  }
  return llvm::Error::success();
}

/// The `weight_map` of an index: tensor to file.
static llvm::Expected<std::map<std::string, std::string>>
readIndex(const std::string &path) {
  std::shared_ptr<const reader::Source> source =
      reader::Source::read(path, reader::Limits().bytes);
  if (!source) {
    return unreadable(reader::escaped(path) +
                      ": cannot read: " + std::strerror(errno));
  }
  std::string_view start = source->text();
  if (auto kind = reader::recognizeFile(start)) {
    return failure(path, std::string("this is ") + kind->what +
                             ", not the index of a checkpoint; " + kind->hint);
  }
  reader::Diagnostics diagnostics(std::move(source));
  std::unique_ptr<reader::Document> document = reader::parseJson(diagnostics);
  if (!document || diagnostics.hasErrors()) {
    std::ostringstream text;
    diagnostics.print(text);
    return llvm::createStringError(text.str());
  }
  using Kind = reader::Node::Kind;
  const reader::Node &root = *document->root();
  const reader::Node *map = root.get("weight_map");
  if (!root.is(Kind::Object) || !map || !map->is(Kind::Object)) {
    auto kind = reader::recognizeJson(start);
    return failure(path, kind && !map
                             ? std::string("this is ") + kind->what +
                                   ", not weights; " + kind->hint
                             : "an index needs an object \"weight_map\"");
  }
  std::map<std::string, std::string> files;
  for (const reader::Member &member : map->members) {
    if (llvm::StringRef(member.key).ends_with(".safetensors")) {
      return failure(path, "\"weight_map\" is inverted: it must map tensors "
                           "to files, not files to tensors");
    }
    if (!member.value->is(Kind::String)) {
      return failure(path, "the file of tensor " +
                               reader::inQuotes(member.key) +
                               " must be a string");
    }
    const std::string &file = member.value->text;
    if (auto kind = reader::recognizeName(file)) {
      return failure(path, "the index is of files each of which is " +
                               std::string(kind->what) + "; " + kind->hint);
    }
    bool isBaseName = !file.empty() && file[0] != '.' &&
                      file.find_first_of("/\\") == std::string::npos &&
                      llvm::StringRef(file).ends_with(".safetensors");
    if (!isBaseName) {
      return failure(path, reader::inQuotes(file) +
                               " is not the plain name of a safetensors file "
                               "beside the index");
    }
    files[member.key] = file;
  }
  return files;
}

llvm::Error TensorFile::openIndex(const std::string &path) {
  auto files = readIndex(path);
  if (!files) {
    return files.takeError();
  }
  std::set<std::string> names;
  for (const auto &entry : *files) {
    names.insert(entry.second);
  }
  for (const std::string &name : names) {
    llvm::SmallString<256> shard(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(shard, name);
    if (llvm::Error error = addShard(shard.str().str(), &*files)) {
      return error;
    }
  }
  for (const auto &[name, file] : *files) {
    if (!tensors.count(name)) {
      return failure(path,
                     "tensor " + reader::inQuotes(name) + " is not in " + file);
    }
  }
  return llvm::Error::success();
}

/// The first of `count` floating-point numbers at `data` whose exponent, the
/// bits in `mask`, is that of NaN and infinity.
template <typename Bits>
static std::optional<int64_t> findExponent(const void *data, int64_t count,
                                           Bits mask) {
  const char *bytes = static_cast<const char *>(data);
  constexpr int64_t block = 4096;
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t end = std::min(begin + block, count);
    // Without a way out of the loop it runs on vectors.
    bool found = false;
    for (int64_t i = begin; i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes + i * int64_t(sizeof bits), sizeof bits);
      found |= (bits & mask) == mask;
    }
    for (int64_t i = begin; found && i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes + i * int64_t(sizeof bits), sizeof bits);
      if ((bits & mask) == mask) {
        return i;
      }
    }
  }
  return std::nullopt;
}

static std::optional<int64_t> findNonFinite(hova_element element,
                                            const void *data, int64_t count) {
  switch (element) {
  case HOVA_ELEMENT_F32:
    return findExponent<uint32_t>(data, count, 0x7F800000);
  case HOVA_ELEMENT_BF16:
    return findExponent<uint16_t>(data, count, 0x7F80);
  case HOVA_ELEMENT_F16:
    return findExponent<uint16_t>(data, count, 0x7C00);
  default:
    for (int64_t i = 0; i < count; ++i) {
      double value =
          hova_element_value(element, data, static_cast<uint64_t>(i));
      if (!std::isfinite(static_cast<float>(value))) {
        return i;
      }
    }
    return std::nullopt;
  }
}

TensorFile TensorFile::below(const std::string &prefix) const {
  TensorFile file;
  file.fileName = fileName;
  file.leftOut = leftOut + prefix;
  file.shards = shards;
  for (const auto &[name, entry] : tensors) {
    file.tensors.emplace(entry.isOfModule ? name : name.substr(prefix.size()),
                         entry);
  }
  return file;
}

TensorFile::Tensor TensorFile::find(const std::string &name) const {
  const Entry &tensor = tensors.at(name);
  const Shard &shard = *shards[tensor.shard];
  const hova_safetensors_entry *entry =
      hova_safetensors_find(&shard.tensors, tensor.name.c_str());
  return {shard, entry->element, hova_safetensors_data(&shard.tensors, entry)};
}

llvm::Error TensorFile::checkFinite(const std::string &name) const {
  const Entry &tensor = tensors.at(name);
  auto [shard, element, data] = find(name);
  int64_t count = 1;
  for (int64_t dimension : tensor.shape) {
    count *= dimension;
  }
  std::optional<int64_t> found = findNonFinite(element, data.data, count);
  if (!found) {
    return llvm::Error::success();
  }
  double value =
      hova_element_value(element, data.data, static_cast<uint64_t>(*found));
  std::string what = std::isnan(value)   ? "NaN"
                     : std::isinf(value) ? "infinity"
                                         : Scalar::ofReal(value).str() +
                                               ", which f32 does not have,";
  return failure(shard.path, "tensor " + reader::inQuotes(tensor.name) +
                                 " has the value " + what + " at " +
                                 elementIndex(tensor.shape, *found));
}

llvm::Expected<HostTensor> TensorFile::load(const std::string &name) const {
  auto found = tensors.find(name);
  if (found == tensors.end()) {
    return failure(fileName, "no tensor " + reader::inQuotes(name));
  }
  auto [shard, element, data] = find(name);
  const Shape &shape = found->second.shape;
  bool isAligned = reinterpret_cast<uintptr_t>(data.data) % alignof(float) == 0;
  if (element == HOVA_ELEMENT_F32 && isAligned) {
    return HostTensor::view(HostTensor::Element::F32, shape, data.data,
                            shards[found->second.shard]);
  }
  HostTensor tensor(HostTensor::Element::F32, shape);
  float *out = tensor.mutableAs<float>();
  if (element == HOVA_ELEMENT_F32) {
    std::memcpy(out, data.data, data.size);
    return tensor;
  }
  for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
    out[i] = static_cast<float>(
        hova_element_value(element, data.data, static_cast<uint64_t>(i)));
  }
  return tensor;
}

} // namespace hova::frontend
