//===- Plugins.cpp - Libraries that bring passes, dialects, operators -----===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/session/Plugins.h"
#include "codegen/targets/Registration.h"
#include "frontend/Operator.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "tools/plugins/PluginFile.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mlir;

namespace hova::tool {

llvm::StringRef hovaVersion() { return HOVA_VERSION; }

/// The dialects of the plugins that are loaded.
static DialectRegistry &pluginDialects() {
  static DialectRegistry dialects;
  return dialects;
}

DialectRegistry makeDialectRegistry() {
  DialectRegistry registry;
  registerDialects(registry);
  pluginDialects().appendTo(registry);
  return registry;
}

/// What the plugins that are loaded are called, by their files and by their
/// dialects.
static std::map<std::string, std::string> &pluginsByLibrary() {
  static std::map<std::string, std::string> plugins;
  return plugins;
}
static std::map<std::string, std::string> &pluginsByDialect() {
  static std::map<std::string, std::string> plugins;
  return plugins;
}

static std::string findIn(const std::map<std::string, std::string> &plugins,
                          llvm::StringRef key) {
  auto found = plugins.find(key.str());
  return found == plugins.end() ? "" : found->second;
}

std::string pluginOfLibrary(llvm::StringRef path) {
  return findIn(pluginsByLibrary(), path);
}

std::string pluginOfDialect(llvm::StringRef dialect) {
  return findIn(pluginsByDialect(), dialect);
}

namespace {

/// One library while it is loaded.
class PluginLoader {
public:
  PluginLoader(const Arguments &arguments, std::string path)
      : arguments(arguments), path(std::move(path)) {}

  void load();

private:
  using GetInfo = frontend::PluginInfo (*)();

  bool offers(const char *function) {
    return library.getAddressOfSymbol(function) != nullptr;
  }
  void fail(const llvm::Twine &why) {
    arguments.usageError("option '--pass-plugin': " + why);
  }
  /// What messages call it.
  std::string name() { return llvm::sys::path::filename(path).str(); }
  void loadPasses();
  void loadDialects();
  void loadOperators();

  const Arguments &arguments;
  std::string path;
  llvm::sys::DynamicLibrary library;
};

} // namespace

void PluginLoader::load() {
  path = pluginPath(path);
  llvm::Expected<llvm::sys::DynamicLibrary> loaded = loadPlugin(path);
  if (!loaded) {
    return fail(llvm::toString(loaded.takeError()));
  }
  library = *loaded;
  pluginsByLibrary()[path] = name();
  if (offers("mlirGetPassPluginInfo")) {
    loadPasses();
  }
  if (offers("mlirGetDialectPluginInfo")) {
    loadDialects();
  }
  if (offers("hovaGetPluginInfo")) {
    loadOperators();
  }
}

void PluginLoader::loadPasses() {
  if (llvm::Expected<PassPlugin> plugin = PassPlugin::load(path)) {
    plugin->registerPassRegistryCallbacks();
  } else {
    fail(llvm::toString(plugin.takeError()));
  }
}

void PluginLoader::loadDialects() {
  if (llvm::Expected<DialectPlugin> plugin = DialectPlugin::load(path)) {
    DialectRegistry registry;
    plugin->registerDialectRegistryCallbacks(registry);
    for (llvm::StringRef dialect : registry.getDialectNames()) {
      pluginsByDialect()[dialect.str()] = name();
    }
    registry.appendTo(pluginDialects());
  } else {
    fail(llvm::toString(plugin.takeError()));
  }
}

void PluginLoader::loadOperators() {
  void *function = library.getAddressOfSymbol("hovaGetPluginInfo");
  frontend::PluginInfo info = reinterpret_cast<GetInfo>(function)();
  frontend::OperatorRegistry registry(name());
  info.addOperators(registry);
  for (const std::string &error : registry.getErrors()) {
    fail("'" + path + "': " + error);
  }
  for (const std::string &dialect : registry.getDialects()) {
    if (!pluginDialects().getDialectAllocator(dialect)) {
      fail("'" + path + "' imports operations of dialect '" + dialect +
           "', which no plugin registers (mlirGetDialectPluginInfo)");
    }
  }
}

void loadPlugins(const Arguments &arguments) {
  if (!arguments.has(OPT_pass_plugin) && !arguments.has(OPT_pass_pipeline)) {
    return;
  }
  registerPipelines();
  for (std::string path : arguments.values(OPT_pass_plugin)) {
    PluginLoader(arguments, std::move(path)).load();
  }
}

} // namespace hova::tool
