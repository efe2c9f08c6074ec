//===- DeviceProgram.h - Kernels and launches of a lowered program --------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_DEVICEPROGRAM_H
#define HOVA_CODEGEN_CUDA_DEVICEPROGRAM_H

#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace hova {

/// The tables that kernels read, an attribute of the code: 8 bytes a number.
inline constexpr llvm::StringLiteral kTablesAttr = "hova.tables";
/// On a kernel: bytes of shared memory that a launch must give it.
inline constexpr llvm::StringLiteral kGroupBytesAttr = "hova.group_bytes";

struct DeviceKernel {
  mlir::LLVM::LLVMFuncOp function;
  int64_t threads = 0;     ///< of a block
  int64_t sharedBytes = 0; ///< that a launch gives it
};

struct DeviceLaunch {
  LaunchOp op;
  size_t kernel = 0; ///< among the program's
};

/// What a program runs, as the phase `target` leaves it.
struct DeviceProgram {
  mlir::func::FuncOp main;
  llvm::SmallVector<DeviceKernel> kernels;
  llvm::SmallVector<DeviceLaunch> launches; ///< in their order
  llvm::ArrayRef<int64_t> tables;           ///< that launches read
};

/// Reads the launches of `main`, which stands beside `code`, and the kernels
/// that these name there. Fails with an error where a launch has no kernel, or
/// one of other buffers or threads, or reads tables that the code has not.
mlir::FailureOr<DeviceProgram> readDeviceProgram(mlir::ModuleOp code);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_DEVICEPROGRAM_H
