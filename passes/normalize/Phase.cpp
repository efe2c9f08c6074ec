//===- Phase.cpp - normalize: one spelling per idea -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/Transforms/Passes.h"
#include "passes/normalize/Passes.h"

using namespace mlir;

void hova::buildNormalizePhase(OpPassManager &manager,
                               const PassSelection &selection) {
  auto addOptional = [&](std::unique_ptr<Pass> pass) {
    if (selection.runs(pass->getArgument())) {
      manager.addNestedPass<func::FuncOp>(std::move(pass));
    }
  };
  manager.addNestedPass<func::FuncOp>(createDecomposeCompoundPass());
  // Composed linears read what the first one reads: they merge behind this.
  // Weights are composed before they are rounded to a storage type.
  addOptional(createNormalizeLinearChainsPass());
  // Before projections merge: they share the conversion of their input.
  manager.addNestedPass<func::FuncOp>(createNormalizeStoragePass());
  // Before projections merge: the query of one row and the keys of all rows
  // read different inputs afterwards.
  addOptional(createPropagateDemandedRowsPass());
  // References to one weight become one value, so that tied weights and the
  // projections of one input are recognised by identity.
  manager.addPass(createCSEPass());
  addOptional(createNormalizeProjectionsPass());
  // The parts of a merged projection are converted as one.
  manager.addNestedPass<func::FuncOp>(createNormalizeStoragePass());
  // Behind all that makes a table another value, as rounding does.
  manager.addPass(createCSEPass());
  addOptional(createNormalizeTiedTablesPass());
  manager.addPass(createNormalizeWeightsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyNormalizedPass());
}
