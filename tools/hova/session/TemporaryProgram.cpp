//===- TemporaryProgram.cpp - A program for this process alone ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/session/TemporaryProgram.h"
#include "codegen/program/Process.h"
#include "tools/hova/guard/Guard.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace hova::tool {

TemporaryProgram compileForUse(Session &session, CompileOptions options,
                               CompiledModule *keep) {
  TemporaryProgram result;
  // In memory: a folder for temporary files may be full, or of a file system
  // that nothing is loaded from (`noexec`), and what lies there has to go.
  auto file = std::make_shared<MemoryFile>();
  if (llvm::Error error = file->write("")) {
    result.status = reportError(std::move(error));
    return result;
  }
  result.file = file;
  options.emit = EmitKind::Library;
  options.output = file->getPath();
  result.status = compileStatus(
      compileModule(session.imported(), options, session.weights(), keep),
      session);
  if (result.status != Ok) {
    return result;
  }
  auto program = CompiledProgram::load(options.output, options.prefix);
  if (session.dump()) {
    blameDump(session.dumpPath(), !session.isAfter("tile"));
  }
  if (program) {
    result.program.emplace(std::move(*program));
  } else {
    result.status = reportError(program.takeError());
  }
  return result;
}

} // namespace hova::tool
