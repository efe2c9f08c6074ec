//===- KernelCode.h - Kernels as functions, and their memory ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What is known of a program after `tile`: which function a kernel runs, what
// it executes and touches, the nest of its loops, and where values lie. Names
// of fields are those of a program's --benchmark-out and --describe.

#ifndef HOVA_TOOLS_INSPECT_KERNELCODE_H
#define HOVA_TOOLS_INSPECT_KERNELCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace hova::inspect {

/// An array of `kernel` (its number), `path`, `symbol` (equal kernels have the
/// same), `flops` (executed) and `bytes` (of its buffers).
llvm::json::Array launchesJson(mlir::ModuleOp tiled);

/// For each symbol of a kernel its outermost loops, an array of `over` (rows),
/// `path`, `stage`, `trips` (where they are known) and `loops`, those inside.
llvm::json::Object loopsJson(mlir::ModuleOp tiled);

/// `arena_bytes`, `weight_bytes`, and the arrays `arena` (`path`, `offset`,
/// `bytes`, `first_kernel`, `last_kernel`), `weights` (`name`, `offset`,
/// `bytes`) and `parts`, the counted work of stages (`kernel`, `stage`, `path`,
/// `flops`, `work`), by which the time of a kernel is divided.
llvm::json::Object memoryJson(mlir::ModuleOp tiled, int64_t flopsPerByte);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_KERNELCODE_H
