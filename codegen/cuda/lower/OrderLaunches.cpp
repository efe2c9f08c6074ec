//===- OrderLaunches.cpp - How much of a kernel comes before its wait -----===//
// SPDX-License-Identifier: Apache-2.0
//
// A launch that begins while the one before it still runs gains what it does
// before it waits: its addresses, and the copies of its first weights. The wait
// stands at the beginning of a kernel; here it moves down to what needs it, and
// copies of what no launch writes move up before it. Their commits stay: a copy
// is then in an earlier group than it was, and every wait for it still is one.

#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/lower/BufferUses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ORDERLAUNCHESPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
/// The first block of a kernel, which every thread comes through.
class Beginning {
public:
  Beginning(AwaitLaunchesOp await, ArrayRef<int64_t> settled)
      : await(await), block(*await->getBlock()), settled(settled) {}

  void change() {
    Operation *last = await;
    if (auto allow = dyn_cast_or_null<AllowLaunchesOp>(await->getNextNode())) {
      last = allow;
    }
    Operation *first = last->getNextNode();
    while (first != block.getTerminator() && !needsWait(first)) {
      first = first->getNextNode();
    }
    await->moveBefore(first);
    if (last != await) {
      last->moveBefore(first);
    }
    for (Operation *op = first; staysOrdered(op);) {
      Operation *next = op->getNextNode();
      if (copiesSettled(op)) {
        moveUp(op);
      }
      op = next;
    }
  }

private:
  bool isSettled(Value address) const { return isOneOf(address, settled); }

  /// Whether an operation, or one inside, touches global memory that a launch
  /// before may write or read.
  bool needsWait(Operation *op) const {
    return op
        ->walk([&](Operation *inside) {
          GlobalAccess access = globalAccessOf(inside);
          bool waits =
              access.address && (access.writes || !isSettled(access.address));
          return waits ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Whether a copy may move up over an operation: it touches no shared memory
  /// but by copies, which go to places of their own until somebody waits, and
  /// meets nobody.
  static bool staysOrdered(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>() && op->getNumSuccessors()) {
      return false;
    }
    return !op->walk([&](Operation *inside) {
                bool isLoad =
                    isa<LLVM::LoadOp>(inside) && globalAccessOf(inside).address;
                bool passes =
                    isLoad || isMemoryEffectFree(inside) ||
                    isa<scf::IfOp, scf::YieldOp, NVVM::CpAsyncOp,
                        NVVM::CpAsyncCommitGroupOp, NVVM::SyncWarpOp>(inside);
                return passes && !isa<LLVM::ReturnOp>(inside)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              }).wasInterrupted();
  }

  /// Whether an operation is a copy of what is settled, or a choice that has
  /// nothing else in it.
  bool copiesSettled(Operation *op) const {
    bool copies = false;
    return !op->walk([&](Operation *inside) {
                bool isCopy = isa<NVVM::CpAsyncOp>(inside) &&
                              isSettled(globalAccessOf(inside).address);
                copies |= isCopy;
                return isCopy || isa<scf::IfOp, scf::YieldOp>(inside) ||
                               isMemoryEffectFree(inside)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              }).wasInterrupted() &&
           copies;
  }

  /// Moves an operation before the wait with what it is computed of, if nothing
  /// of that has to stay.
  void moveUp(Operation *op) {
    llvm::SetVector<Operation *> moved;
    if (!collect(op, moved)) {
      return;
    }
    for (Operation *each : moved) {
      each->moveBefore(await);
    }
  }

  /// What an operation needs of what stands after the wait, each after what it
  /// needs itself.
  bool collect(Operation *op, llvm::SetVector<Operation *> &moved) {
    bool isFree = true;
    op->walk([&](Operation *inside) {
      for (Value operand : inside->getOperands()) {
        Operation *made = operand.getDefiningOp();
        if (!made || made->getBlock() != &block ||
            made->isBeforeInBlock(await) || moved.contains(made)) {
          continue;
        }
        isFree &= made->getNumRegions() == 0 && isMemoryEffectFree(made) &&
                  collect(made, moved);
      }
    });
    moved.insert(op);
    return isFree;
  }

  AwaitLaunchesOp await;
  Block &block;
  ArrayRef<int64_t> settled;
};

struct OrderLaunchesPass final
    : impl::OrderLaunchesPassBase<OrderLaunchesPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([&](LLVM::LLVMFuncOp kernel) {
      std::optional<ArrayRef<int64_t>> settled = settledOf(kernel);
      if (!settled || kernel.isExternal()) {
        return;
      }
      auto waits = kernel.getBody().front().getOps<AwaitLaunchesOp>();
      if (!waits.empty()) {
        Beginning(*waits.begin(), *settled).change();
      }
    });
  }
};
} // namespace
} // namespace hova
