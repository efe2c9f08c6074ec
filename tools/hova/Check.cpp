//===- Check.cpp - hova check ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/Session.h"
#include "tools/hova/Verbs.h"
#include "tools/inspect/Summary.h"

int hova::tool::runCheck(const Arguments &arguments) {
  frontend::ModelOptions options = readModelOptions(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  return inspect::runCheck(options, llvm::outs(), llvm::errs());
}
