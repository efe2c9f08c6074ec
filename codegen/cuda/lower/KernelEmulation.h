//===- KernelEmulation.h - A kernel as a function of a thread ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LOWER_KERNELEMULATION_H
#define HOVA_CODEGEN_CUDA_LOWER_KERNELEMULATION_H

#include "codegen/cuda/lower/DeviceOperations.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace hova {

/// Where shared memories of a module begin, in bytes. Those without a size of
/// their own begin after all others, at the launch's bytes.
struct SharedMemories {
  llvm::DenseMap<mlir::StringAttr, uint64_t> offsets;
  uint64_t bytes = 0;
};

/// What the description of a kernel says (runtime/emulation/Emulation.h).
struct EmulatedKernel {
  std::string placeText;
  llvm::SmallVector<int32_t> placeOffsets;
  uint32_t sharedGranule = 16, globalGranule = 16;
};

/// Rewrites the body of a kernel that verifyDeviceCode accepts.
class KernelEmulation {
public:
  KernelEmulation(mlir::LLVM::LLVMFuncOp function,
                  const SharedMemories &memories)
      : function(function), memories(memories), b(function.getContext()) {}

  EmulatedKernel run();

private:
  using Value = mlir::Value;

  void lower(mlir::Operation *op, const DeviceOperation &entry);
  void countTurns();
  void lowerRegister(mlir::Operation *op, const DeviceOperation &entry);
  void lowerLanes(mlir::Operation *op, const DeviceOperation &entry);
  void lowerValue(mlir::Operation *op, const DeviceOperation &entry);
  void lowerAccess(mlir::Operation *op, Value address, mlir::Type type,
                   uint64_t alignment);
  void lowerExtension(mlir::Operation *op);
  void lowerCopy(mlir::Operation *op, const DeviceOperation &entry);
  void lowerShift(mlir::Operation *op);
  void lowerDivision(mlir::Operation *op, const DeviceOperation &entry);
  void lowerCustom(mlir::Operation *op, const DeviceOperation &entry);

  Value i32(int64_t value);
  Value constantLike(mlir::Type type, int64_t value);
  Value bits(Value address);
  Value wordOf(Value value);
  Value fromWord(Value word, mlir::Type type);
  /// The number of the operation's place.
  Value place(mlir::Operation *op);
  mlir::LLVM::CallOp call(llvm::StringRef name, mlir::Type result,
                          mlir::ValueRange operands);
  void removeHalves();
  void noteAccess(unsigned space, uint64_t bytes);

  mlir::LLVM::LLVMFuncOp function;
  const SharedMemories &memories;
  mlir::OpBuilder b;
  mlir::Location loc = b.getUnknownLoc();
  Value self, operands, results;
  EmulatedKernel kernel;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_KERNELEMULATION_H
