//===- SeenBlocks.cpp - The blocks of keys that queries see ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/SeenBlocks.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

SeenBlocks::SeenBlocks(GroupEmitter &e, AttentionOp op, Expr queryBlock)
    : e(e), b(e.b), op(op), tokens(shapeOf(op.getQuery())[1]),
      size(*op.getBlock()), blocks(op.getBlocks()), last(blocks - 1),
      drawn(op.getRandomCount()),
      boxesOfBlock(llvm::divideCeil(size, e.schedule.getStep())),
      areWhole(size % e.schedule.getStep() == 0 && tokens % size == 0),
      queryBlock(queryBlock),
      isGlobal((queryBlock == 0) | (queryBlock == last)),
      ends(select((queryBlock == 1) | (queryBlock == last - 1), 1, 2)) {}

/// Of the row of the table that belongs to the block of queries.
Expr SeenBlocks::drawnBlock(Expr place) {
  Expr row = e.block(1) * (blocks - 2) + select(isGlobal, 0, queryBlock - 1);
  return toIndex(b.compute<memref::LoadOp>(
      e.matrix(op.getRandomBlocks()), ValueRange{row, min(place, drawn - 1)}));
}

Expr SeenBlocks::blockAt(Expr entry) {
  Expr window = queryBlock + entry - 1, place = entry - 3;
  Expr found = select(place == 0, select(queryBlock == 1, last, 0), last);
  if (drawn) {
    found = select(place >= ends, drawnBlock(place - ends), found);
  }
  return select(isGlobal, entry, select(entry < 3, window, found));
}

/// A number that is no block is one without keys.
KeyList::Box SeenBlocks::boxAt(Expr box) {
  box = box.in(b);
  Expr block = blockAt(box / boxesOfBlock), isBlock = block <= last;
  Expr first = select(isBlock, block, 0) * size;
  Expr key = first + box % boxesOfBlock * e.schedule.getStep();
  if (areWhole) {
    return {key, {}, isBlock};
  }
  return {key, select(isBlock, min(first + size, tokens), 0)};
}

KeyList SeenBlocks::list() {
  Expr count = select(isGlobal, blocks, ends + (3 + drawn));
  return {count * boxesOfBlock, [this](Expr box) { return boxAt(box); },
          areWhole};
}

} // namespace hova
