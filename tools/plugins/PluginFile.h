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

namespace hova {

/// What a plugin of this hova says of itself.
llvm::StringRef ownPluginStamp();

/// `path`, or the file of this name in the current folder: the loader looks for
/// a name without a folder elsewhere.
std::string pluginPath(llvm::StringRef path);

/// Loads the plugin, for as long as the process lives. The error is one
/// sentence, which names the file and says what to do.
llvm::Expected<llvm::sys::DynamicLibrary> loadPlugin(llvm::StringRef path);

/// Loads the plugins that the options `--load-pass-plugin` and
/// `--load-dialect-plugin` of MLIR's tools name, which load them again without
/// looking at what they are. The error names the option.
llvm::Error loadPluginsOfOptions(int argc, char **argv);

} // namespace hova

#endif // HOVA_TOOLS_PLUGINS_PLUGINFILE_H
