//===- AttentionRecipe.cpp - Loops of attention ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Units are batch entries and heads, and blocks of queries where these are few.
// Per head the keys are packed as panels [keys/panel][width][panel], so that
// scores are the same product as a linear layer's. Then per block of query
// rows: scores of all keys into scratch, maxima, exponentials and sums in
// place, values, division. A row of scores for a few thousand keys fits the
// caches, so nothing is rescaled while it grows; the q_len x kv_len scores
// never exist. Keys that are padding have a limit of -inf, which their scores
// meet in registers before they are stored.
//
//   pack K ; for rows: S = min(Q K^T, limits) ; S = 2^(c S - c max S) ;
//                      O = (S V) / sum S

#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/AttentionEmitter.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace hova {

AttentionEmitter::AttentionEmitter(KernelEmitter &emitter, AttentionOp op)
    : e(emitter), op(op), layout(op, e.schedule), form(layout.form),
      scratch{layout, Builder(op.getContext()), ScratchLayout(&e)},
      maxima(e.reinterpret(scratch.inverse, {1, layout.blockRows},
                           {layout.blockRows, 1})),
      visited(layout.visitedKeys()) {}

/// Keys and values in the layout that the products read, unless the unit before
/// has packed them in this call: an earlier block of the head's queries, or a
/// head of the same group.
void AttentionEmitter::pack(Expr unit, Expr block) {
  bool limitsDiffer =
      scratch.limits && llvm::any_of(form.conditions, [&](Value condition) {
        return form.isAboutKeys(condition) &&
               (form.sourcesOf(condition) & ScoreForm::head);
      });
  Expr isFirst = unit == e.begin, isNewHead, isNewKeys;
  if (layout.queryBlocks > 1) {
    isNewHead = isNewKeys = block == 0;
  }
  if (layout.group > 1) {
    isNewKeys = isNewHead & (head % layout.group == 0);
  }
  e.ifThen(isFirst | isNewKeys, [&] {
    packKeys();
    if (scratch.values) {
      packValues();
    }
    if (layout.hidesKeys) {
      findUnsoundValues();
    }
    if (scratch.limits && !limitsDiffer) {
      writeLimits();
    }
  });
  if (limitsDiffer) {
    e.ifThen(isFirst | isNewHead, [&] { writeLimits(); });
  }
}

void AttentionEmitter::emit() {
  const BlockLayout &blocks = layout.blocks;
  SmallVector<int64_t> heights;
  if (!layout.hasRanges) {
    heights = heightsOf(layout.rowBlocks());
  }
  auto beginOf = [&](Expr block) {
    return blocks.size ? min(block * blocks.size, layout.queries)
                       : block * queries / layout.queryBlocks;
  };
  e.forLoop("head", e.begin, e.end, 1, [&](Expr unit) {
    Expr block = unit % layout.queryBlocks, pair = unit / layout.queryBlocks;
    batch = pair / layout.heads;
    head = pair % layout.heads;
    scoreLanes.emplace(e, form, op.getCaptured(), layout.extents());
    scoreLanes->setIndex(form.region.getBatch(), batch);
    scoreLanes->setIndex(form.region.getHead(), head);
    if (layout.hasRanges) {
      scoreLanes->setItem(batch);
    }
    scoreLanes->hoist(ScoreForm::batch | ScoreForm::head);
    next = min(unit + 1, e.end - 1);
    RowsOf queryRows = e.rowsOfItem(batch, layout.queries, op.getQuery());
    RowsOf keyRows = e.rowsOfItem(batch, layout.keys, op.getKey());
    queryRow = queryRows.first;
    keyRow = keyRows.first;
    queries = queryRows.count;
    keys = keyRows.count;
    columns = layout.slots ? keys + layout.slots : keys;
    if (layout.hasRanges && layout.slots) {
      scoreLanes->setSlotShift(layout.keys - keys);
    }
    Expr keyHead = head / layout.group;
    queryColumn = head * layout.keyWidth;
    keyColumn = keyHead * layout.keyWidth;
    valueColumn = keyHead * layout.valueWidth;
    resultColumn = head * layout.valueWidth;
    pack(unit, block);
    auto emitRows = [&](const RowBlock &rows) {
      row = rows.row;
      height = rows.height;
      emitBlock();
    };
    Expr from = beginOf(block), to = beginOf(block + 1);
    if (layout.hasRanges) {
      forEachOverlappingBlock(e, "queries", from, to, layout.blockRows,
                              emitRows);
    } else {
      forEachRowBlock(e, "queries", from, to, heights, emitRows);
    }
  });
}

