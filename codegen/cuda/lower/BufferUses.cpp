//===- BufferUses.cpp - What kernels do with their buffers ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows a pointer to everything that is computed of it. What is neither an
// address nor a known access counts as both.

#include "codegen/cuda/lower/BufferUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {

namespace {
/// The pointers that come from one argument.
class Pointers {
public:
  explicit Pointers(Value argument) { all.insert(argument); }

  BufferUse follow() {
    for (size_t next = 0; next < all.size(); ++next) {
      for (OpOperand &use : all[next].getUses()) {
        visit(use);
      }
    }
    return result;
  }

private:
  void visit(OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto branch = dyn_cast<BranchOpInterface>(op)) {
      if (auto argument =
              branch.getSuccessorBlockArgument(use.getOperandNumber())) {
        all.insert(*argument);
      }
      return;
    }
    TypeSwitch<Operation *>(op)
        .Case<LLVM::GEPOp, LLVM::SelectOp, arith::SelectOp>(
            [&](Operation *address) { all.insert(address->getResult(0)); })
        .Case<LLVM::LoadOp>([&](Operation *) { result.isRead = true; })
        .Case<LLVM::StoreOp>([&](LLVM::StoreOp store) {
          result.isWritten = true;
          result.isRead |= store.getAddr() != use.get();
        })
        .Case<NVVM::CpAsyncOp>([&](Operation *) { result.isRead = true; })
        .Default([&](Operation *) { result = {true, true}; });
  }

  llvm::SetVector<Value> all;
  BufferUse result;
};
} // namespace

SmallVector<BufferUse> getBufferUses(LLVM::LLVMFuncOp kernel) {
  SmallVector<BufferUse> uses;
  for (Value argument : kernel.getArguments()) {
    if (!isa<LLVM::LLVMPointerType>(argument.getType())) {
      continue;
    }
    uses.push_back(Pointers(argument).follow());
  }
  return uses;
}

} // namespace hova
