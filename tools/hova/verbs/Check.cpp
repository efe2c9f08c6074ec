//===- Check.cpp - hova check ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/options/Messages.h"
#include "tools/hova/session/Plugins.h"
#include "tools/hova/session/Session.h"
#include "tools/hova/verbs/Verbs.h"
#include "tools/inspect/Summary.h"

int hova::tool::runCheck(Arguments &arguments) {
  frontend::ModelOptions options = readModelOptions(arguments);
  bool json = arguments.word(OPT_format) == "json";
  if (arguments.failed()) {
    return *arguments.failed();
  }
  std::string note;
  int status = inspect::runCheck(options, json, llvm::outs(), llvm::errs(),
                                 makeDialectRegistry(), &note);
  if (!note.empty()) {
    printNote(note);
  }
  return status;
}
