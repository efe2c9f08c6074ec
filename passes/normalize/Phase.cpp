//===- Phase.cpp - normalize: one spelling per idea -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

void hova::buildNormalizePhase(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createDecomposeCompoundPass());
  // Before projections merge: they share the conversion of their input.
  manager.addNestedPass<func::FuncOp>(createNormalizeStoragePass());
  // Before projections merge: the query of one row and the keys of all rows
  // read different inputs afterwards.
  manager.addNestedPass<func::FuncOp>(createPropagateDemandedRowsPass());
  // References to one weight become one value, so that tied weights and the
  // projections of one input are recognised by identity.
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createNormalizeProjectionsPass());
  // The parts of a merged projection are converted as one.
  manager.addNestedPass<func::FuncOp>(createNormalizeStoragePass());
  manager.addPass(createNormalizeWeightsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyNormalizedPass());
}
