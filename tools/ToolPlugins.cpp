//===- ToolPlugins.cpp - Plugins of tools that are upstream's -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/ToolPlugins.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "tools/plugins/PluginFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace hova::tool {

namespace {

/// What upstream's parser reads, so that it knows the words.
struct PluginFlags {
  llvm::cl::list<std::string> passes{
      kPassPluginOption, llvm::cl::value_desc("file"),
      llvm::cl::desc("Load passes of a library")};
  llvm::cl::list<std::string> dialects{
      kDialectPluginOption, llvm::cl::value_desc("file"),
      llvm::cl::desc("Load dialects of a library")};
};

} // namespace

LogicalResult loadToolPlugins(int argc, char **argv,
                              DialectRegistry &registry) {
  static PluginFlags flags;
  auto fail = [&](llvm::Error error) {
    llvm::errs() << llvm::sys::path::filename(argv[0])
                 << ": error: " << llvm::toString(std::move(error)) << "\n";
    return failure();
  };
  // What the libraries were built for is looked at before their code runs.
  if (llvm::Error error = loadPluginsOfOptions(argc, argv)) {
    return fail(std::move(error));
  }
  for (const NamedPlugin &named : pluginsOfOptions(argc, argv)) {
    if (named.option == kPassPluginOption) {
      llvm::Expected<PassPlugin> plugin = PassPlugin::load(named.path);
      if (!plugin) {
        return fail(plugin.takeError());
      }
      plugin->registerPassRegistryCallbacks();
    } else {
      llvm::Expected<DialectPlugin> plugin = DialectPlugin::load(named.path);
      if (!plugin) {
        return fail(plugin.takeError());
      }
      plugin->registerDialectRegistryCallbacks(registry);
    }
  }
  return success();
}

} // namespace hova::tool
