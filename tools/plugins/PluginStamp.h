//===- PluginStamp.h - What a plugin was built for ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The headers of hova and of LLVM are an interface of one version each: a class
// with one more field has another layout, and nothing that is called notices.
// So every plugin says what it was built for, in a section of its own, where
// hova reads it before any of its code runs (PluginFile.h). hova_add_plugin
// puts it there (PluginStamp.cpp).

#ifndef HOVA_TOOLS_PLUGINS_PLUGINSTAMP_H
#define HOVA_TOOLS_PLUGINS_PLUGINSTAMP_H

#include "tools/plugins/HeadersHash.h"
#include "llvm/Config/llvm-config.h"

/// The section of a plugin that holds its stamp.
#define HOVA_PLUGIN_SECTION "hova_plugin"

/// What it holds.
#define HOVA_PLUGIN_STAMP                                                      \
  "hova " HOVA_STAMP_VERSION " (LLVM " LLVM_VERSION_STRING                     \
  ", headers " HOVA_HEADERS_HASH ")"

#endif // HOVA_TOOLS_PLUGINS_PLUGINSTAMP_H
