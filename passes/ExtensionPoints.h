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
// --list-phases` shows the points. A third word says that programs are right
// without the pass: then `--without=my-pass` leaves it out.

#ifndef HOVA_PASSES_EXTENSIONPOINTS_H
#define HOVA_PASSES_EXTENSIONPOINTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace hova {

/// Whether programs are right without passes.
enum class ExtensionUse {
  always,       ///< they run wherever the plugin is loaded
  optional,     ///< `--without=NAME` leaves them out
  reassociating ///< and `--strict` does, as they change what is rounded
};

/// Passes at an extension point: `after-normalize`, and a pipeline such as
/// `my-pass` or `my-pass{limit=3},cse`. A pass on functions runs on each.
struct Extension {
  std::string point;
  std::string passes;
  ExtensionUse use = ExtensionUse::always;

  /// What `--without` calls it: a pass without its options. Empty: it cannot be
  /// left out.
  llvm::StringRef getOptionalName() const;
};

/// Adds passes to every compilation that begins later, after those that were
/// added to the point before, and before those of `--pass-pipeline`. What is
/// wrong with the names is reported when a compilation begins. What can be left
/// out is one pass.
void registerExtension(llvm::StringRef point, llvm::StringRef passes,
                       ExtensionUse use = ExtensionUse::always);

/// What was added, in that order.
llvm::ArrayRef<Extension> getRegisteredExtensions();

} // namespace hova

#endif // HOVA_PASSES_EXTENSIONPOINTS_H
