//===- FileKind.h - What a file is that is not what was expected ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint of PyTorch given as weights is no broken safetensors file, and a
// description in UTF-16 no description with a strange first character: saying
// what a file is spares its owner the search.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_READER_FILEKIND_H
#define HOVA_FRONTEND_READER_FILEKIND_H

#include <optional>
#include <string_view>

namespace hova::reader {

struct FileKind {
  /// "a PyTorch file".
  const char *what;
  /// What its owner may do; empty if nothing comes to mind.
  const char *hint;
};

/// The kind of a file whose first bytes are `head`; none for JSON in UTF-8 and
/// for what is not recognised. 64 are enough, but for IR after comments.
std::optional<FileKind> recognizeFile(std::string_view head);

/// The kind of a JSON file of a public library that is neither a description
/// nor weights; none for others. `text` is the start of the file, or all of it.
std::optional<FileKind> recognizeJson(std::string_view text);

/// A text, where `head` has no byte that a text has not.
std::optional<FileKind> recognizeText(std::string_view head);

/// What a file of this name usually is, for one whose bytes say nothing.
std::optional<FileKind> recognizeName(std::string_view path);

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_FILEKIND_H
