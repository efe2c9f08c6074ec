//===- Main.cpp - hova, the driver ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/guard/Guard.h"
#include "tools/hova/verbs/Verbs.h"

using namespace hova::tool;
using llvm::errs;
using llvm::outs;

int main(int argc, char **argv) {
  installGuard(argc, argv);
  int status = runCommand(llvm::ArrayRef(argv, argc).drop_front());
  outs().flush();
  if (outs().has_error()) {
    printError("cannot write standard output: " + outs().error().message());
    outs().clear_error();
    status = InputOutput;
  }
  // Where messages cannot be written, the status is all there is to say.
  errs().clear_error();
  return status;
}
