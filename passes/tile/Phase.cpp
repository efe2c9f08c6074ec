//===- Phase.cpp - tile: functions over buffers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/Transforms/Passes.h"
#include "passes/tile/Passes.h"

void hova::buildTilePhase(mlir::OpPassManager &manager) {
  manager.addPass(createTileKernelsPass());
  // Emitters write the same index arithmetic again for every operation.
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  manager.addPass(createVerifyTiledPass());
}