void AttentionEmitter::emitBlock() {
  panels = visitedPanels();
  if (layout.unitHeight) {
    emitUnitScores();
  } else if (op.getSimilarity().isProduct()) {
    emitScores();
  } else {
    emitSumsOfTerms();
  }
  if (!layout.valueWidth) {
    return emitScoresAlone();
  }
  if (op.hasSoftmax()) {
    emitSoftmax();
  } else {
    emitWeights();
  }
  if (layout.unitHeight) {
    emitUnitValues();
  } else {
    emitValues();
  }
  if (layout.hidesKeys) {
    e.ifThen(e.load(scratch.unsound, 0, 0) != 0, [&] { emitSeenValues(); });
  }
}

void AttentionEmitter::prefetchNext(Expr query) {
  Expr current = queryRow + query,
       last = e.countRows(op.getQuery(), layout.batch * layout.queries) - 1;
  e.prefetchLarge(op.getResult(), current, resultColumn, layout.valueWidth);
  e.prefetchLarge(op.getQuery(), min(current + height, last), queryColumn,
                  layout.keyWidth);
  if (layout.queryBlocks > 1) {
    return; // it is mostly the same head
  }
  Expr nextBatch = next / layout.heads, nextHead = next % layout.heads;
  auto prefetch = [&](Value operand, Expr firstRow, int64_t tokens,
                      int64_t width) {
    // As many rows as it takes to have prefetched all with the last query.
    int64_t share = llvm::divideCeil(tokens, layout.queries);
    Expr column = firstRow * width;
    RowsOf rows = e.rowsOfItem(nextBatch, tokens, operand);
    e.forLoop("rows", share, [&](Expr i) {
      Expr place = rows.first + min(query * share + i, rows.count - 1);
      e.prefetchRow(e.buffer(operand), place, column, width);
    });
  };
  Expr keyHead = nextHead / layout.group;
  prefetch(op.getQuery(), nextHead, layout.queries, layout.keyWidth);
  prefetch(op.getKey(), keyHead, layout.keys, layout.keyWidth);
  prefetch(op.getValue(), keyHead, layout.keys, layout.valueWidth);
}

void AttentionEmitter::emitScores() {
  MatrixPlace queries{e.buffer(op.getQuery()), {queryRow + row, queryColumn}};
  forEachPanel([&](const KeyPanel &panel) {
    TilePlace place{0, height, panel.scores()};
    Expr tile = e.multiply(place, queries, packedKeys(panel), layout.keyWidth);
    e.store(limitedEarly(tile, panel), scratch.scores, place);
  });
}

/// score = sum over c of term(q[c], k[c], w[c]), keys in lanes.
void AttentionEmitter::emitSumsOfTerms() {
  SimilarityAttrInterface similarity = op.getSimilarity();
  Value query = e.buffer(op.getQuery()), weights;
  if (similarity.hasVector()) {
    weights = e.buffer(op.getScoreVector());
  }
  e.forLoop("queries", height, [&](Expr i) {
    Expr position = queryRow + row + i;
    forEachPanel([&](const KeyPanel &panel) {
      VectorType type = e.vectorType(panel.lanes);
      auto all = [&](Value matrix, Expr matrixRow, Expr c) -> Value {
        return e.load(matrix, matrixRow, queryColumn + c).broadcast(type);
      };
      auto addTerm = [&](Expr c, Expr sum) -> Expr {
        Value key = e.load(packedKeys(panel, c), panel.lanes);
        Value one = all(query, position, c);
        Value weight = weights ? all(weights, 0, c) : Value();
        return similarity.addTerm(e.builder, one, key, weight, sum);
      };
      Expr sum = e.fold("channels", 0, layout.keyWidth, 1,
                        e.splat(0, panel.lanes), addTerm);
      e.store(limitedEarly(sum, panel), scratch.scores, i, panel.scores());
    });
  });
}

