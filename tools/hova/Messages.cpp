//===- Messages.cpp - What hova says on standard error --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/Messages.h"
#include "llvm/Support/raw_ostream.h"

namespace hova::tool {

static reader::DiagnosticFormat currentFormat = reader::DiagnosticFormat::Text;

void setMessageFormat(reader::DiagnosticFormat format) {
  currentFormat = format;
}

reader::DiagnosticFormat messageFormat() { return currentFormat; }

void print(const reader::Message &message) {
  llvm::errs() << message.str(currentFormat);
}

void printError(const llvm::Twine &message, std::vector<std::string> notes) {
  print({reader::Severity::Error, "hova", message.str(), std::move(notes)});
}

/// Of the process: there is one command line.
static bool isQuiet = false;

void setQuiet(bool quiet) { isQuiet = quiet; }

void printNote(const llvm::Twine &message) {
  if (isQuiet) {
    return;
  }
  print({reader::Severity::Note, "hova", message.str()});
}

} // namespace hova::tool
