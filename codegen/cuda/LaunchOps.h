//===- LaunchOps.h - The order of a launch and those before it --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LAUNCHOPS_H
#define HOVA_CODEGEN_CUDA_LAUNCHOPS_H

#include "codegen/cuda/HovaCudaDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

namespace hova {

/// On the function of a kernel whose launches may begin while those before them
/// still run: the numbers of its matrices that none of these writes.
inline constexpr llvm::StringLiteral kSettledAttr = "hova_cuda.settled";

/// The matrices that the attribute names; nothing where launches begin one
/// after the other.
std::optional<llvm::ArrayRef<int64_t>> settledOf(mlir::Operation *function);

/// On the function of a kernel, `array<f64: alone, beside>`: BlockCycles.
inline constexpr llvm::StringLiteral kBlockCyclesAttr =
    "hova_cuda.block_cycles";

/// Cycles of a multiprocessor that a block takes, modelled, where it is alone
/// on it and where others work while its warps wait.
struct BlockCycles {
  double alone = 0, beside = 0;
};

/// What the attribute says, if there is one.
std::optional<BlockCycles> blockCyclesOf(mlir::Operation *function);

} // namespace hova

#define GET_OP_CLASSES
#include "codegen/cuda/LaunchOps.h.inc"

#endif // HOVA_CODEGEN_CUDA_LAUNCHOPS_H
