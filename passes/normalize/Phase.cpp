//===- Phase.cpp - normalize: one spelling per idea -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/normalize/Phase.h"
#include "mlir/Transforms/Passes.h"
#include "passes/normalize/Passes.h"

using namespace mlir;

void hova::buildNormalizePhase(PhaseBuilder &phase,
                               const FuseOptions &options) {
  phase.add(createDecomposeCompoundPass());
  // Composed linears read what the first one reads: they merge after this.
  // Weights are composed before they are rounded to a storage type.
  phase.addOptional(createNormalizeLinearChainsPass());
  phase.add(createNormalizeRotationsPass());
  // Keys and values that one projection shares are recognised by identity.
  phase.add(createCSEPass());
  phase.addOptional(createNormalizeTokenProjectionsPass());
  // Before projections merge: they share the conversion of their input.
  phase.add(createNormalizeStoragePass());
  // Before projections merge: the query of one row and the keys of all rows
  // read different inputs afterwards.
  phase.addOptional(createPropagateDemandedRowsPass());
  // References to one weight become one value, so that tied weights and the
  // projections of one input are recognised by identity.
  phase.add(createCSEPass());
  phase.addOptional(createNormalizeProjectionsPass());
  // The columns of a merged projection are converted as one.
  phase.add(createNormalizeStoragePass());
  // After all that makes a table another value, as rounding does.
  phase.add(createCSEPass());
  phase.addOptional(createNormalizeTiedTablesPass());
  // After all that decides what reads a norm; what becomes of weights is
  // folded.
  phase.addOptional(createNormalizeNormsPass({options.policy}));
  phase.add(createNormalizeWeightsPass());
  phase.add(createCSEPass());
  phase.addCheck(createVerifyNormalizedPass());
}

namespace hova {
#define GEN_PASS_REGISTRATION
#include "passes/normalize/Passes.h.inc"
} // namespace hova

void hova::registerNormalizePhase() { registerNormalizePasses(); }
