//===- Import.cpp - hova import -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/OutputFile.h"
#include "tools/hova/output/Closing.h"
#include "tools/hova/output/Files.h"
#include "tools/hova/session/Session.h"
#include "tools/hova/verbs/Verbs.h"

namespace hova::tool {

int runImport(Arguments &arguments) {
  Closing closing(arguments);
  frontend::ModelOptions options = readModelOptions(arguments);
  if (!arguments.failed() && !options.folder) {
    arguments.usageError("'" + arguments.model() +
                         "' is no folder: a description needs no import");
  }
  if (arguments.failed()) {
    return *arguments.failed();
  }
  std::string output = arguments.value(OPT_o, "-").str();
  FileUses uses(arguments, options);
  uses.writes(output, "-o");
  if (int status = uses.check()) {
    return status;
  }
  llvm::Error error = writeFileWhole(output, 0666, [&](llvm::raw_ostream &os) {
    os << options.folder->text;
    return llvm::Error::success();
  });
  if (error) {
    return reportError(std::move(error));
  }
  closing.wrote(output);
  return Ok;
}

} // namespace hova::tool
