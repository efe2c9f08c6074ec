//===- Phase.cpp - vectorize: tiles as vectors, functions as arithmetic ---===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/Transforms/Passes.h"
#include "passes/vectorize/Passes.h"

void hova::buildVectorizePhase(mlir::OpPassManager &manager, bool lookups,
                               bool powers) {
  mlir::OpPassManager &functions = manager.nest<mlir::func::FuncOp>();
  functions.addPass(createVectorizeTilesPass());
  // Index arithmetic and constants of the rows of a tile are mostly the same.
  functions.addPass(mlir::createCanonicalizerPass());
  functions.addPass(mlir::createCSEPass());
  // One expression per vector: before the rows exist it would be one per tile.
  LowerActivationsPassOptions activations;
  activations.lookups = lookups;
  activations.powers = powers;
  functions.addPass(createLowerActivationsPass(activations));
  // Every expression brought its coefficients.
  functions.addPass(mlir::createCSEPass());
  manager.addPass(createVerifyVectorizedPass());
}
