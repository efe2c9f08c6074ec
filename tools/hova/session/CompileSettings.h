//===- CompileSettings.h - The options of code generation -----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_SESSION_COMPILESETTINGS_H
#define HOVA_TOOLS_HOVA_SESSION_COMPILESETTINGS_H

#include "codegen/program/Compile.h"
#include "tools/hova/session/Session.h"

namespace hova::tool {

/// What `--version` and programs say.
std::string versionText();

/// The passes that the command line leaves in. Mistakes are in `arguments`.
PassSelection readPassSelection(const Arguments &arguments);

/// The type of numbers that `--dtype` names.
Storage readStorage(const Arguments &arguments);

/// Fills everything of `options` that the command line decides, but for what
/// and where to emit. Mistakes are in `arguments`.
CompileOptions readCompileOptions(const Arguments &arguments);

/// Takes the first level of the target where the command line names none: for
/// what shows or writes one. False: it names several.
bool takeOneLevel(const Arguments &arguments, CompileOptions &options);

/// Fills what follows from the model: prefix, pack arguments, where to start
/// and what dumps remember. Mistakes are in `arguments`.
void describeModel(const Arguments &arguments, Session &session,
                   CompileOptions &options);

/// The status of a compilation.
int compileStatus(llvm::Expected<mlir::LogicalResult> result, Session &session);

/// Records where the time goes while it lives, if `--time-trace` is given.
class TimeTrace {
public:
  explicit TimeTrace(const Arguments &arguments);
  ~TimeTrace();
  /// Writes the trace; `status`, or another where that fails.
  int finish(int status);

private:
  std::string path;
};

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_SESSION_COMPILESETTINGS_H