Expr AttentionEmitter::multiplyValues(const TilePlace &rows, Expr first,
                                      Expr key, Expr depth, Expr init) {
  if (layout.pairs) {
    // Two keys are one row of the values.
    return e.multiply(rows, {scratch.exponentials, {rows.row, first}},
                      {scratch.values, {key / 2, rows.column}}, depth, init);
  }
  return e.multiply(
      rows, {scratch.scores, {rows.row, first}},
      {e.buffer(op.getValue()), {keyRow + key, valueColumn + rows.column}},
      depth, init);
}

Expr AttentionEmitter::sumOfRuns(ArrayRef<KeyRun> runs, const TilePlace &rows) {
  Expr sum;
  for (const KeyRun &run : runs) {
    Expr first = run.panel * layout.panel;
    sum = multiplyValues(rows, first, first, run.keys, sum);
  }
  if (layout.slots && !layout.pairs) {
    sum = e.multiply(
        rows, {scratch.scores, {rows.row, keys}},
        {e.buffer(op.getMemoryValue()), {0, valueColumn + rows.column}},
        layout.slots, sum);
  }
  return sum;
}

/// Sums of sums: of many blocks the rounding of one chain would add up.
Expr AttentionEmitter::sumOfBlocks(const Chunk &at) {
  const BlockLayout &blocks = layout.blocks;
  TilePlace all{0, height, {0, at.lanes, at.valid}};
  e.store(0, scratch.pooled, all);
  e.forLoop("seen_block", e(panels.end) / blocks.panels, [&](Expr entry) {
    Expr key = listedBlock(entry) * blocks.size, depth = blocks.size;
    if (layout.keys % blocks.size) {
      depth = min(layout.keys - key, depth);
    }
    // Of an odd number the last is beside a zero.
    depth = layout.pairs ? (depth + 1) / 2 * 2 : depth;
    Expr sum =
        multiplyValues({0, height, at}, entry * blocks.lanes, key, depth);
    e.store(e.load(scratch.pooled, all) + sum, scratch.pooled, all);
  });
  return e.load(scratch.pooled, all);
}

void AttentionEmitter::emitValues() {
  SmallVector<KeyRun, 2> runs;
  if (!layout.blocks.size) {
    // Exponentials after the last key are not read, but for the second of a
    // pair: it meets a zero.
    runs = visitedRuns(layout.pairs ? (columns + 1) / 2 * 2 : keys);
  }
  forEachTileColumn(e, layout.valueWidth, [&](const Chunk &at) {
    Expr sum =
        layout.blocks.size ? sumOfBlocks(at) : sumOfRuns(runs, {0, height, at});
    e.store(sum * e.load(scratch.inverse, {0, 0, height}),
            e.buffer(op.getResult()),
            {queryRow + row, height, at + resultColumn});
  });
}

static int64_t scratchBytes(AttentionOp op, const CpuSchedule &schedule) {
  AttentionLayout layout(op, schedule);
  return AttentionScratch{layout, Builder(op.getContext()), ScratchLayout()}
      .layout.getBytes();
}

static void emit(KernelEmitter &e, AttentionOp op) {
  AttentionEmitter(e, op).emit();
}

