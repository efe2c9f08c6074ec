//===- PassHeaders.h - What declarations of passes include ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The dialects that generated declarations of passes name. What creates a pass
// includes `Passes.h` of the pass's folder, which an edit of its Passes.td
// makes anew; what sees a phase as a whole includes `Phase.h`.

#ifndef HOVA_PASSES_PASSHEADERS_H
#define HOVA_PASSES_PASSHEADERS_H

#include "dialect/HovaDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/PhaseBuilder.h"

#endif // HOVA_PASSES_PASSHEADERS_H
