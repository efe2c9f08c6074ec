//===- FileKind.cpp - What a file is that is not what was expected --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/FileKind.h"

#include <algorithm>
#include <utility>

namespace hova::reader {

using namespace std::string_view_literals;

namespace {

constexpr const char *convert = "weights are read from safetensors files";
constexpr const char *fromTorch =
    "save its state_dict with safetensors.torch.save_file";
constexpr const char *unpack = "unpack it first";
constexpr const char *asUtf8 = "save it as UTF-8";

constexpr const char *fetch = "git lfs pull fetches the file it stands for";
constexpr const char *download =
    "a download that fails often leaves such a page under the file's name";

struct Magic {
  std::string_view bytes;
  FileKind kind;
};

constexpr Magic magics[] = {
    {"version https://git-lfs.github.com/spec/"sv,
     {"a pointer of git-lfs", fetch}},
    {"GGUF"sv, {"a GGUF model", convert}},
    {"\x89HDF\r\n\x1a\n"sv, {"an HDF5 file, as Keras writes it", convert}},
    {"\x93NUMPY"sv, {"a NumPy array", convert}},
    {"\x1f\x8b"sv, {"compressed by gzip", unpack}},
    {"\x28\xb5\x2f\xfd"sv, {"compressed by zstd", unpack}},
    {"\xfd"
     "7zXZ"sv,
     {"compressed by xz", unpack}},
    {"\x7f"
     "ELF"sv,
     {"a program or a library", ""}},
    {"\xff\xfe"sv, {"UTF-16 text", asUtf8}},
    {"\xfe\xff"sv, {"UTF-16 text", asUtf8}},
    {"{\0"sv, {"UTF-16 text", asUtf8}},
    {"\0{"sv, {"UTF-16 text", asUtf8}},
};

bool startsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// IR as text. What hova dumps begins with comments.
bool isIr(std::string_view head) {
  while (startsWith(head, "//")) {
    size_t end = head.find('\n');
    head = end == std::string_view::npos ? "" : head.substr(end + 1);
  }
  for (std::string_view start :
       {"#loc", "module ", "func.func ", "\"builtin.module\""}) {
    if (startsWith(head, start)) {
      return true;
    }
  }
  return false;
}

/// `start`, which has small letters, in letters of any size, after blanks and a
/// byte order mark.
bool startsWithTag(std::string_view head, std::string_view start) {
  if (startsWith(head, "\xef\xbb\xbf")) {
    head.remove_prefix(3);
  }
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  return head.size() >= start.size() &&
         std::equal(start.begin(), start.end(), head.begin(),
                    [](char a, char b) {
                      return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
                    });
}

/// PyTorch's archives start with the pickle of the structure, NumPy's with an
/// array. The name of the first member is at byte 30.
FileKind zipKind(std::string_view head) {
  std::string_view name = head.size() > 30 ? head.substr(30) : "";
  bool isTorch = name.find("data.pkl") != std::string_view::npos ||
                 name.find(".format_version") != std::string_view::npos;
  if (isTorch) {
    return {"a PyTorch file", fromTorch};
  }
  if (name.find(".npy") != std::string_view::npos) {
    return {"an npz archive of NumPy", convert};
  }
  return {"a zip archive", unpack};
}

} // namespace

std::optional<FileKind> recognizeFile(std::string_view head) {
  // Eight bytes of the header's length, and the header is JSON.
  if (head.size() > 8 && head[8] == '{' && head[7] == 0 && head[0] != '{') {
    return FileKind{"a safetensors file", "it is for --weights"};
  }
  if (startsWith(head, "PK\x03\x04")) {
    return zipKind(head);
  }
  if (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) {
    return FileKind{"a pickle, as PyTorch writes it", fromTorch};
  }
  // A protocol buffer whose first fields are a small version and a name.
  if (head.size() > 2 && head[0] == 8 && head[1] > 0 && head[1] < 32 &&
      (head[2] == 0x12 || head[2] == 0x1A || head[2] == 0x3A)) {
    return FileKind{"an ONNX model", convert};
  }
  for (const Magic &magic : magics) {
    if (startsWith(head, magic.bytes)) {
      return magic.kind;
    }
  }
  if (startsWithTag(head, "<!doctype html") || startsWithTag(head, "<html")) {
    return FileKind{"a page of HTML", download};
  }
  if (isIr(head)) {
    return FileKind{"IR", "hova compile, verify and explain read the IR that "
                          "hova writes, from a file called .mlir"};
  }
  return std::nullopt;
}

std::optional<FileKind> recognizeJson(std::string_view text) {
  auto has = [&](std::string_view key) {
    return text.find(key) != std::string_view::npos;
  };
  if (has("\"weight_map\"")) {
    return FileKind{"the index of a sharded checkpoint", "it is for --weights"};
  }
  if (has("\"hova\"") && has("\"layers\"")) {
    return FileKind{"a description", convert};
  }
  if (has("\"model_type\"") || has("\"architectures\"") ||
      has("\"architecture\"")) {
    return FileKind{"the configuration of a model of another library",
                    "the weights are in the .safetensors file beside it, and "
                    "examples/models has descriptions to start from"};
  }
  if (has("\"tokenizer_class\"") || has("\"added_tokens\"")) {
    return FileKind{"the file of a tokenizer",
                    "hova takes token ids, which the tokenizer makes"};
  }
  return std::nullopt;
}

std::optional<FileKind> recognizeText(std::string_view head) {
  bool isText =
      !head.empty() && std::all_of(head.begin(), head.end(), [](char c) {
        unsigned char byte = static_cast<unsigned char>(c);
        return byte >= ' ' ? byte != 0x7f : c == '\n' || c == '\r' || c == '\t';
      });
  return isText ? std::optional(FileKind{"a text", ""}) : std::nullopt;
}

std::optional<FileKind> recognizeName(std::string_view path) {
  constexpr std::pair<std::string_view, FileKind> kinds[] = {
      {".bin", {"by its name a PyTorch file", fromTorch}},
      {".pt", {"by its name a PyTorch file", fromTorch}},
      {".pth", {"by its name a PyTorch file", fromTorch}},
      {".ckpt", {"by its name a PyTorch file", fromTorch}},
      {".onnx", {"by its name an ONNX model", convert}},
      {".gguf", {"by its name a GGUF model", convert}},
      {".h5", {"by its name an HDF5 file, as Keras writes it", convert}},
      {".msgpack", {"by its name a Flax checkpoint", convert}},
  };
  for (const auto &[ending, kind] : kinds) {
    if (path.size() > ending.size() &&
        path.substr(path.size() - ending.size()) == ending) {
      return kind;
    }
  }
  return std::nullopt;
}

} // namespace hova::reader
