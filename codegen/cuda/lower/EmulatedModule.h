//===- EmulatedModule.h - Kernels, ready to be emulated ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LOWER_EMULATEDMODULE_H
#define HOVA_CODEGEN_CUDA_LOWER_EMULATEDMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/emulation/Emulation.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace hova {

/// Code of this process for the kernels of a module.
class EmulatedModule {
public:
  /// Of what hova-lower-to-emulation has made. The context of the module needs
  /// no registered translation.
  static llvm::Expected<EmulatedModule> compile(mlir::ModuleOp lowered);

  EmulatedModule(EmulatedModule &&);
  ~EmulatedModule();

  /// The kernel of this name, which lives as long as the module.
  llvm::Expected<const hova_emulated_kernel *> find(llvm::StringRef name) const;

private:
  explicit EmulatedModule(std::unique_ptr<llvm::orc::LLJIT> jit);

  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// Runs a kernel as hova_emulate does; the message is empty when there was no
/// fault.
hova_emulation_report emulate(const hova_emulation_launch &launch);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_EMULATEDMODULE_H
