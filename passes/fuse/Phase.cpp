//===- Phase.cpp - fuse: kernels and verdicts -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Passes.h"

void hova::buildFusePhase(mlir::OpPassManager &manager) {
  manager.addPass(createFuseKernelsPass());
  manager.addPass(createVerifyFusedPass());
}
