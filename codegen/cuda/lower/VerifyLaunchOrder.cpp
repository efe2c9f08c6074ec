//===- VerifyLaunchOrder.cpp - Kernels wait before they touch memory ------===//
// SPDX-License-Identifier: Apache-2.0
//
// A thread has waited at a place if every path that leads there has a wait. The
// end of the kernel is such a place too: an end without a wait would let the
// next launch pass those before.

#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "codegen/cuda/lower/BufferUses.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYLAUNCHORDERPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
/// The blocks of a kernel, and which of them a thread enters after its wait.
class Waits {
public:
  Waits(LLVM::LLVMFuncOp kernel, ArrayRef<int64_t> settled)
      : kernel(kernel), settled(settled) {}

  LogicalResult verify() {
    solve();
    for (Block &block : kernel.getBody()) {
      bool waited = entered.lookup(&block);
      for (Operation &op : block) {
        if (failed(verifyOperation(&op, waited))) {
          return failure();
        }
        waited |= isa<AwaitLaunchesOp>(op);
      }
    }
    return success();
  }

private:
  static bool hasWait(Block &block) {
    return !block.getOps<AwaitLaunchesOp>().empty();
  }

  /// At first all blocks but the entry count as entered after a wait, until a
  /// path without one is found.
  void solve() {
    for (Block &block : kernel.getBody()) {
      entered[&block] = !block.isEntryBlock();
    }
    for (bool changes = true; changes;) {
      changes = false;
      for (Block &block : kernel.getBody()) {
        for (Block *next : block.getSuccessors()) {
          bool &waited = entered[next];
          bool stays = waited && (entered.lookup(&block) || hasWait(block));
          changes |= stays != waited;
          waited = stays;
        }
      }
    }
  }

  LogicalResult verifyOperation(Operation *op, bool waited) const {
    if (isa<LLVM::ReturnOp>(op) && !waited) {
      return op->emitOpError("is reached on a path without "
                             "'hova_cuda.await_launches': the launch may begin "
                             "before others have ended");
    }
    GlobalAccess access = globalAccessOf(op);
    if (!access.address) {
      return success();
    }
    bool isSettled = isOneOf(access.address, settled);
    if (access.writes && isSettled) {
      return op->emitOpError("writes a matrix that is settled, which launches "
                             "behind it read before they wait");
    }
    return waited || isSettled
               ? success()
               : LogicalResult(op->emitOpError(
                     "is reached on a path without "
                     "'hova_cuda.await_launches', and launches before it may "
                     "still touch what it touches"));
  }

  LLVM::LLVMFuncOp kernel;
  ArrayRef<int64_t> settled;
  DenseMap<Block *, bool> entered;
};

struct VerifyLaunchOrderPass final
    : impl::VerifyLaunchOrderPassBase<VerifyLaunchOrderPass> {
  using Base::Base;
  void runOnOperation() override {
    WalkResult walked = getOperation().walk([](LLVM::LLVMFuncOp kernel) {
      return failed(verify(kernel)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
    });
    if (walked.wasInterrupted()) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }

  static LogicalResult verify(LLVM::LLVMFuncOp kernel) {
    std::optional<ArrayRef<int64_t>> settled = settledOf(kernel);
    const GpuFacts &gpu = gpuOf(kernel);
    if (settled && !gpu.overlapsLaunches) {
      return kernel.emitOpError("has '")
             << kSettledAttr << "', and launches on " << gpu.name
             << " begin one after the other";
    }
    if (settled) {
      return Waits(kernel, *settled).verify();
    }
    WalkResult walked = kernel.walk([](Operation *op) {
      return isa<AwaitLaunchesOp, AllowLaunchesOp>(op)
                 ? WalkResult(op->emitOpError("expects its kernel to say what "
                                              "is settled, by '")
                              << kSettledAttr << "'")
                 : WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }
};
} // namespace
} // namespace hova
