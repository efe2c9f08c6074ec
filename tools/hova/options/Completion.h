//===- Completion.h - What may follow on a command line -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shells ask hova itself, so that what they offer is what this hova takes, down
// to the parameters of the description that the line names. `hova completion
// SHELL` prints the script that asks by
//
//   hova completion --candidates WORD...
//
// with the words after `hova` up to the one that is typed, which may be empty.
// The answer is lines of
//
//   WORD<tab>WHAT IT IS          a whole word; after a last `=` or `(` more
//                                follows without a space
//   :files PREFIX<tab>EXT EXT    the word is PREFIX and a file with one of
//   these
//                                extensions; none: any file
//   :folders PREFIX<tab>         the same with a folder

#ifndef HOVA_TOOLS_HOVA_OPTIONS_COMPLETION_H
#define HOVA_TOOLS_HOVA_OPTIONS_COMPLETION_H

#include "llvm/ADT/ArrayRef.h"

namespace hova::tool {

/// Whether a script asks, which no parser of options may read.
bool isCandidatesCall(llvm::ArrayRef<const char *> words);

/// Answers. A line that makes no sense has no candidates. The status is Ok.
int printCandidates(llvm::ArrayRef<const char *> words);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_OPTIONS_COMPLETION_H
