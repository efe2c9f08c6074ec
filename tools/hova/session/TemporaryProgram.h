//===- TemporaryProgram.h - A program for this process alone --------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_SESSION_TEMPORARYPROGRAM_H
#define HOVA_TOOLS_HOVA_SESSION_TEMPORARYPROGRAM_H

#include "codegen/reference/CompiledProgram.h"
#include "tools/hova/session/CompileSettings.h"

namespace hova::tool {

struct TemporaryProgram {
  /// Of the compilation; there is a program if it is Ok.
  int status = Ok;
  /// What the program is mapped from: a file in memory, without a name.
  std::shared_ptr<const void> file;
  std::optional<CompiledProgram> program;
};

/// Compiles to a library that nothing but this process sees, and loads it.
TemporaryProgram compileForUse(Session &session, CompileOptions options,
                               CompiledModule *keep = nullptr);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_SESSION_TEMPORARYPROGRAM_H
