//===- Help.h - What hova says of itself ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Pages of help on the screen, and the same as manual pages, both made from the
// tables of verbs, options and statuses (Arguments.h).

#ifndef HOVA_TOOLS_HOVA_OPTIONS_HELP_H
#define HOVA_TOOLS_HOVA_OPTIONS_HELP_H

#include "tools/hova/options/Arguments.h"
#include "tools/hova/options/Topics.h"

namespace hova::tool {

/// The screen of a topic, which names the verbs that begin with its name.
void printHelp(const Topic &topic, llvm::raw_ostream &os);

/// The page of all verbs, or of one with its options; each is one screen.
void printHelp(llvm::raw_ostream &os);
void printHelp(const VerbInfo &verb, llvm::raw_ostream &os);

/// `hova help --man=DIR`: writes hova.1, a page for each verb, such as
/// hova-compile.1, one for each of the other tools, and one for each topic,
/// such as hova-expressions.7, into a folder that exists. The exit status.
int writeManPages(llvm::StringRef folder);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_OPTIONS_HELP_H