namespace {
/// Whether all that the region reads of a captured tensor is the element for
/// the batch entry, head, query and key, and that is added to what is carried:
/// -inf in it is -inf in that.
bool isAddedToCarried(ScoreRegion region, BlockArgument captured) {
  Value carried = region.getYield().getCarried();
  auto sum = carried ? carried.getDefiningOp<arith::AddFOp>() : nullptr;
  Value known[] = {region.getBatch(), region.getHead(), region.getQuery(),
                   region.getKey()};
  ArrayRef<int64_t> shape = shapeOf(captured);
  // The only place of an axis is a constant.
  auto isIndexOf = [&](unsigned axis, Value index) {
    return index == known[axis] ||
           (shape[axis] == 1 && matchPattern(index, m_Zero()));
  };
  return sum && shape.size() == std::size(known) &&
         llvm::all_of(captured.getUsers(), [&](Operation *user) {
           auto indices = cast<ElementOp>(user).getIndices();
           return llvm::all_of(llvm::enumerate(indices),
                               [&](auto index) {
                                 return isIndexOf(index.index(), index.value());
                               }) &&
                  llvm::is_contained(sum->getOperands(), user->getResult(0));
         });
}

struct AttentionRecipe
    : StoringCpuRecipe<AttentionRecipe, AttentionOp, emit, scratchBytes> {
  /// Scores take the memory of those that they add to. Empty rows are found by
  /// the biases of -inf, which are scores of -inf then.
  std::optional<unsigned> getOverwritable(Operation *op, unsigned index) const {
    auto attention = cast<AttentionOp>(op);
    Value scores = attention.getScores();
    if (!scores || op->getResult(index) != scores) {
      return std::nullopt;
    }
    unsigned first = op->getNumOperands() - attention.getCaptured().size();
    for (auto [number, captured] :
         llvm::enumerate(attention.scoreRegion().getCaptured())) {
      if (captured.getType() == scores.getType() &&
          isAddedToCarried(attention.scoreRegion(), captured)) {
        return first + number;
      }
    }
    return std::nullopt;
  }
  /// Both products take them. Other similarities are none.
  bool canMultiplyPairs(Operation *op) const {
    auto attention = cast<AttentionOp>(op);
    Value read[] = {attention.getQuery(), attention.getKey(),
                    attention.getValue(), attention.getMemoryKey(),
                    attention.getMemoryValue()};
    // A pair of values is of one block.
    bool arePairs = attention.getBlock().value_or(2) % 2 == 0;
    return attention.getSimilarity().isProduct() && arePairs &&
           llvm::all_of(read, [](Value operand) {
             return !operand || getElementTypeOrSelf(operand).isBF16();
           });
  }
  std::optional<Verdict> judgeUnit(Operation *op) const {
    return canMultiplyPairs(op)
               ? std::optional(hova::judgeUnit(cast<AttentionOp>(op)))
               : std::nullopt;
  }
  /// Panels that no query of a block sees are not multiplied.
  int64_t getExecutedMacs(Operation *op, const CpuSchedule &schedule) const {
    AttentionLayout layout(cast<AttentionOp>(op), schedule);
    return layout.batch * layout.heads *
           llvm::sum_of(layout.countPairs(), int64_t(0)) *
           (layout.keyWidth + layout.valueWidth);
  }
  std::optional<ScoreTileCounts>
  countScoreTiles(Operation *op, const CpuSchedule &schedule) const {
    AttentionLayout layout(cast<AttentionOp>(op), schedule);
    if (!layout.skipsPanels || layout.blocks.size || layout.hasRanges) {
      return std::nullopt;
    }
    return layout.visitedKeys().countTiles(
        heightsOf(layout.rowBlocks()).back());
  }
  /// What a query costs besides its keys is little: as much as a panel.
  SmallVector<int64_t> getUnitCosts(Operation *op,
                                    const CpuSchedule &schedule) const {
    AttentionLayout layout(cast<AttentionOp>(op), schedule);
    int64_t shares = layout.queryBlocks;
    bool areAlike = !layout.skipsPanels && !layout.blocks.size;
    if (areAlike || layout.hasRanges || shares == 1) {
      return {};
    }
    SmallVector<int64_t> costs = layout.countPairs();
    for (auto [share, cost] : llvm::enumerate(costs)) {
      int64_t first = share * layout.queries / shares;
      int64_t rows = layout.blocks.size
                         ? layout.blocks.lengthOf(share)
                         : (share + 1) * layout.queries / shares - first;
      cost += rows * layout.panel;
    }
    return costs;
  }
};
} // namespace

void attachAttentionRecipe(MLIRContext &context) {
  AttentionOp::attachInterface<AttentionRecipe>(context);
}

} // namespace hova
