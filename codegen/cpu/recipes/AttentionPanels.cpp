//===- AttentionPanels.cpp - The keys that a block of rows visits ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys are visited in panels. Those of which no row of a block keeps a key are
// left out (VisitedKeys): before the first, after the last, and in the longest
// gap between.
//
// Queries of a block see a few blocks of keys where the attention has a
// `block`. Their numbers are listed in scratch when a block of rows begins, and
// its scores are those of the listed keys, one after the other:
//
//   packed keys    block 0 | block 1 | block 2 | ..       panels, in order
//   scores         block 7 | block 0 | block 6 | ..       as they are listed

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/recipes/AttentionEmitter.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Visited panels
//===----------------------------------------------------------------------===//

/// Steps that are not even are compared all at once.
static Value emitBound(KernelEmitter &e, Expr row,
                       const VisitedKeys::Steps &steps) {
  ImplicitLocOpBuilder &b = e.builder;
  if (steps.rows.size() <= CpuFacts::fewSteps || steps.evenDistance()) {
    return countSteps(b, b.getLoc(), row, steps);
  }
  SmallVector<int32_t> numbers(steps.rows.begin(), steps.rows.end());
  Expr table = e.compute<arith::ConstantOp>(b.getI32VectorAttr(numbers));
  Expr isTaken = table <= toInteger(row, b.getI32Type());
  return toIndex(reduceVector(
             vector::CombiningKind::ADD,
             e.compute<arith::ExtUIOp>(table.getType(), isTaken))) +
         steps.first;
}

AttentionEmitter::Panels AttentionEmitter::boundsOfPanels() {
  ImplicitLocOpBuilder &b = e.builder;
  return emitVisitedTiles(b, b.getLoc(), visited, /*hasWhole=*/true,
                          [&](int64_t VisitedKeys::Range::*bound) {
                            return emitBound(e, row,
                                             visited.stepsOf(height, bound));
                          });
}

/// Whether `panel` of `panels` is inside of bounds; null where all are.
Expr AttentionEmitter::isVisited(const Panels &bounds, Expr panel,
                                 int64_t panels) {
  auto isInside = [&](Expr turn) {
    bool isFirst = getConstantIntValue(bounds.begin) == 0;
    bool isLast = getConstantIntValue(bounds.end) == panels;
    return (isLast ? Expr() : turn < bounds.end) &
           (isFirst ? Expr() : turn >= bounds.begin);
  };
  if (!bounds.gapLength) {
    return isInside(panel);
  }
  // One turn of the loop has this panel, or the one that would is in the gap.
  Expr gap = e(bounds.gapBegin), isBefore = panel < gap;
  return isInside(select(isBefore, panel, panel - bounds.gapLength)) &
         (isBefore | (panel >= gap + bounds.gapLength));
}

AttentionEmitter::Panels AttentionEmitter::visitedPanels() {
  if (layout.blocks.size) {
    return listBlocks();
  }
  Value end = e.index(layout.panels);
  Panels all =
      layout.skipsPanels ? boundsOfPanels() : Panels{e.index(0), end, end, end};
  return layout.hasRanges ? clipToItem(all) : all;
}

AttentionEmitter::Panels AttentionEmitter::clipToItem(Panels bounds) {
  Expr end = min(e(bounds.end), (columns + (layout.panel - 1)) / layout.panel);
  if (bounds.wholeBegin) {
    // Bounds of whole panels do not cross for it.
    Expr wholeBegin = min(e(bounds.wholeBegin), end);
    Expr wholeEnd = min(e(bounds.wholeEnd), keys / layout.panel);
    bounds.wholeBegin = wholeBegin;
    bounds.wholeEnd = max(wholeEnd, wholeBegin);
  }
  bounds.end = end;
  return bounds;
}

SmallVector<KeyRun, 2> AttentionEmitter::visitedRuns(Expr all) {
  if (!layout.skipsPanels) {
    return {{0, all}};
  }
  auto runOf = [&](Expr begin, Expr end, bool isLast) -> KeyRun {
    Expr last = end * layout.panel;
    return {begin, (isLast ? min(last, all) : last) - begin * layout.panel};
  };
  Expr begin = e(panels.begin), end = e(panels.end);
  if (!panels.gapLength) {
    return {runOf(begin, end, true)};
  }
  Expr gapBegin = e(panels.gapBegin);
  return {runOf(begin, gapBegin, false),
          runOf(gapBegin + panels.gapLength, end + panels.gapLength, true)};
}

//===----------------------------------------------------------------------===//
// Blocks of keys
//===----------------------------------------------------------------------===//

/// The number that the table has for an entry after the fixed ones; any where
/// there is none.
Expr AttentionEmitter::drawnBlock(Expr block, Expr entry) {
  const BlockLayout &blocks = layout.blocks;
  auto clamp = [&](Expr index, int64_t shift, int64_t size) {
    return min(max(index, shift) - shift, size - 1);
  };
  Expr tableRow = head * (blocks.count - 2) + clamp(block, 1, blocks.count - 2);
  return toIndex(e.load(e.buffer(op.getRandomBlocks()), tableRow,
                        clamp(entry, BlockLayout::kFixed, blocks.random)));
}

