//===- Phase.cpp - fuse: kernels and verdicts -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Passes.h"

void hova::buildFusePhase(PhaseBuilder &phase) {
  phase.add(createDecomposeColumnsPass());
  FuseKernelsPassOptions kernels;
  kernels.chain = phase.runs("hova-fuse-kernels");
  phase.add(createFuseKernelsPass(kernels));
  phase.addCheck(createVerifyFusedPass());
}
