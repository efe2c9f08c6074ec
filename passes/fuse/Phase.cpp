//===- Phase.cpp - fuse: kernels and verdicts -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Phase.h"
#include "passes/fuse/Passes.h"

void hova::buildFusePhase(PhaseBuilder &phase, const FuseOptions &options) {
  phase.add(createDecomposeColumnsPass({options.columnGroupWidth}));
  // Without it, what no kernel computes whole is divided all the same.
  SplitReductionsPassOptions splits;
  splits.policy = options.policy;
  splits.onlyNecessary = !phase.runs("hova-split-reductions");
  phase.add(createSplitReductionsPass(splits));
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

namespace hova {
#define GEN_PASS_REGISTRATION
#include "passes/fuse/Passes.h.inc"
} // namespace hova

void hova::registerFusePhase() { registerFusePasses(); }
