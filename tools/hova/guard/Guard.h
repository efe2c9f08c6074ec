//===- Guard.h - What happens when hova itself fails ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_GUARD_GUARD_H
#define HOVA_TOOLS_HOVA_GUARD_GUARD_H

#include "tools/hova/options/Arguments.h"
#include <string>

namespace hova::tool {

/// From here on a crash, a failed assertion and a fatal error of LLVM end with
/// status 70 and the command that shows them again, a failed allocation with
/// status 71, and an interrupted process leaves no temporary file.
void installGuard(int argc, char **argv);

/// Makes the messages of failures that leave no room to make them, in the
/// current format; `limit` is what `--max-memory` says.
void prepareMessages(llvm::StringRef limit = "");

/// From here on the program of this dump may have run in this process: what it
/// has overwritten shows in a crash, which is then reported as the program's,
/// with status 1. `canGuard`: whether `--guard` can look at it.
void blameDump(const std::string &path, bool canGuard);

/// Reports a mistake in hova; the result is the status 70.
int internalError(const std::string &message);

/// The same for a mistake in a plugin, which is nothing to report to hova.
int pluginError(const std::string &message);

/// Reports that memory does not suffice, and the limit; the result is the
/// status 71.
int outOfMemory();

/// `--max-memory`: fails allocations beyond it. Mistakes are in `arguments`.
void applyMemoryLimit(const Arguments &arguments);

/// What `--max-memory` allows, in bytes.
std::optional<uint64_t> memoryLimit(const Arguments &arguments);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_GUARD_GUARD_H
