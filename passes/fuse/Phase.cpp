//===- Phase.cpp - fuse: kernels and verdicts -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Passes.h"

void hova::buildFusePhase(PhaseBuilder &phase, const FuseOptions &options) {
  phase.add(createDecomposeColumnsPass({options.columnGroupWidth}));
  phase.add(createDecomposeLinearAttentionPass(
      {options.blockTokens, options.causalBlockTokens, options.mergesBlocks}));
  phase.addOptional(createDecomposeProductsPass({options.policy, /*parts=*/0}));
  FuseKernelsPassOptions kernels;
  kernels.policy = options.policy;
  kernels.columnGroupWidth = options.columnGroupWidth;
  kernels.chain = phase.runs("hova-fuse-kernels");
  phase.add(createFuseKernelsPass(kernels));
  // Last, so that kernels of passes in between have their verdicts too.
  phase.add(createAssignVerdictsPass());
  phase.add(createVerifyDemandsPass());
  phase.addCheck(createVerifyFusedPass());
}
