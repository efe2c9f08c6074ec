//===- AttentionUnit.cpp - Products of attention by a matrix unit ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Packed keys and packed values are right operands of the unit as they are. A
// block of rows has two tiles of queries, so that the scores of a panel of 32
// keys, and 32 columns of the result, are one block product each; the softmax
// between them is that of vectors. Keys come in steps of 32: lanes after the
// last have the weight 0, and the values there are zeros, since 0 times a NaN
// would be one. What is left of widths that are no multiple of 32 is multiplied
// in vectors, row by row.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/AttentionEmitter.h"

using namespace mlir;

namespace hova {

static constexpr int64_t kColumns = MatrixUnit::blockColumns;
static constexpr int64_t kDepth = MatrixUnit::depth;

void AttentionEmitter::multiplyBlock(const MatrixPlace &sums,
                                     const MatrixPlace &left,
                                     const MatrixPlace &right, Expr depth,
                                     bool isAdded) {
  e.make<BlockProductOp>(sums.matrix, e.valuesOf(sums.position), left.matrix,
                         e.valuesOf(left.position), right.matrix,
                         e.valuesOf(right.position), e.index(unitRows()),
                         e.index(layout.unitHeight), depth, kColumns, isAdded);
}

/// The queries of the block. Where there are fewer than a tile has rows, they
/// are copied to where as many may be read.
MatrixPlace AttentionEmitter::unitQueries() {
  Value matrix = e.buffer(op.getQuery());
  if (height >= layout.unitHeight) {
    return {matrix, {queryRow + row, queryColumn}};
  }
  e.forLoop("queries", height, [&](Expr i) {
    e.forEachChunk(layout.keyWidth, kDepth, [&](const Chunk &at) {
      Expr query = e.loadAsStored(matrix, queryRow + row + i, at + queryColumn);
      e.store(query, scratch.queries, i, at);
    });
  });
  return {scratch.queries, {0, 0}};
}

void AttentionEmitter::emitUnitScores() {
  MatrixPlace queries = unitQueries();
  int64_t whole = layout.keyWidth / kDepth * kDepth;
  bool hasRest = whole < layout.keyWidth;
  forEachPanel([&](const KeyPanel &panel) {
    MatrixPlace sums{scratch.scores, {0, panel.column}};
    multiplyBlock(sums, queries, packedKeys(panel), whole);
    if (!hasRest && !(scratch.limits && !scalesEarly())) {
      return;
    }
    e.forLoop("queries", height, [&](Expr i) {
      TilePlace place(i, 1, panel.scores());
      Expr tile = e.load(scratch.scores, place);
      if (hasRest) {
        MatrixPlace query = queries;
        query.position[0] = query.position[0] + i;
        query.position[1] = query.position[1] + whole;
        tile = e.multiply(place, query, packedKeys(panel, whole / 2),
                          layout.keyWidth - whole, tile);
      }
      e.store(limitedEarly(tile, panel), scratch.scores, place);
    });
  });
}

/// Rows of `sums` divided, to the result.
void AttentionEmitter::storeUnitValues(const Chunk &at,
                                       llvm::function_ref<Expr(Expr)> sumOf) {
  e.forLoop("queries", height, [&](Expr i) {
    e.store(sumOf(i) * e.load(scratch.inverse, {i, 0}),
            e.buffer(op.getResult()),
            {queryRow + row + i, 1, at + resultColumn});
  });
}

void AttentionEmitter::sumUnitBlocks(const Chunk &at) {
  const BlockLayout &blocks = layout.blocks;
  e.forLoop("rows", unitRows(), [&](Expr i) {
    e.store(e.splat(0, kColumns), scratch.unitSums, i, {0, kColumns});
  });
  e.forLoop("seen_block", e(panels.end) / blocks.panels, [&](Expr entry) {
    Expr key = listedBlock(entry) * blocks.size;
    multiplyBlock({scratch.unitSums, {0, 0}},
                  {scratch.exponentials, {0, entry * blocks.lanes}},
                  {scratch.values, {key / 2, at.column}}, blocks.size,
                  /*isAdded=*/true);
  });
}

void AttentionEmitter::emitUnitValues() {
  SmallVector<KeyRun, 2> runs;
  if (!layout.blocks.size) {
    runs = visitedRuns((columns + (kDepth - 1)) / kDepth * kDepth);
  }
  int64_t whole = layout.valueWidth / kColumns * kColumns;
  e.forEachChunk(whole, kColumns, [&](const Chunk &at) {
    if (layout.blocks.size) {
      sumUnitBlocks(at);
    }
    for (auto [number, run] : llvm::enumerate(runs)) {
      Expr first = run.panel * layout.panel;
      multiplyBlock({scratch.unitSums, {0, 0}},
                    {scratch.exponentials, {0, first}},
                    {scratch.values, {first / 2, at.column}}, run.keys,
                    /*isAdded=*/number > 0);
    }
    storeUnitValues(at, [&](Expr i) {
      return e.load(scratch.unitSums, TilePlace(i, 1, {0, at.lanes}));
    });
  });
  if (int64_t rest = layout.valueWidth - whole) {
    Chunk at{whole, kColumns, rest};
    storeUnitValues(at, [&](Expr i) { return sumOfRuns(runs, {i, 1, at}); });
  }
}

} // namespace hova
