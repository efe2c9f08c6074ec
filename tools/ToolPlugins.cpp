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

constexpr char kPassOption[] = "load-pass-plugin";
constexpr char kDialectOption[] = "load-dialect-plugin";

/// What upstream's parser reads, so that it knows the words.
struct PluginFlags {
  llvm::cl::list<std::string> passes{
      kPassOption, llvm::cl::value_desc("file"),
      llvm::cl::desc("Load passes of a library")};
  llvm::cl::list<std::string> dialects{
      kDialectOption, llvm::cl::value_desc("file"),
      llvm::cl::desc("Load dialects of a library")};
};

/// The values of `--NAME=VALUE` and `--NAME VALUE`, of one dash too.
std::vector<std::string> valuesOf(StringRef name, ArrayRef<char *> words) {
  std::vector<std::string> values;
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i];
    if (word == "--") {
      break;
    }
    if (!word.consume_front("--") && !word.consume_front("-")) {
      continue;
    }
    if (!word.consume_front(name)) {
      continue;
    }
    if (word.consume_front("=")) {
      values.push_back(word.str());
    } else if (word.empty() && i + 1 < words.size()) {
      values.push_back(words[++i]);
    }
  }
  llvm::transform(values, values.begin(), pluginPath);
  return values;
}

} // namespace

LogicalResult loadToolPlugins(int argc, char **argv,
                              DialectRegistry &registry) {
  static PluginFlags flags;
  ArrayRef<char *> words(argv + 1, std::max(argc - 1, 0));
  auto fail = [&](llvm::Error error) {
    llvm::errs() << llvm::sys::path::filename(argv[0])
                 << ": error: " << llvm::toString(std::move(error)) << "\n";
    return failure();
  };
  // What the libraries were built for is looked at before their code runs.
  if (llvm::Error error = loadPluginsOfOptions(argc, argv)) {
    return fail(std::move(error));
  }
  for (const std::string &path : valuesOf(kPassOption, words)) {
    llvm::Expected<PassPlugin> plugin = PassPlugin::load(path);
    if (!plugin) {
      return fail(plugin.takeError());
    }
    plugin->registerPassRegistryCallbacks();
  }
  for (const std::string &path : valuesOf(kDialectOption, words)) {
    llvm::Expected<DialectPlugin> plugin = DialectPlugin::load(path);
    if (!plugin) {
      return fail(plugin.takeError());
    }
    plugin->registerDialectRegistryCallbacks(registry);
  }
  return success();
}

} // namespace hova::tool
