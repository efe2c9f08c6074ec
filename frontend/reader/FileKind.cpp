//===- FileKind.cpp - What a file is that is not what was expected --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/FileKind.h"

namespace hova::reader {

using namespace std::string_view_literals;

namespace {

constexpr const char *convert = "weights are read from safetensors files";
constexpr const char *fromTorch =
    "save its state_dict with safetensors.torch.save_file";
constexpr const char *unpack = "unpack it first";
constexpr const char *asUtf8 = "save it as UTF-8";

struct Magic {
  std::string_view bytes;
  FileKind kind;
};

constexpr Magic magics[] = {
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
  return std::nullopt;
}

} // namespace hova::reader
