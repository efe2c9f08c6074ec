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

llvm::StringRef Extension::getOptionalName() const {
  llvm::StringRef all = passes;
  return use == ExtensionUse::always
             ? ""
             : all.take_until([](char c) { return c == '{'; }).trim();
}

void registerExtension(llvm::StringRef point, llvm::StringRef passes,
                       ExtensionUse use) {
  extensions().push_back({point.str(), passes.str(), use});
}

llvm::ArrayRef<Extension> getRegisteredExtensions() { return extensions(); }

} // namespace hova
