//===- PluginFile.cpp - The file of a plugin ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/plugins/PluginFile.h"
#include "tools/plugins/PluginStamp.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include <dlfcn.h>

using namespace llvm;

namespace hova {

/// The functions of which a plugin has at least one.
static constexpr StringLiteral kEntries[] = {
    "mlirGetPassPluginInfo", "mlirGetDialectPluginInfo", "hovaGetPluginInfo"};

StringRef pluginStamp() { return HOVA_PLUGIN_STAMP; }

std::string pluginPath(StringRef path) {
  return path.contains('/') ? path.str() : ("./" + path).str();
}

static Error refuse(const Twine &why) { return createStringError(why); }

static bool hasEntry(const object::ELFObjectFileBase &file) {
  return any_of(file.getDynamicSymbolIterators(),
                [](const object::ELFSymbolRef &symbol) {
                  Expected<StringRef> name = symbol.getName();
                  if (!name) {
                    consumeError(name.takeError());
                    return false;
                  }
                  return is_contained(kEntries, *name);
                });
}

/// What the library says of itself; empty if it says nothing.
static std::string readStamp(const object::ObjectFile &file) {
  for (const object::SectionRef &section : file.sections()) {
    Expected<StringRef> name = section.getName();
    Expected<StringRef> contents = section.getContents();
    bool isStamp = name && *name == HOVA_PLUGIN_SECTION && contents;
    std::string stamp = isStamp ? contents->split('\0').first.str() : "";
    consumeError(name.takeError());
    consumeError(contents.takeError());
    if (isStamp) {
      return stamp;
    }
  }
  return "";
}

/// Looks at the file alone.
static Error check(const std::string &path) {
  // A device has no end, and the reader of objects looks for one.
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path)) {
    return refuse("cannot load '" + path + "': it is no regular file");
  }
  auto file = object::ObjectFile::createObjectFile(path);
  if (!file) {
    return refuse("cannot load '" + path + "': " + toString(file.takeError()));
  }
  auto *library = dyn_cast<object::ELFObjectFileBase>(file->getBinary());
  if (!library || !hasEntry(*library)) {
    return refuse("'" + path + "' is no plugin: it has none of " + kEntries[0] +
                  ", " + kEntries[1] + " and " + kEntries[2]);
  }
  std::string stamp = readStamp(*library);
  if (stamp.empty()) {
    return refuse("'" + path +
                  "' does not say which hova it was built for; "
                  "build it with hova_add_plugin of hova's CMake package");
  }
  if (stamp != pluginStamp()) {
    return refuse("'" + path + "' was built for " + stamp + ", but this is " +
                  pluginStamp() + "; build it again for this one");
  }
  return Error::success();
}

/// What the loader says, with the name of a symbol as C++ has it.
static std::string loaderText(StringRef text) {
  auto [before, symbol] = text.split("undefined symbol: ");
  if (symbol.empty()) {
    return text.str();
  }
  std::string name = symbol.take_until([](char c) { return c == ','; }).str();
  return "it needs '" + demangle(name) +
         "', which neither hova nor LLVM has; is a source file missing, "
         "or was it built for others?";
}

/// Where LLVM is inside of hova and hidden, as in the package for Python, a
/// plugin would bring a second one.
static bool showsLlvm() {
  return dlsym(RTLD_DEFAULT, "LLVMContextCreate") != nullptr;
}

Expected<sys::DynamicLibrary> loadPlugin(StringRef given) {
  std::string path = pluginPath(given);
  if (!showsLlvm()) {
    return refuse("cannot load '" + path +
                  "': this hova has LLVM inside and loads no plugins; one that "
                  "is built by './dev build' does");
  }
  if (Error error = check(path)) {
    return error;
  }
  // LLVM binds a symbol when it is first called, which may be never in a test.
  if (!dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    return refuse("cannot load '" + path + "': " + loaderText(dlerror()));
  }
  std::string problem;
  auto library =
      sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &problem);
  if (!library.isValid()) {
    return refuse("cannot load '" + path + "': " + problem);
  }
  return library;
}

std::vector<NamedPlugin> pluginsOfOptions(int argc, char **argv) {
  std::vector<NamedPlugin> plugins;
  // After "--" are names of files alone.
  for (int i = 1; i < argc && StringRef(argv[i]) != "--"; ++i) {
    StringRef word = argv[i];
    if (!word.consume_front("--") && !word.consume_front("-")) {
      continue;
    }
    auto [name, path] = word.split('=');
    if (name != kPassPluginOption && name != kDialectPluginOption) {
      continue;
    }
    if (word.contains('=')) {
      plugins.push_back({name, pluginPath(path)});
    } else if (i + 1 < argc) {
      plugins.push_back({name, pluginPath(argv[++i])});
    }
  }
  return plugins;
}

Error loadPluginsOfOptions(int argc, char **argv) {
  for (const NamedPlugin &plugin : pluginsOfOptions(argc, argv)) {
    auto library = loadPlugin(plugin.path);
    if (!library) {
      return refuse("option '--" + plugin.option +
                    "': " + toString(library.takeError()));
    }
  }
  return Error::success();
}

} // namespace hova
