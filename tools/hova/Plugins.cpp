//===- Plugins.cpp - Libraries that bring passes, dialects, operators -----===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/Plugins.h"
#include "codegen/Pipeline.h"
#include "frontend/Operator.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/DynamicLibrary.h"

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
  void loadPasses();
  void loadDialects();
  void loadOperators();
  bool fitsVersion(const frontend::PluginInfo &info);

  const Arguments &arguments;
  std::string path;
  llvm::sys::DynamicLibrary library;
};

} // namespace

void PluginLoader::load() {
  // The loader looks for a name without a folder elsewhere.
  if (!llvm::StringRef(path).contains('/')) {
    path = "./" + path;
  }
  std::string problem;
  library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &problem);
  if (!library.isValid()) {
    return fail("cannot load '" + path + "': " + problem);
  }
  bool passes = offers("mlirGetPassPluginInfo");
  bool dialects = offers("mlirGetDialectPluginInfo");
  bool operators = offers("hovaGetPluginInfo");
  if (!passes && !dialects && !operators) {
    return fail("'" + path +
                "' is no plugin: it has none of mlirGetPassPluginInfo, "
                "mlirGetDialectPluginInfo and hovaGetPluginInfo");
  }
  if (passes) {
    loadPasses();
  }
  if (dialects) {
    loadDialects();
  }
  if (operators) {
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
    plugin->registerDialectRegistryCallbacks(pluginDialects());
  } else {
    fail(llvm::toString(plugin.takeError()));
  }
}

bool PluginLoader::fitsVersion(const frontend::PluginInfo &info) {
  if (info.hovaVersion == hovaVersion() &&
      llvm::StringRef(info.llvmVersion) == LLVM_VERSION_STRING) {
    return true;
  }
  fail("'" + path + "' was built for hova " + info.hovaVersion + " (LLVM " +
       info.llvmVersion + "), but this is hova " + hovaVersion() +
       " (LLVM " LLVM_VERSION_STRING "); build it again for this one");
  return false;
}

void PluginLoader::loadOperators() {
  void *function = library.getAddressOfSymbol("hovaGetPluginInfo");
  frontend::PluginInfo info = reinterpret_cast<GetInfo>(function)();
  if (!fitsVersion(info)) {
    return;
  }
  frontend::OperatorRegistry registry;
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
