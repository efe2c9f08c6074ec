//===- Closing.h - What a verb says when it is done -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_OUTPUT_CLOSING_H
#define HOVA_TOOLS_HOVA_OUTPUT_CLOSING_H

#include "tools/hova/options/Arguments.h"
#include <chrono>

namespace hova::tool {

/// Counts the time of a verb, and tells people at its end what it has written:
/// "wrote ./digits, 660 kB, 2.1 s". Scripts, which read no terminal, and `-q`
/// get nothing.
class Closing {
public:
  explicit Closing(const Arguments &arguments);
  void wrote(llvm::StringRef path) const;

private:
  bool speaks;
  std::chrono::steady_clock::time_point start;
};

/// "660 kB", "1.2 MB".
std::string sizeText(uint64_t bytes);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_OUTPUT_CLOSING_H
