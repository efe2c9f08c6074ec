//===- ShellWord.cpp - Words of commands that people paste ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/ShellWord.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hova {

/// Whether a shell takes `c` for itself, wherever it stands in a word. A tilde
/// means something at the beginning only, which is no reason to leave it.
static bool isPlain(char c) {
  return isAlnum(c) || StringRef("_-./=,:+@%").contains(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}

static bool isControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string shellWord(StringRef word) {
  if (!word.empty() && all_of(word, isPlain)) {
    return word.str();
  }
  bool escapes = any_of(word, isControl);
  std::string text = escapes ? "$'" : "'";
  for (char c : word) {
    if (isControl(c)) {
      unsigned char byte = c;
      text += {'\\', char('0' + byte / 64), char('0' + byte / 8 % 8),
               char('0' + byte % 8)};
    } else if (escapes && (c == '\'' || c == '\\')) {
      text += {'\\', c};
    } else if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

} // namespace hova
