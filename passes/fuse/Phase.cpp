//===- Phase.cpp - fuse: kernels and verdicts -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Passes.h"

void hova::buildFusePhase(mlir::OpPassManager &manager,
                          const PassSelection &selection) {
  manager.addNestedPass<mlir::func::FuncOp>(createDecomposeColumnsPass());
  FuseKernelsPassOptions kernels;
  kernels.chain = selection.runs("hova-fuse-kernels");
  manager.addPass(createFuseKernelsPass(kernels));
  manager.addPass(createVerifyFusedPass());
}
