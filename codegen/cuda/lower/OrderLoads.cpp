//===- OrderLoads.cpp - Loads of global memory, some at a time ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A load of global memory takes hundreds of cycles, so several should be on
// their way; and each holds its registers from its beginning on. No assembler
// moves a load over a store to global memory, which may be to the same place as
// far as it knows: a kernel loads in the order that it is written in.

#include "codegen/cuda/Passes.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/BufferUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ORDERLOADSPASS
#include "codegen/cuda/Passes.h.inc"

/// The argument of the kernel that an address is computed of; null of others.
static BlockArgument bufferOf(Value address) {
  while (Operation *op = address.getDefiningOp()) {
    if (auto element = dyn_cast<LLVM::GEPOp>(op)) {
      address = element.getBase();
    } else if (auto choice = dyn_cast<arith::SelectOp>(op)) {
      address = choice.getFalseValue();
      if (bufferOf(choice.getTrueValue()) != bufferOf(address)) {
        return {};
      }
    } else {
      return {};
    }
  }
  auto argument = cast<BlockArgument>(address);
  Block *block = argument.getOwner();
  return block->isEntryBlock() && isa<LLVM::LLVMFuncOp>(block->getParentOp())
             ? argument
             : BlockArgument();
}

/// The registers of 32 bits that a number or a vector of them takes.
static int64_t registersOf(Type type) {
  int64_t count = 1;
  if (auto vector = dyn_cast<VectorType>(type)) {
    count = vector.getNumElements();
    type = vector.getElementType();
  }
  return type.isIntOrFloat()
             ? llvm::divideCeil(count * type.getIntOrFloatBitWidth(),
                                kRegisterBits)
             : 0;
}
static int64_t registersOf(LLVM::LoadOp load) {
  return registersOf(load.getType());
}

/// How many registers loads may hold ahead: what the sums that a loop of the
/// kernel carries leave of half of a thread's, within bounds.
static int64_t roomFor(LLVM::LLVMFuncOp kernel) {
  int64_t carried = 0;
  kernel.walk([&](LoopLikeOpInterface loop) {
    int64_t ofLoop = 0;
    for (Value value : loop.getInits()) {
      ofLoop += registersOf(value.getType());
    }
    carried = std::max(carried, ofLoop);
  });
  return std::clamp(kHalfRegisters - carried, kLeastAhead, kMostAhead);
}

namespace {
/// One block of a kernel. Its steps are the operations that have an effect and
/// stay in their order; everything between them may move down to the step that
/// needs it.
class Order {
public:
  Order(Block &block, ArrayRef<BufferUse> uses) : block(block), uses(uses) {}

  void change(int64_t most) {
    collect();
    if (largest <= most) {
      return;
    }
    placeLoads(most);
    placeOthers();
    move();
  }

private:
  bool mayMove(Operation *op) const {
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      // Buffers of a launch do not overlap: one that no pointer to it writes to
      // stays as it is.
      BlockArgument buffer = bufferOf(load.getAddr());
      return buffer && !load.getVolatile_() &&
             load.getOrdering() == LLVM::AtomicOrdering::not_atomic &&
             !uses[buffer.getArgNumber()].isWritten;
    }
    // Intrinsics that kernels call are functions of numbers.
    return op->getNumRegions() == 0 &&
           (isMemoryEffectFree(op) || isa<LLVM::CallIntrinsicOp>(op)) &&
           !op->hasTrait<OpTrait::IsTerminator>();
  }

  /// Numbers the steps, and finds how many registers loads hold between two
  /// of them.
  void collect() {
    int64_t held = 0;
    for (Operation &op : block) {
      if (!mayMove(&op)) {
        steps.push_back(&op);
        stepOf[&op] = steps.size() - 1;
        held = 0;
        continue;
      }
      movable.insert({&op, steps.size()});
      if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
        held += registersOf(load);
        largest = std::max(largest, held);
      }
    }
    for (auto &[op, step] : llvm::reverse(movable)) {
      need[op] = firstUser(op, need);
    }
  }

  /// The first step among the users of an operation, by the steps of those that
  /// may move; the terminator where nothing uses it.
  size_t firstUser(Operation *op,
                   const DenseMap<Operation *, size_t> &places) const {
    size_t first = steps.size() - 1;
    for (Operation *user : op->getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      if (!here) {
        continue;
      }
      auto found = places.find(here);
      first = std::min(first, found != places.end() ? found->second
                                                    : stepOf.lookup(here));
    }
    return first;
  }

  /// Begins loads in the order of what needs them, as many before each step as
  /// registers are left, and at least those that it needs.
  void placeLoads(int64_t most) {
    // Of those that one step needs, in their order.
    using Turn = std::pair<size_t, size_t>;
    SmallVector<std::pair<Turn, LLVM::LoadOp>> loads;
    for (auto &[op, step] : movable) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
        loads.push_back({{need[op], loads.size()}, load});
      }
    }
    llvm::sort(loads, llvm::less_first());
    size_t begun = 0, used = 0;
    int64_t held = 0;
    for (size_t step = 0; step < steps.size(); ++step) {
      for (; used < begun && loads[used].first.first < step; ++used) {
        held -= registersOf(loads[used].second);
      }
      for (; begun < loads.size(); ++begun) {
        auto [turn, load] = loads[begun];
        int64_t taken = registersOf(load);
        if (turn.first > step && held + taken > most) {
          break;
        }
        // No earlier than it stands.
        places[load] = std::max(step, movable.lookup(load));
        held += taken;
      }
    }
  }

  /// Whatever else may move stands before the first that uses it.
  void placeOthers() {
    for (auto &[op, step] : llvm::reverse(movable)) {
      if (!places.count(op)) {
        places[op] = std::max(step, firstUser(op, places));
      }
    }
  }

  void move() {
    SmallVector<SmallVector<Operation *>> before(steps.size());
    for (auto &[op, step] : movable) {
      before[places[op]].push_back(op);
    }
    for (auto [step, operations] : llvm::zip(steps, before)) {
      for (Operation *op : operations) {
        op->moveBefore(step);
      }
    }
  }

  Block &block;
  ArrayRef<BufferUse> uses;
  SmallVector<Operation *> steps;
  DenseMap<Operation *, size_t> stepOf;
  /// Each with the step that it stands before.
  llvm::MapVector<Operation *, size_t> movable;
  DenseMap<Operation *, size_t> need, places;
  int64_t largest = 0;
};

struct OrderLoadsPass final : impl::OrderLoadsPassBase<OrderLoadsPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([&](LLVM::LLVMFuncOp kernel) {
      if (kernel.isExternal()) {
        return;
      }
      SmallVector<BufferUse> uses = getBufferUses(kernel);
      int64_t room = registers ? registers : roomFor(kernel);
      kernel.walk([&](Block *block) { Order(*block, uses).change(room); });
    });
  }
};
} // namespace
} // namespace hova
