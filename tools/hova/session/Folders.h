//===- Folders.h - A model's folder in the place of a description ---------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_SESSION_FOLDERS_H
#define HOVA_TOOLS_HOVA_SESSION_FOLDERS_H

#include "frontend/Model.h"
#include "tools/hova/options/Arguments.h"

namespace hova::tool {

/// If the path of `options` is a folder, gives them the description of what is
/// in it, and its weights. Also reads the options about configurations.
/// Mistakes are in `arguments`.
void openFolder(const Arguments &arguments, frontend::ModelOptions &options);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_SESSION_FOLDERS_H
