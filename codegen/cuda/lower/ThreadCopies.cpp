//===- ThreadCopies.cpp - cp.async and the order of its groups ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A copy is a group of cp.async. Groups end in order, so a token is no value at
// all: a wait needs only the number of copies that were begun after its own,
// and the list of pending ones gives that at compile time, through loops too.

#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/lower/Positions.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace hova {

LogicalResult ThreadEmitter::emitCopy(GroupCopyOp op) {
  if (!slotsOf.count(op.getSlots())) {
    return op.emitOpError("expects slots of this function");
  }
  const Slots &slots = slotsOf[op.getSlots()];
  SlotsType type = op.getSlots().getType();
  FailureOr<Matrix> source = matrix(op, op.getSource());
  if (failed(source)) {
    return failure();
  }
  int64_t chunks = slots.chunks(), rowsAtOnce = threads / chunks;
  if (slots.rows % rowsAtOnce) {
    return op.emitOpError("expects boxes of a multiple of ")
           << rowsAtOnce << " rows for " << threads << " threads, got " << type;
  }
  if (source->columns % kChunk || source->rowBytes % 16) {
    return op.emitOpError("expects rows of a multiple of ")
           << kChunk << " elements, got " << op.getSource().getType();
  }
  Value row = div(thread, chunks), chunk = rem(thread, chunks);
  // What a thread adds to every copy of this matrix, and of these slots.
  Value from =
      offset(source->base, add(mul(row, source->rowBytes), mul(chunk, 16)));
  Value to = offset(memory, slotByte(slots, row, chunk, 0));
  Value firstRow = word(op.getRow()), firstColumn = word(op.getColumn());
  from = offset(from, add(mul(firstRow, source->rowBytes),
                          mul(firstColumn, source->elementBytes)));
  to = offset(to, slotStart(slots, op.getSlot()));
  bool rowsInside = op.getInBounds()[0], columnsInside = op.getInBounds()[1];
  for (int64_t segment = 0; segment < slots.segments; ++segment) {
    for (int64_t first = 0; first < slots.rows; first += rowsAtOnce) {
      Value there;
      if (!rowsInside && isNeverNegative(op.getRow())) {
        // One sum for all rows of a thread; none of these is there if the
        // matrix ends before `first`.
        there = below(add(firstRow, row),
                      std::max<int64_t>(0, source->rows - first));
      } else if (!rowsInside) {
        there = below(add(firstRow, add(row, i32(first))), source->rows);
      }
      if (!columnsInside) {
        Value column = add(firstColumn, mul(chunk, kChunk));
        Value other =
            below(add(column, i32(kSegment * segment)), source->columns);
        there = there ? b.createOrFold<arith::AndIOp>(there, other) : other;
      }
      // Bytes that are not read become 0; an address of none is not used.
      Value bytes = there ? select(there, i32(16), i32(0)) : Value();
      NVVM::CpAsyncOp::create(
          b,
          offset(to, segment * slots.segmentBytes() + first * slots.rowBytes),
          offset(from, first * source->rowBytes + 2 * kSegment * segment), 16,
          NVVM::LoadCacheModifierKind::CG, bytes);
    }
  }
  NVVM::CpAsyncCommitGroupOp::create(b);
  pending.push_back(op.getToken());
  return success();
}

LogicalResult ThreadEmitter::emitWait(GroupWaitOp op) {
  size_t done = 0;
  for (Value token : op.getTokens()) {
    auto found = llvm::find(pending, token);
    if (found == pending.end()) {
      return op.emitOpError("waits for a copy that is not under way");
    }
    done = std::max<size_t>(done, found - pending.begin() + 1);
  }
  // A wait for one copy is over when those before it are.
  for (Value token : ArrayRef(pending).take_front(done)) {
    if (!llvm::is_contained(op.getTokens(), token)) {
      return op.emitOpError("passes over a copy that began earlier and is "
                            "under way");
    }
  }
  if (done) {
    NVVM::CpAsyncWaitGroupOp::create(b, pending.size() - done);
  }
  pending.erase(pending.begin(), pending.begin() + done);
  NVVM::Barrier0Op::create(b);
  return success();
}

/// Carried tokens are pending under their names inside; their order is that of
/// the copies, on the way in and on the way round.
LogicalResult ThreadEmitter::enterLoop(scf::ForOp op) {
  for (Value &token : pending) {
    auto found = llvm::find(op.getInitArgs(), token);
    if (found == op.getInitArgs().end()) {
      return op.emitOpError("does not carry a copy that is under way");
    }
    token = op.getRegionIterArgs()[found - op.getInitArgs().begin()];
  }
  return success();
}

LogicalResult ThreadEmitter::leaveLoop(scf::ForOp op) {
  SmallVector<Value> after;
  SmallVector<int64_t> places;
  for (Value token : pending) {
    auto found = llvm::find(op.getYieldedValues(), token);
    if (found == op.getYieldedValues().end()) {
      return op.emitOpError("does not yield a copy that is under way");
    }
    places.push_back(found - op.getYieldedValues().begin());
    after.push_back(op.getResults()[places.back()]);
  }
  SmallVector<int64_t> carried;
  for (auto [place, argument] : llvm::enumerate(op.getRegionIterArgs())) {
    if (isa<CopyTokenType>(argument.getType())) {
      carried.push_back(place);
    }
  }
  // The same copies in the same order on each turn make the counts constant.
  if (places != carried) {
    return op.emitOpError("yields other copies, or in another order, than it "
                          "takes them");
  }
  pending = after;
  return success();
}

} // namespace hova
