//===- Phase.cpp - vectorize: vectors of one dimension --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void hova::buildVectorizePhase(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createVectorizeTilesPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createLowerActivationsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyVectorizedPass());
}
