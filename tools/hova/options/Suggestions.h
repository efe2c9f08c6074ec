//===- Suggestions.h - Options that were probably meant ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_SUGGESTIONS_H
#define HOVA_TOOLS_HOVA_SUGGESTIONS_H

#include "frontend/description/ModelSpec.h"
#include "tools/hova/options/Arguments.h"

namespace hova::tool {

/// What can be read of the description at `path` without a word, mistakes or
/// not; null: nothing.
std::unique_ptr<frontend::ModelSpec> peekDescription(const VerbInfo &verb,
                                                     llvm::StringRef path);

/// What was probably meant, as "; did you mean 'x'?": a parameter of the
/// description, the verb's option of another name, one of the program that hova
/// makes, or one that is spelt similarly. Empty: nothing is near.
std::string suggestOption(const VerbInfo &verb, const UnknownOption &unknown);

/// The same for an option that other verbs have: no spelling is wrong.
std::string suggestOtherOption(const VerbInfo &verb,
                               const UnknownOption &unknown);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_SUGGESTIONS_H
