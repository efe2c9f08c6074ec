//===- Passes.h - The target-neutral phases -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What sees a phase as a whole includes this header; what creates a pass by
// itself includes `passes/<phase>/Passes.h`, which an edit of the phase's
// Passes.td makes anew.

#ifndef HOVA_PASSES_PASSES_H
#define HOVA_PASSES_PASSES_H

#include "dialect/HovaDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/PhaseBuilder.h"
#include "passes/fuse/FuseOptions.h"

namespace hova {

/// The builders of the phases; each ends with the verify pass
/// that checks the phase's promise.
void buildNormalizePhase(PhaseBuilder &phase);
void buildFusePhase(PhaseBuilder &phase, const FuseOptions &options);

/// Registers the passes of these phases by name.
void registerHovaPasses();

} // namespace hova

#endif // HOVA_PASSES_PASSES_H
