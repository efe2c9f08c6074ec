//===- ThreadWgmma.cpp - Products of warp groups, under way ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile whose members have 16 rows each is what wgmma leaves with a thread,
// but for the order of registers, and a box has its chunks where wgmma looks
// for them: slots begin at multiples of 1024 bytes, since a box has a multiple
// of 16 rows.

#include "codegen/cuda/WgmmaFacts.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace hova {

/// A fragment has the pairs of one row, then those of the row eight below; an
/// instruction numbers, block of columns by block, the pair of either row.
ThreadEmitter::Values ThreadEmitter::inOrderOfGroup(ArrayRef<Value> sums) {
  Values ordered;
  size_t half = sums.size() / 2;
  for (size_t pair = 0; pair < half; pair += 2) {
    for (size_t first : {pair, half + pair}) {
      ordered.append({sums[first], sums[first + 1]});
    }
  }
  return ordered;
}

ThreadEmitter::Values ThreadEmitter::inOrderOfFragment(ValueRange sums) {
  Values upper, lower;
  for (size_t i = 0; i < sums.size(); i += 4) {
    upper.append({sums[i], sums[i + 1]});
    lower.append({sums[i + 2], sums[i + 3]});
  }
  llvm::append_range(upper, lower);
  return upper;
}

void ThreadEmitter::fenceForProducts() {
  if (multipliesUnderWay) {
    NVVM::FenceProxyOp::create(
        b,
        NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
        NVVM::SharedSpaceAttr::get(b.getContext(),
                                   NVVM::SharedSpace::shared_cta));
  }
}

LogicalResult ThreadEmitter::emitBeginProduct(BeginProductOp op) {
  if (!slotsOf.count(op.getRhs()) ||
      (op.getLhsSlot() && !slotsOf.count(op.getLhs()))) {
    return op.emitOpError("expects slots of this function");
  }
  auto place = [&](const Slots &slots, Value slot) {
    return offset(memory, slotStart(slots, slot));
  };
  const Slots &right = slotsOf[op.getRhs()];
  Values left;
  if (op.getLhsSlot()) {
    const Slots &slots = slotsOf[op.getLhs()];
    Value start = place(slots, op.getLhsSlot());
    TileType sum = op.getSum().getType();
    left.push_back(
        sum.getRowMembers() == kWgmmaWarps
            ? start
            : offset(start, mul(warpGroup, kWgmmaRows * slots.rowBytes)));
  } else {
    // As of mma.sync, since a member has as many rows.
    ArrayRef<Value> words = parts[op.getLhs()];
    size_t half = words.size() / 2;
    for (size_t block = 0; block < half; block += 2) {
      for (size_t first : {block, block + 1}) {
        left.append({words[first], words[half + first]});
      }
    }
  }
  auto product = WgmmaOp::create(
      b, TypeAttr::get(op.getRhs().getType().getElementType()), left,
      place(right, op.getRhsSlot()), inOrderOfGroup(parts[op.getSum()]),
      b.getI64IntegerAttr(right.rowBytes));
  parts[op.getResult()] = inOrderOfFragment(product.getResults());
  return success();
}

LogicalResult ThreadEmitter::emitEndProducts(EndProductsOp op) {
  auto wait = WgmmaWaitOp::create(b, op.getUnderWayAttr(),
                                  inOrderOfGroup(parts[op.getSum()]));
  parts[op.getResult()] = inOrderOfFragment(wait.getResults());
  return success();
}

} // namespace hova
