//===- PluginStamp.cpp - What a plugin was built for ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A part of every plugin, which hova_add_plugin compiles for it.

#include "tools/plugins/PluginStamp.h"

[[gnu::used, gnu::retain,
  gnu::section(HOVA_PLUGIN_SECTION)]] static const char stamp[] =
    HOVA_PLUGIN_STAMP;
