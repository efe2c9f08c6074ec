//===- BufferUses.cpp - What kernels do with their buffers ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows a pointer to everything that is computed of it. What is neither an
// address nor a known access counts as both.

#include "codegen/cuda/lower/BufferUses.h"
#include "codegen/cuda/lower/DeviceOperations.h"
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

GlobalAccess globalAccessOf(Operation *op) {
  auto global = [](Value address, bool writes) {
    auto type = cast<LLVM::LLVMPointerType>(address.getType());
    return type.getAddressSpace() == kGlobalMemory
               ? GlobalAccess{address, writes}
               : GlobalAccess();
  };
  return TypeSwitch<Operation *, GlobalAccess>(op)
      .Case<LLVM::LoadOp>(
          [&](LLVM::LoadOp load) { return global(load.getAddr(), false); })
      .Case<LLVM::StoreOp>(
          [&](LLVM::StoreOp store) { return global(store.getAddr(), true); })
      .Case<NVVM::CpAsyncOp>(
          [&](NVVM::CpAsyncOp copy) { return global(copy.getSrc(), false); })
      .Default([](Operation *) { return GlobalAccess(); });
}

/// What a value may be, one step back: other values, or an argument of the
/// kernel, which is the value itself. Nothing of what is not known.
static SmallVector<Value> sourcesOf(Value value) {
  if (Operation *op = value.getDefiningOp()) {
    return TypeSwitch<Operation *, SmallVector<Value>>(op)
        .Case<LLVM::GEPOp>([](LLVM::GEPOp element) {
          return SmallVector<Value>{element.getBase()};
        })
        .Case<LLVM::SelectOp, arith::SelectOp>([](auto choice) {
          return SmallVector<Value>{choice.getTrueValue(),
                                    choice.getFalseValue()};
        })
        .Default([](Operation *) { return SmallVector<Value>(); });
  }
  auto argument = cast<BlockArgument>(value);
  Block *block = argument.getOwner();
  if (!isa<LLVM::LLVMFuncOp>(block->getParentOp())) {
    return {};
  }
  if (block->isEntryBlock()) {
    return {value};
  }
  SmallVector<Value> sources;
  for (auto edge = block->pred_begin(); edge != block->pred_end(); ++edge) {
    auto branch = dyn_cast<BranchOpInterface>((*edge)->getTerminator());
    Value given = branch
                      ? branch.getSuccessorOperands(
                            edge.getSuccessorIndex())[argument.getArgNumber()]
                      : Value();
    if (!given) {
      return {};
    }
    sources.push_back(given);
  }
  return sources;
}

bool isOneOf(Value address, ArrayRef<int64_t> arguments) {
  llvm::SetVector<Value> all;
  all.insert(address);
  for (size_t next = 0; next < all.size(); ++next) {
    SmallVector<Value> sources = sourcesOf(all[next]);
    bool isArgument = sources.size() == 1 && sources[0] == all[next];
    if (sources.empty() ||
        (isArgument &&
         !llvm::is_contained(arguments,
                             cast<BlockArgument>(all[next]).getArgNumber()))) {
      return false;
    }
    all.insert(sources.begin(), sources.end());
  }
  return true;
}

} // namespace hova
