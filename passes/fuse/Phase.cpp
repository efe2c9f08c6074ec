//===- Phase.cpp - fuse: kernels and verdicts -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Passes.h"

void hova::buildFusePhase(PhaseBuilder &phase, const FusionPolicy &policy) {
  phase.add(createDecomposeColumnsPass({policy.columnGroupWidth}));
  phase.add(createDecomposeLinearAttentionPass({policy.blockTokens}));
  FuseKernelsPassOptions kernels;
  kernels.fewRows = policy.fewRows;
  kernels.leastMacs = policy.leastMacs;
  kernels.columnGroupWidth = policy.columnGroupWidth;
  kernels.fewUnits = policy.fewUnits;
  kernels.leastBlock = policy.leastBlock;
  kernels.chain = phase.runs("hova-fuse-kernels");
  phase.add(createFuseKernelsPass(kernels));
  // Last, so that kernels of passes in between have their verdicts too.
  phase.add(createAssignVerdictsPass());
  phase.add(createVerifyDemandsPass());
  phase.addCheck(createVerifyFusedPass());
}
