//===- FunctionText.cpp - One function as text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/FunctionText.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace hova {

/// The byte after the string that begins at `quote`.
static size_t endOfString(StringRef text, size_t quote) {
  size_t at = quote + 1;
  while (at < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

/// The byte after the bracket that closes what is open at `at`.
static size_t endOfBrackets(StringRef text, size_t at) {
  int64_t depth = 1;
  while (at < text.size() && depth > 0) {
    if (text[at] == '"') {
      at = endOfString(text, at);
      continue;
    }
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    ++at;
  }
  return at;
}

/// The path in the text of a location, quoted as it stands there: the innermost
/// of the names over the first place, as pathOf has it (dialect/Site.h).
static StringRef pathIn(StringRef location) {
  StringRef path;
  for (size_t at = 0; at < location.size();) {
    if (location[at] != '"') {
      ++at;
      continue;
    }
    size_t end = endOfString(location, at);
    if (location.substr(end).starts_with("(")) {
      path = location.slice(at, end);
    } else if (!path.empty()) {
      break; // a file
    }
    at = end;
  }
  return path;
}

/// A line without locations but for the path of its own.
static void printLine(StringRef line, llvm::raw_ostream &os) {
  constexpr StringRef start = " loc(";
  StringRef path;
  for (size_t at = 0; at < line.size();) {
    if (line[at] == '"') {
      size_t end = endOfString(line, at);
      os << line.slice(at, end);
      at = end;
    } else if (line.substr(at).starts_with(start)) {
      size_t end = endOfBrackets(line, at + start.size());
      path = end == line.size() ? pathIn(line.slice(at, end)) : StringRef();
      at = end;
    } else {
      os << line[at++];
    }
  }
  if (!path.empty()) {
    os << start << path << ")";
  }
}

std::string printFunction(Operation *function) {
  std::string whole, text;
  OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  flags.printNameLocAsPrefix();
  // What stands around the function is not numbered for it.
  flags.useLocalScope();
  llvm::raw_string_ostream printed(whole), os(text);
  function->print(printed, flags);
  StringRef rest = whole;
  while (!rest.empty()) {
    auto [line, after] = rest.split('\n');
    printLine(line, os);
    os << (after.empty() ? "" : "\n");
    rest = after;
  }
  return text;
}

} // namespace hova
