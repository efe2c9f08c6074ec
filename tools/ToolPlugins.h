//===- ToolPlugins.h - Plugins of tools that are upstream's ---------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_TOOLPLUGINS_H
#define HOVA_TOOLS_TOOLPLUGINS_H

#include "mlir/IR/DialectRegistry.h"

namespace hova::tool {

/// Loads the libraries that the command line names, as hova-opt does:
/// `--load-pass-plugin=LIB.so` registers passes and
/// `--load-dialect-plugin=LIB.so` adds dialects to `registry`. Upstream's main
/// functions know no plugins and list passes before they parse, so this is
/// called first. It registers both options, which they parse then. Fails with a
/// message for what cannot be loaded.
mlir::LogicalResult loadToolPlugins(int argc, char **argv,
                                    mlir::DialectRegistry &registry);

} // namespace hova::tool

#endif // HOVA_TOOLS_TOOLPLUGINS_H