/// All blocks for those that see all; for others 0, the window's three, the
/// last, and those of the table. `isSeen` becomes whether there is one.
Expr AttentionEmitter::seenBlock(Expr block, Expr entry, Expr seesAll,
                                 Expr &isSeen) {
  int64_t count = layout.blocks.count, last = count - 1;
  Expr other = layout.blocks.random ? drawnBlock(block, entry) : Expr(last);
  other = select(entry == 4, last, other);
  other = select(entry < 4, block + entry - 2, other);
  other = select(entry == 0, 0, other);
  Expr seen = select(seesAll, entry, other);
  // A number below 0 is a large one. Block 1 has block 0 as its neighbour,
  // which is there already; so has the last but one the last. Neither is one
  // that sees all blocks.
  isSeen = (seen < count) & ((block != 1) | (entry != 1)) &
           ((block != last - 1) | (entry != 3));
  return seen;
}

AttentionEmitter::Panels AttentionEmitter::listBlocks() {
  const BlockLayout &blocks = layout.blocks;
  std::optional<Panels> bounds;
  if (layout.skipsPanels) {
    bounds = boundsOfPanels();
  }
  Expr block = row / blocks.size;
  Expr seesAll = (block == 0) | (block == blocks.count - 1);
  Expr entries =
      select(seesAll, blocks.count, BlockLayout::kFixed + blocks.random);
  auto list = [&](Expr entry, Expr count) {
    Expr isSeen, seen = seenBlock(block, entry, seesAll, isSeen);
    if (bounds) {
      isSeen = isSeen & isVisited(*bounds, seen, blocks.count);
    }
    // The next one takes the place of one that does not count.
    e.store(toInteger(seen, e.builder.getI32Type()), scratch.listed, 0, count);
    return select(isSeen, count + 1, count);
  };
  Expr count = e.fold("seen_block", 0, entries, 1, 0, list);
  Value end = count * blocks.panels;
  return {e.index(0), end, end, end};
}

Expr AttentionEmitter::listedBlock(Expr entry) {
  return toIndex(e.load(scratch.listed, 0, entry));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

KeyPanel AttentionEmitter::panelAt(Expr index) {
  const BlockLayout &blocks = layout.blocks;
  Expr lane = index * layout.panel, key = lane;
  if (blocks.size != blocks.lanes) {
    key = index / blocks.panels * blocks.size +
          index % blocks.panels * layout.panel;
  }
  return {index, lane, lane, key, layout.panel};
}

KeyPanel AttentionEmitter::tailPanel() {
  int64_t from = layout.panels * layout.panel;
  return {{}, from, from, from, layout.tailLanes, layout.columns - from};
}

KeyPanel AttentionEmitter::visitedPanel(Expr turn, bool isWhole) {
  const BlockLayout &blocks = layout.blocks;
  ImplicitLocOpBuilder &b = e.builder;
  KeyPanel panel;
  if (!blocks.size) {
    panel = panelAt(e(panels.tileAt(b, b.getLoc(), turn, isWhole)));
    panel.isWhole = isWhole;
    return panel;
  }
  Expr block = listedBlock(turn / blocks.panels), part = turn % blocks.panels;
  panel = panelAt(block * blocks.panels + part);
  panel.column = turn * layout.panel;
  panel.key = block * blocks.size + part * layout.panel;
  return panel;
}

MatrixPlace AttentionEmitter::packedKeys(const KeyPanel &panel, Expr channel,
                                         Expr lane) {
  return panel.index ? MatrixPlace{scratch.packed, {panel.index, channel, lane}}
                     : MatrixPlace{scratch.packedTail, {channel, lane}};
}

void AttentionEmitter::forEachPanel(
    llvm::function_ref<void(const KeyPanel &)> body) {
  if (layout.panels) {
    e.forLoop("keys", panels.begin, panels.end, 1,
              [&](Expr turn) { body(visitedPanel(turn)); });
  }
  if (layout.tailLanes) {
    body(tailPanel());
  }
}

Expr AttentionEmitter::reducePanels(
    Loops loops, Expr start, Kind kind,
    llvm::function_ref<Expr(const KeyPanel &, Expr)> body) {
  Expr all;
  auto loop = [&](Value begin, Value end, bool isWhole) {
    all = e.fold("keys", begin, end, 1, all ? all : start,
                 [&](Expr turn, Expr before) {
                   return body(visitedPanel(turn, isWhole), before);
                 });
  };
  bool isListed = layout.blocks.size > 0;
  if (layout.skipsPanels && !isListed && loops == Loops::ofWholePanels &&
      visited.haveWhole()) {
    loop(panels.begin, panels.wholeBegin, false);
    loop(panels.wholeBegin, panels.wholeEnd, true);
    loop(panels.wholeEnd, panels.end, false);
  } else if (isListed ||
             (layout.panels && (layout.skipsPanels || layout.hasRanges ||
                                layout.panels > CpuFacts::unrolledPanels))) {
    loop(panels.begin, panels.end, false);
  } else {
    for (int64_t i = 0; i < layout.panels; ++i) {
      all = body(panelAt(i), all);
    }
  }
  if (layout.tailLanes) {
    auto lanesOf = [](const Expr &vector) {
      return cast<VectorType>(vector.getType()).getNumElements();
    };
    Expr tail = body(tailPanel(), {});
    int64_t lanes = lanesOf(tail);
    for (int64_t from = 0; all && from < lanesOf(all); from += lanes) {
      tail = combine(kind, tail,
                     e.compute<vector::ExtractStridedSliceOp>(
                         all, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{lanes},
                         ArrayRef<int64_t>{1}));
    }
    all = tail;
  }
  return reduceVector(kind, all);
}

} // namespace hova
