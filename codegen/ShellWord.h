//===- ShellWord.h - Words of commands that people paste ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_SHELLWORD_H
#define HOVA_CODEGEN_SHELLWORD_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace hova {

/// `word` as a shell reads it: as it is where nothing in it means anything to a
/// shell, in single quotes otherwise. Line breaks and other controls are
/// escaped, as bash and zsh read them, so that the result is one line.
std::string shellWord(llvm::StringRef word);

} // namespace hova

#endif // HOVA_CODEGEN_SHELLWORD_H
