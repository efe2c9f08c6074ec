//===- AttentionBlocks.cpp - The blocks of keys that queries see ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Queries of a block see a few blocks of keys (`hova.attention` with a block).
// Their numbers are listed in scratch when a block of rows begins, and its
// scores are those of the listed keys, one after the other. Blocks of which no
// row keeps a key are not listed (VisitedKeys).
//
//   packed keys    block 0 | block 1 | block 2 | ..       panels, in order
//   scores         block 7 | block 0 | block 6 | ..       as they are listed

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/AttentionEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace hova {

/// The number that the table has for an entry after the fixed ones; any where
/// there is none.
Value AttentionEmitter::drawnBlock(Value own, Value entry) {
  const BlockLayout &blocks = layout.blocks;
  auto clamp = [&](Value index, int64_t shift, int64_t size) {
    Value least = make<arith::MaxUIOp>(index, e.index(shift));
    return make<arith::MinUIOp>(e.add(least, -shift), e.index(size - 1));
  };
  Value row =
      e.add(e.mul(head, blocks.count - 2), clamp(own, 1, blocks.count - 2));
  Value number = e.loadScalar(e.buffer(op.getRandomBlocks()), row,
                              clamp(entry, BlockLayout::kFixed, blocks.random));
  return make<arith::IndexCastOp>(b.getIndexType(), number);
}

/// All blocks for those that see all; for others 0, the window's three, the
/// last, and those of the table. `isSeen` becomes whether there is one.
Value AttentionEmitter::seenBlock(Value own, Value entry, Value seesAll,
                                  Value &isSeen) {
  using arith::CmpIPredicate;
  auto compare = [&](CmpIPredicate predicate, Value a, int64_t number) {
    return make<arith::CmpIOp>(predicate, a, e.index(number));
  };
  auto is = [&](Value a, int64_t number) -> Value {
    return compare(CmpIPredicate::eq, a, number);
  };
  auto select = [&](Value condition, Value a, Value c) -> Value {
    return make<arith::SelectOp>(condition, a, c);
  };
  const BlockLayout &blocks = layout.blocks;
  int64_t last = blocks.count - 1;
  Value neighbour = e.add(e.add(own, entry), -2);
  Value other = blocks.random ? drawnBlock(own, entry) : e.index(last);
  other = select(is(entry, 4), e.index(last), other);
  other = select(compare(CmpIPredicate::ult, entry, 4), neighbour, other);
  other = select(is(entry, 0), e.index(0), other);
  Value seen = select(seesAll, entry, other);
  // A number below 0 is a large one.
  isSeen = compare(CmpIPredicate::ult, seen, blocks.count);
  // Block 1 has block 0 as its neighbour, which is there already; so has the
  // last but one the last. Neither is one that sees all blocks.
  auto restrict = [&](int64_t block, int64_t twice) {
    Value isOther =
        make<arith::OrIOp>(compare(CmpIPredicate::ne, own, block),
                           compare(CmpIPredicate::ne, entry, twice));
    isSeen = make<arith::AndIOp>(isSeen, isOther);
  };
  restrict(1, 1);
  restrict(last - 1, 3);
  return seen;
}

AttentionEmitter::Panels AttentionEmitter::listBlocks(Value row,
                                                      int64_t height) {
  const BlockLayout &blocks = layout.blocks;
  std::optional<PanelBounds> bounds;
  if (layout.skipsPanels) {
    bounds = emitPanelBounds(e, visited, row, height);
  }
  Value own = e.div(row, blocks.size), zero = e.index(0);
  Value seesAll = make<arith::OrIOp>(
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, own, zero),
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, own,
                          e.index(blocks.count - 1)));
  Value entries =
      make<arith::SelectOp>(seesAll, e.index(blocks.count),
                            e.index(BlockLayout::kFixed + blocks.random));
  auto list = [&](Value entry, ValueRange count) -> SmallVector<Value> {
    Value isSeen, seen = seenBlock(own, entry, seesAll, isSeen);
    Value isInside =
        bounds ? isVisited(e, *bounds, seen, blocks.count) : Value();
    if (isInside) {
      isSeen = make<arith::AndIOp>(isSeen, isInside);
    }
    // The next one takes the place of one that does not count.
    Value place[] = {zero, count[0]};
    make<memref::StoreOp>(make<arith::IndexCastOp>(b.getI32Type(), seen),
                          listed, ValueRange(place));
    return {make<arith::SelectOp>(isSeen, e.add(count[0], 1), count[0])};
  };
  Value count = e.forLoop("seen_block", zero, entries, 1, zero, list)[0];
  Value end = e.mul(count, blocks.panels);
  return {zero, end, end, end};
}

Value AttentionEmitter::listedBlock(Value entry) {
  Value number = e.loadScalar(listed, e.index(0), entry);
  return make<arith::IndexCastOp>(b.getIndexType(), number);
}

Value AttentionEmitter::endOf(const KeyPanel &panel) {
  const BlockLayout &blocks = layout.blocks;
  Value next = e.add(e.div(panel.index, blocks.panels), 1);
  return make<arith::MinUIOp>(e.mul(next, blocks.size), e.index(layout.keys));
}

/// Sums of the values of all listed blocks in scratch, from column `column` on.
Value AttentionEmitter::sumOfBlocks(VectorType type, Value count, Value column,
                                    IntegerAttr columns) {
  const BlockLayout &blocks = layout.blocks;
  Value zero = e.index(0), value = e.buffer(op.getValue());
  make<TileStoreOp>(e.splat(0, type), pooled, zero, zero, columns);
  e.forLoop("seen_block", zero, count, 1, [&](Value entry) {
    Value key = e.mul(listedBlock(entry), blocks.size);
    Value first = e.mul(entry, blocks.lanes), depth = e.index(blocks.size);
    if (layout.keys % blocks.size) {
      Value rest = make<arith::SubIOp>(e.index(layout.keys), key);
      depth = make<arith::MinUIOp>(depth, rest);
    }
    Value sum;
    if (layout.pairs) {
      // Of an odd number the last is beside a zero.
      sum = make<TileProductOp>(type, exponentials, zero, first, values,
                                ValueRange{e.div(key, 2), column},
                                e.mul(e.div(e.add(depth, 1), 2), 2), columns);
    } else {
      sum = make<TileProductOp>(
          type, scores, zero, first, value,
          ValueRange{e.add(keyRow, key), e.add(valueColumn, column)}, depth,
          columns);
    }
    // Sums of sums: of many blocks the rounding of one chain would add up.
    Value before = make<TileLoadOp>(type, pooled, zero, zero, columns);
    sum = make<arith::AddFOp>(before, sum);
    make<TileStoreOp>(sum, pooled, zero, zero, columns);
  });
  return make<TileLoadOp>(type, pooled, zero, zero, columns);
}

} // namespace hova
