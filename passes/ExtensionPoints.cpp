//===- ExtensionPoints.cpp - Passes of plugins in the pipeline ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/ExtensionPoints.h"
#include <vector>

namespace hova {

/// Filled while plugins are loaded, before there are threads.
static std::vector<Extension> &extensions() {
  static std::vector<Extension> all;
  return all;
}

void registerExtension(llvm::StringRef point, llvm::StringRef passes) {
  extensions().push_back({point.str(), passes.str()});
}

llvm::ArrayRef<Extension> getRegisteredExtensions() { return extensions(); }

} // namespace hova
