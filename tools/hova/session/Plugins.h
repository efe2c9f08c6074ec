//===- Plugins.h - Libraries that bring passes, dialects, operators -------===//
// SPDX-License-Identifier: Apache-2.0
//
// `--pass-plugin=LIB.so` takes what a library has to offer, by the functions
// that it exports:
//
// - `mlirGetPassPluginInfo`: passes, for `--pass-pipeline`;
// - `mlirGetDialectPluginInfo`: dialects, and what is attached to their
//   operations, such as recipes;
// - `hovaGetPluginInfo`: operators of descriptions (frontend/Operator.h).

#ifndef HOVA_TOOLS_HOVA_SESSION_PLUGINS_H
#define HOVA_TOOLS_HOVA_SESSION_PLUGINS_H

#include "mlir/IR/DialectRegistry.h"
#include "tools/hova/options/Arguments.h"

namespace hova::tool {

/// The version of hova, as plugins say it.
llvm::StringRef hovaVersion();

/// Loads the plugins of the command line, before a description is read. Reports
/// mistakes in `arguments`.
void loadPlugins(const Arguments &arguments);

/// What messages call the plugin whose library is the file `path`; empty if it
/// is none.
std::string pluginOfLibrary(llvm::StringRef path);

/// The same for the plugin that brings a dialect.
std::string pluginOfDialect(llvm::StringRef dialect);

/// The dialects of hova and of the plugins that are loaded.
mlir::DialectRegistry makeDialectRegistry();

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_SESSION_PLUGINS_H
