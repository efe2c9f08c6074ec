//===- Phase.cpp - tile: functions over buffers ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/Transforms/Passes.h"
#include "passes/tile/Passes.h"

void hova::buildTilePhase(PhaseBuilder &phase) {
  phase.add(createTileKernelsPass());
  // Emitters write the same index arithmetic again for every operation.
  phase.add(mlir::createCanonicalizerPass());
  phase.add(mlir::createCSEPass());
  phase.addCheck(createVerifyTiledPass());
}
