//===- DeviceOperations.h - What code of a GPU may consist of ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One table says of each operation that a lowered kernel may contain how PTX
// spells it and how it is emulated. What is not in the table is an error on
// both ways, so no kernel runs on a device that cannot run without one.

#ifndef HOVA_CODEGEN_CUDA_LOWER_DEVICEOPERATIONS_H
#define HOVA_CODEGEN_CUDA_LOWER_DEVICEOPERATIONS_H

#include "mlir/IR/Operation.h"
#include <string>

namespace hova {

enum class EmulatedAs {
  Host,     ///< the same operation, which means the same on a host
  Register, ///< hova_emulated_register of `immediate`
  Lanes,    ///< a call with words of operands and results
  Value,    ///< a call that maps numbers to a number, lane by lane of a vector
  Inexact,  ///< the same, where a launch chooses among several numbers
  Custom,   ///< as KernelEmulation.cpp says of it alone
};

struct DeviceOperation {
  /// Of the operation, or of the intrinsic that `llvm.call_intrinsic` names; of
  /// conversions of f16 more than that.
  llvm::StringLiteral name;
  llvm::StringLiteral ptx;
  EmulatedAs as;
  llvm::StringLiteral call = ""; ///< of runtime/emulation/Calls.h
  void *address = nullptr;       ///< of the call in this process
  uint32_t immediate = 0;
  /// Why this use of the operation is not allowed; empty: it is.
  std::string (*objection)(mlir::Operation *) = nullptr;
};

llvm::ArrayRef<DeviceOperation> getDeviceOperations();

/// The entry of an operation; null: it is not allowed.
const DeviceOperation *findDeviceOperation(mlir::Operation *op);

/// Whether a value of a kernel may have this type.
bool isDeviceType(mlir::Type type);

/// The memory that a pointer of a kernel points to.
inline constexpr unsigned kGlobalMemory = 1, kSharedMemory = 3,
                          kClusterMemory = 7;

/// Emits an error on the first function, global or operation of a kernel module
/// that is not allowed.
llvm::LogicalResult verifyDeviceCode(mlir::Operation *module);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_DEVICEOPERATIONS_H
