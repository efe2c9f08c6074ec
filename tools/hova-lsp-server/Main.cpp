//===- Main.cpp - Language server for hova's IR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Upstream's language server for `.mlir` files, with hova's dialect and those
// of plugins.

#include "codegen/targets/Registration.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/ToolPlugins.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  hova::registerDialects(registry);
  if (failed(hova::tool::loadToolPlugins(argc, argv, registry))) {
    return 1;
  }
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
