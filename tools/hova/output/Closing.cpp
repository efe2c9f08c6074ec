//===- Closing.cpp - What a verb says when it is done ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/output/Closing.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

using namespace llvm;

namespace hova::tool {

std::string sizeText(uint64_t bytes) {
  static constexpr StringLiteral units[] = {"bytes", "kB", "MB", "GB"};
  double number = bytes;
  const StringLiteral *unit = units;
  // What would print as 1000 is 1 of the next.
  for (; number >= 999.5 && unit + 1 != std::end(units); ++unit) {
    number /= 1000;
  }
  bool isShort = unit != units && number < 9.95;
  return formatv(isShort ? "{0:F1} {1}" : "{0:F0} {1}", number, *unit).str();
}

Closing::Closing(const Arguments &arguments)
    : speaks(!arguments.has(OPT_quiet) &&
             sys::Process::StandardErrIsDisplayed()),
      start(std::chrono::steady_clock::now()) {}

void Closing::wrote(StringRef path) const {
  uint64_t bytes = 0;
  if (!speaks || path == "-" || sys::fs::file_size(path, bytes)) {
    return;
  }
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  errs() << "wrote " << path << ", " << sizeText(bytes) << ", "
         << formatv("{0:F1} s\n", seconds.count());
}

} // namespace hova::tool
