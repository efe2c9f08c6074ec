//===- Main.cpp - Shrink IR that shows a mistake --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Upstream's reducer for `.mlir` files, with hova's dialect and passes and
// those of plugins.

#include "codegen/targets/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "tools/ToolPlugins.h"

int main(int argc, char **argv) {
  hova::registerPipelines();
  mlir::registerReducerPasses();
  mlir::DialectRegistry registry;
  hova::registerDialects(registry);
  if (failed(hova::tool::loadToolPlugins(argc, argv, registry))) {
    return 1;
  }
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
