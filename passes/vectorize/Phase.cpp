//===- Phase.cpp - vectorize: tiles as vectors, functions as arithmetic ---===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/Transforms/Passes.h"
#include "passes/vectorize/Passes.h"

using namespace mlir;

void hova::buildVectorizePhase(PhaseBuilder &phase,
                               const VectorizeOptions &options) {
  phase.add(
      createVectorizeTilesPass({options.productSteps, options.lineElements}));
  // Index arithmetic and constants of the rows of a tile are mostly the same.
  phase.addNested<func::FuncOp>(createCanonicalizerPass());
  phase.addNested<func::FuncOp>(createCSEPass());
  // One expression per vector: before the rows exist it would be one per tile.
  LowerActivationsPassOptions activations;
  activations.lookups = options.lookups;
  activations.exponentials = options.exponentials;
  phase.add(createLowerActivationsPass(activations));
  // Every expression brought its coefficients.
  phase.addNested<func::FuncOp>(createCSEPass());
  phase.addCheck(createVerifyVectorizedPass());
}
