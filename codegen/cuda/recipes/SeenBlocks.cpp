//===- SeenBlocks.cpp - The blocks of keys that queries see ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/SeenBlocks.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

SeenBlocks::SeenBlocks(GroupEmitter &e, AttentionOp op, Value own)
    : e(e), b(e.b), op(op), tokens(shapeOf(op.getQuery())[1]),
      size(*op.getBlock()), blocks(op.getBlocks()), drawn(op.getRandomCount()),
      boxesOfBlock(llvm::divideCeil(size, e.schedule.getStep())),
      areWhole(size % e.schedule.getStep() == 0 && tokens % size == 0),
      own(own), last(b.index(blocks - 1)) {
  isGlobal =
      arith::OrIOp::create(b, b.isEqual(own, b.index(0)), b.isEqual(own, last));
  Value seesEnd = arith::OrIOp::create(b, b.isEqual(own, b.index(1)),
                                       b.isEqual(own, b.index(blocks - 2)));
  ends = b.choose(seesEnd, b.index(1), b.index(2));
}

/// Of the row of the table that belongs to the block of queries.
Value SeenBlocks::drawnBlock(Value place) {
  Value row = b.choose(isGlobal, b.index(0), b.addIndex(own, -1));
  row = b.sum(b.mulIndex(e.block(1), blocks - 2), row);
  Value number =
      memref::LoadOp::create(b, e.matrix(op.getRandomBlocks()),
                             ValueRange{row, b.atMost(place, drawn - 1)});
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

Value SeenBlocks::blockAt(Value entry) {
  Value window = b.addIndex(b.sum(own, entry), -1);
  Value place = b.addIndex(entry, -3), first = b.index(0);
  Value ownEnd = b.choose(b.isEqual(own, b.index(1)), last, first);
  Value found = b.choose(b.isEqual(place, first), ownEnd, last);
  if (drawn) {
    Value isDrawn =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, place, ends);
    Value after = arith::SubIOp::create(b, place, ends);
    found = b.choose(isDrawn, drawnBlock(after), found);
  }
  Value isWindow = b.isBelow(entry, b.index(3));
  return b.choose(isGlobal, entry, b.choose(isWindow, window, found));
}

/// A number that is no block is one without keys.
KeyList::Box SeenBlocks::boxAt(Value box) {
  Value number = blockAt(b.divIndex(box, boxesOfBlock));
  Value isBlock =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, number, last);
  Value block = b.choose(isBlock, number, b.index(0));
  Value first = b.mulIndex(block, size);
  Value end = b.atMost(b.addIndex(first, size), tokens);
  int64_t step = e.schedule.getStep();
  Value key = b.sum(first, b.mulIndex(b.remIndex(box, boxesOfBlock), step));
  if (areWhole) {
    return {key, Value(), isBlock};
  }
  return {key, b.choose(isBlock, end, b.index(0))};
}

KeyList SeenBlocks::list() {
  Value few = b.addIndex(ends, 3 + drawn);
  Value count = b.choose(isGlobal, b.index(blocks), few);
  return {b.mulIndex(count, boxesOfBlock),
          [this](Value box) { return boxAt(box); }, areWhole};
}

} // namespace hova
