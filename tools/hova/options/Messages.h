//===- Messages.h - What hova says on standard error ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every message passes through here: as text it is safe for a terminal, and
// with `--diagnostics=json` it is one object on one line.

#ifndef HOVA_TOOLS_HOVA_OPTIONS_MESSAGES_H
#define HOVA_TOOLS_HOVA_OPTIONS_MESSAGES_H

#include "frontend/reader/Diagnostics.h"
#include "llvm/ADT/Twine.h"

namespace hova::tool {

/// How messages are written from now on.
void setMessageFormat(reader::DiagnosticFormat format);
reader::DiagnosticFormat messageFormat();

/// Whether they have colours from now on: "always", "never", or "auto", which
/// is on a terminal that has them, unless NO_COLOR is set (no-color.org).
void setMessageColor(llvm::StringRef when);
bool messageColor();

void print(const reader::Message &message);
/// The same with the line of its place in `source`, where it has one.
void printAt(const reader::Source &source, reader::Message message);

/// "hova: error: ..." and the notes below it.
void printError(const llvm::Twine &message,
                std::vector<std::string> notes = {});
/// The same, "hova: note: ...", unless hova is quiet.
void printNote(const llvm::Twine &message);
void setQuiet(bool quiet);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_OPTIONS_MESSAGES_H
