//===- Messages.cpp - What hova says on standard error --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/options/Messages.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <optional>

namespace hova::tool {

static reader::DiagnosticFormat currentFormat = reader::DiagnosticFormat::Text;

void setMessageFormat(reader::DiagnosticFormat format) {
  currentFormat = format;
}

reader::DiagnosticFormat messageFormat() { return currentFormat; }

/// "auto": what the terminal and the environment say.
static bool wantsColor() {
  const char *refused = ::getenv("NO_COLOR");
  return llvm::sys::Process::StandardErrHasColors() && !(refused && *refused);
}

static std::optional<bool> chosenColor;

void setMessageColor(llvm::StringRef when) {
  chosenColor = when == "always" || (when != "never" && wantsColor());
}

bool messageColor() {
  if (!chosenColor) {
    setMessageColor("auto");
  }
  return *chosenColor;
}

void print(const reader::Message &message) {
  llvm::errs() << message.str(currentFormat, messageColor());
}

void printAt(const reader::Source &source, reader::Message message) {
  message.showPlace(source, messageColor());
  print(message);
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
