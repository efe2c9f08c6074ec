//===- ExtensionPoints.h - Passes of plugins in the pipeline --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A plugin whose pass belongs at one place of the pipeline says so where it
// registers the pass, and nobody has to name either:
//
//   mlirGetPassPluginInfo() {
//     return {MLIR_PLUGIN_API_VERSION, "mine", LLVM_VERSION_STRING, [] {
//       mlir::PassRegistration<MyPass>();
//       hova::registerExtension("after-normalize", "my-pass");
//     }};
//   }
//
// As what `--pass-pipeline` adds, it runs wherever a library that loads the
// plugin runs the phase, and is held to the phase's promise. `hova
// --list-phases` shows the points.

#ifndef HOVA_PASSES_EXTENSIONPOINTS_H
#define HOVA_PASSES_EXTENSIONPOINTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace hova {

/// Passes at an extension point: `after-normalize`, and a pipeline such as
/// `my-pass` or `my-pass{limit=3},cse`. A pass on functions runs on each.
struct Extension {
  std::string point;
  std::string passes;
};

/// Adds passes to every compilation that begins later, after those that were
/// added to the point before, and before those of `--pass-pipeline`. What is
/// wrong with the names is reported when a compilation begins.
void registerExtension(llvm::StringRef point, llvm::StringRef passes);

/// What was added, in that order.
llvm::ArrayRef<Extension> getRegisteredExtensions();

} // namespace hova

#endif // HOVA_PASSES_EXTENSIONPOINTS_H
