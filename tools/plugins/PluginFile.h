//===- PluginFile.h - The file of a plugin --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A library is loaded if it is a plugin and was built for this hova and this
// LLVM. That is read from the file: code of another version never runs, not
// even its constructors. All that it needs of others is looked for at once.

#ifndef HOVA_TOOLS_PLUGINS_PLUGINFILE_H
#define HOVA_TOOLS_PLUGINS_PLUGINFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace hova {

/// What a plugin of this hova says of itself.
llvm::StringRef pluginStamp();

/// `path`, or the file of this name in the current folder: the loader looks for
/// a name without a folder elsewhere.
std::string pluginPath(llvm::StringRef path);

/// Loads the plugin, for as long as the process lives. The error is one
/// sentence, which names the file and says what to do.
llvm::Expected<llvm::sys::DynamicLibrary> loadPlugin(llvm::StringRef path);

/// The options of MLIR's tools that name a library.
inline constexpr char kPassPluginOption[] = "load-pass-plugin";
inline constexpr char kDialectPluginOption[] = "load-dialect-plugin";

struct NamedPlugin {
  llvm::StringRef option; ///< which names it, without dashes
  std::string path;       ///< as of pluginPath
};

/// What `--OPTION=FILE` and `--OPTION FILE` name, of one dash too, in order.
/// An option without a value is left to the tool's own parser.
std::vector<NamedPlugin> pluginsOfOptions(int argc, char **argv);

/// Loads the plugins that the options of MLIR's tools name, which load them
/// again without looking at what they are. The error names the option.
llvm::Error loadPluginsOfOptions(int argc, char **argv);

} // namespace hova

#endif // HOVA_TOOLS_PLUGINS_PLUGINFILE_H
