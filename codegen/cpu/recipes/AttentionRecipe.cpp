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

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/AttentionEmitter.h"
#include "codegen/cpu/recipes/AttentionTokenLanes.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/DenseOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace hova {

namespace {
/// A buffer of the scratch of one thread.
struct ScratchPart {
  SmallVector<int64_t> shape;
  int64_t elementBytes;
  int64_t bytes() const {
    return llvm::alignTo(staticSize(shape) * elementBytes, 64);
  }
};

/// The parts in their order; those without elements do not exist.
struct AttentionScratch {
  explicit AttentionScratch(const AttentionLayout &l)
      : panels{{l.panels, l.packedRows, l.panel}, 4},
        tail{{l.packedRows, l.tailLanes}, 4},
        values{{l.valueRows, l.valueWidth}, 4},
        scores{{l.blockRows, l.scoreStride}, 4},
        exponentials{{l.blockRows, l.exponentialStride}, 2},
        limits{{1, l.limitLanes}, 4},
        // One more, which may be written and does not count.
        listed{{1, l.blocks.size ? l.blocks.most + 1 : 0}, 4},
        pooled{{l.blockRows, l.pooledColumns}, 4},
        inverse{{l.blockRows, 1}, 4} {}

  ScratchPart panels, tail, values, scores, exponentials, limits, listed,
      pooled, inverse;

  int64_t bytes() const {
    int64_t all = 0;
    for (const ScratchPart *part :
         {&panels, &tail, &values, &scores, &exponentials, &limits, &listed,
          &pooled, &inverse}) {
      all += part->bytes();
    }
    return all;
  }
};
} // namespace

AttentionEmitter::AttentionEmitter(KernelEmitter &emitter, AttentionOp op)
    : e(emitter), b(emitter.builder), loc(emitter.loc), op(op),
      form(op.scoreRegion()), layout(op, e.schedule, form),
      queryBlocks(blocksOf(*op->getParentOfType<KernelOp>().getUnits())),
      visited(layout.visitedKeys(form, queryBlocks, e.schedule.tileRows)) {
  AttentionScratch scratch(layout);
  int64_t offset = 0;
  auto take = [&](const ScratchPart &part, Type element) -> Value {
    if (!part.bytes()) {
      return {};
    }
    Value buffer = e.scratchView(offset, part.shape, element);
    offset += part.bytes();
    return buffer;
  };
  Type f32 = b.getF32Type(), word = layout.pairs ? b.getI32Type() : f32;
  packed = take(scratch.panels, word);
  packedTail = take(scratch.tail, word);
  values = take(scratch.values, word);
  scores = take(scratch.scores, f32);
  exponentials = take(scratch.exponentials, b.getBF16Type());
  limits = take(scratch.limits, f32);
  listed = take(scratch.listed, b.getI32Type());
  pooled = take(scratch.pooled, f32);
  maxima = e.scratchView(offset, {1, layout.blockRows}, f32);
  inverse = take(scratch.inverse, f32);
}

/// Keys and values in the layout that the products read, unless the unit before
/// has packed them in this call: an earlier block of the head's queries, or a
/// head of the same group.
void AttentionEmitter::pack(Value unit, Value block) {
  Value isNew;
  auto requireZero = [&](Value number) {
    Value isZero =
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, number, e.index(0));
    isNew = isNew ? make<arith::AndIOp>(isNew, isZero) : isZero;
  };
  if (queryBlocks > 1) {
    requireZero(block);
  }
  bool limitsDiffer =
      limits && llvm::any_of(form.conditions, [&](Value own) {
        return form.isAboutKeys(own) && (form.sourcesOf(own) & ScoreForm::head);
      });
  Value isNewHead = isNew;
  if (layout.group > 1) {
    requireZero(e.rem(head, layout.group));
  }
  auto whenNew = [&](Value condition, llvm::function_ref<void()> body) {
    if (!condition) {
      return body();
    }
    Value isFirst =
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, unit, e.begin);
    e.ifThen(make<arith::OrIOp>(isFirst, condition), body);
  };
  whenNew(isNew, [&] {
    packKeys();
    if (values) {
      packValues();
    }
    if (limits && !limitsDiffer) {
      writeLimits();
    }
  });
  if (limitsDiffer) {
    whenNew(isNewHead, [&] { writeLimits(); });
  }
}

void AttentionEmitter::emit() {
  const BlockLayout &blocks = layout.blocks;
  int64_t most = e.schedule.tileRows;
  SmallVector<int64_t> heights =
      blocks.size ? blocks.heights(most)
                  : rowBlockHeights(layout.queries, queryBlocks, most);
  e.forLoop("head", e.begin, e.end, 1, [&](Value unit) {
    Value block = e.rem(unit, queryBlocks), pair = e.div(unit, queryBlocks);
    batch = e.div(pair, layout.heads);
    head = e.rem(pair, layout.heads);
    scoreLanes.emplace(e, form, op.getCaptured(), layout.extents());
    scoreLanes->setIndex(form.region.getBatch(), batch);
    scoreLanes->setIndex(form.region.getHead(), head);
    scoreLanes->hoist(ScoreForm::batch | ScoreForm::head);
    next = make<arith::MinUIOp>(e.add(unit, 1), e.add(e.end, -1));
    queryRow = e.mul(batch, layout.queries);
    keyRow = e.mul(batch, layout.keys);
    Value keyHead = layout.group == 1 ? head : e.div(head, layout.group);
    queryColumn = e.mul(head, layout.keyWidth);
    keyColumn = e.mul(keyHead, layout.keyWidth);
    valueColumn = e.mul(keyHead, layout.valueWidth);
    resultColumn = e.mul(head, layout.valueWidth);
    pack(unit, block);
    auto bound = [&](Value number) -> Value {
      if (blocks.size) {
        return make<arith::MinUIOp>(e.mul(number, blocks.size),
                                    e.index(layout.queries));
      }
      return e.div(e.mul(number, layout.queries), queryBlocks);
    };
    forEachRowBlock(
        e, "queries", bound(block), bound(e.add(block, 1)), heights,
        [&](const RowBlock &rows) { emitBlock(rows.row, rows.height); });
  });
}

void AttentionEmitter::emitBlock(Value row, int64_t height) {
  Panels panels = visitedPanels(row, height);
  if (op.getSimilarity().isProduct()) {
    emitScores(row, height, panels);
  } else {
    emitSumsOfTerms(row, height, panels);
  }
  if (!layout.valueWidth) {
    return emitScoresAlone(row, height, panels);
  }
  if (op.hasSoftmax()) {
    emitSoftmax(row, height, panels);
  } else {
    emitWeights(row, height, panels);
  }
  emitValues(row, height, panels);
}

void AttentionEmitter::prefetchNext(Value row) {
  if (queryBlocks > 1) {
    return; // it is mostly the same head
  }
  Value nextBatch = e.div(next, layout.heads);
  Value nextHead = e.rem(next, layout.heads);
  auto prefetch = [&](Value operand, Value own, int64_t rows, int64_t width) {
    // As many rows as it takes to have prefetched all with the last query.
    int64_t share = llvm::divideCeil(rows, layout.queries);
    Value matrix = e.buffer(operand), column = e.mul(own, width);
    Value first = e.mul(nextBatch, rows), last = e.index(rows - 1);
    e.forLoop("rows", e.index(0), e.index(share), 1, [&](Value i) {
      Value place = make<arith::MinUIOp>(e.add(e.mul(row, share), i), last);
      e.prefetchRow(matrix, e.add(first, place), column, width);
    });
  };
  prefetch(op.getQuery(), nextHead, layout.queries, layout.keyWidth);
  Value keyHead = layout.group == 1 ? nextHead : e.div(nextHead, layout.group);
  prefetch(op.getKey(), keyHead, layout.keys, layout.keyWidth);
  prefetch(op.getValue(), keyHead, layout.keys, layout.valueWidth);
}

AttentionEmitter::Panels AttentionEmitter::visitedPanels(Value row,
                                                         int64_t height) {
  if (layout.blocks.size) {
    return listBlocks(row, height);
  }
  if (layout.skipsPanels) {
    return emitPanelBounds(e, visited, row, height);
  }
  Value end = e.index(layout.panels);
  return {e.index(0), end, end, end};
}

KeyPanel AttentionEmitter::panelAt(Value index) {
  const BlockLayout &blocks = layout.blocks;
  Value lane = e.mul(index, layout.panel), key = lane;
  if (blocks.size != blocks.lanes) {
    key = e.add(e.mul(e.div(index, blocks.panels), blocks.size),
                e.mul(e.rem(index, blocks.panels), layout.panel));
  }
  return {index, lane, lane, key, layout.panel, layout.panel};
}

KeyPanel AttentionEmitter::visitedPanel(const Panels &panels, Value turn,
                                        bool isWhole) {
  const BlockLayout &blocks = layout.blocks;
  if (!blocks.size) {
    KeyPanel panel = panelAt(panels.tileAt(b, loc, turn, isWhole));
    panel.isWhole = isWhole;
    return panel;
  }
  Value block = listedBlock(e.div(turn, blocks.panels));
  Value part = e.rem(turn, blocks.panels);
  Value index = e.add(e.mul(block, blocks.panels), part);
  Value key = e.add(e.mul(block, blocks.size), e.mul(part, layout.panel));
  return {index,
          e.mul(turn, layout.panel),
          e.mul(index, layout.panel),
          key,
          layout.panel,
          layout.panel};
}

void AttentionEmitter::forEachPanel(
    const Panels &panels, llvm::function_ref<void(const KeyPanel &)> body) {
  if (layout.panels) {
    e.forLoop("keys", panels.begin, panels.end, 1,
              [&](Value turn) { body(visitedPanel(panels, turn)); });
  }
  if (layout.tailLanes) {
    body(tailPanel());
  }
}

Value AttentionEmitter::packedKeys(const KeyPanel &panel,
                                   SmallVectorImpl<Value> &position) {
  position.assign(panel.index ? 3 : 2, e.index(0));
  if (panel.index) {
    position.front() = panel.index;
  }
  return panel.index ? packed : packedTail;
}

void AttentionEmitter::emitScores(Value row, int64_t height,
                                  const Panels &panels) {
  Value query = e.buffer(op.getQuery()), zero = e.index(0);
  forEachPanel(panels, [&](const KeyPanel &panel) {
    SmallVector<Value> position;
    Value keys = packedKeys(panel, position);
    auto type = VectorType::get({height, panel.lanes}, b.getF32Type());
    Value tile =
        make<TileProductOp>(type, query, e.add(queryRow, row), queryColumn,
                            keys, position, e.index(layout.keyWidth));
    e.make<TileStoreOp>(limitedEarly(tile, panel), scores, zero, panel.column,
                        IntegerAttr());
  });
}

/// score = sum over c of term(q[c], k[c], w[c]), keys in lanes.
void AttentionEmitter::emitSumsOfTerms(Value row, int64_t height,
                                       const Panels &panels) {
  SimilarityAttrInterface similarity = op.getSimilarity();
  Value query = e.buffer(op.getQuery()), zero = e.index(0), weights;
  if (similarity.hasVector()) {
    weights = e.buffer(op.getScoreVector());
  }
  e.forLoop("queries", zero, e.index(height), 1, [&](Value i) {
    Value own = e.add(e.add(queryRow, row), i);
    forEachPanel(panels, [&](const KeyPanel &panel) {
      int64_t lanes = panel.lanes;
      SmallVector<Value> position;
      Value keys = packedKeys(panel, position);
      Value *channel = position.end() - 2;
      auto add = [&](Value c, ValueRange carried) -> SmallVector<Value> {
        Value column = e.add(queryColumn, c);
        auto all = [&](Value matrix, Value matrixRow) {
          return e.splat(e.loadScalar(matrix, matrixRow, column), lanes);
        };
        *channel = c;
        Value key = make<vector::LoadOp>(e.vectorType(lanes), keys, position);
        ImplicitLocOpBuilder terms(loc, b);
        return {similarity.addTerm(terms, all(query, own), key,
                                   weights ? all(weights, zero) : Value(),
                                   carried[0])};
      };
      Value sum = e.forLoop("channels", zero, e.index(layout.keyWidth), 1,
                            e.splat(0, lanes), add)[0];
      e.storeRow(limitedEarly(sum, panel), scores, i, panel.column, lanes);
    });
  });
}

SmallVector<KeyRun, 2> AttentionEmitter::visitedRuns(const Panels &panels) {
  // Exponentials after the last key are not read, but for the second of a
  // pair: it meets a zero.
  Value all =
      e.index(layout.pairs ? llvm::alignTo(layout.columns, 2) : layout.keys);
  if (!layout.skipsPanels) {
    return {{e.index(0), all}};
  }
  auto runOf = [&](Value begin, Value end, Value most) -> KeyRun {
    Value last = e.mul(end, layout.panel);
    last = most ? make<arith::MinUIOp>(last, most).getResult() : last;
    return {begin, make<arith::SubIOp>(last, e.mul(begin, layout.panel))};
  };
  if (!panels.gapLength) {
    return {runOf(panels.begin, panels.end, all)};
  }
  Value from = e.add(panels.gapBegin, panels.gapLength);
  Value to = e.add(panels.end, panels.gapLength);
  return {runOf(panels.begin, panels.gapBegin, /*most=*/Value()),
          runOf(from, to, all)};
}

Value AttentionEmitter::sumOfRuns(VectorType type, ArrayRef<KeyRun> runs,
                                  Value column, IntegerAttr columns) {
  Value zero = e.index(0), start = e.add(valueColumn, column), sum;
  for (const KeyRun &run : runs) {
    Value first = e.mul(run.panel, layout.panel);
    // With pairs, two keys are one row of the values.
    Value pair = e.mul(run.panel, layout.panel / layout.interleave);
    sum = layout.pairs
              ? make<TileProductOp>(type, exponentials, zero, first, values,
                                    ValueRange{pair, column}, run.keys, columns,
                                    sum)
              : make<TileProductOp>(type, scores, zero, first,
                                    e.buffer(op.getValue()),
                                    ValueRange{e.add(keyRow, first), start},
                                    run.keys, columns, sum);
  }
  if (layout.slots && !layout.pairs) {
    sum = make<TileProductOp>(
        type, scores, zero, e.index(layout.keys), e.buffer(op.getMemoryValue()),
        ValueRange{zero, start}, e.index(layout.slots), columns, sum);
  }
  return sum;
}

void AttentionEmitter::emitValues(Value row, int64_t height,
                                  const Panels &panels) {
  Value out = e.buffer(op.getResult());
  Value zero = e.index(0), outRow = e.add(queryRow, row);
  SmallVector<KeyRun, 2> runs;
  Value blocks;
  if (layout.blocks.size) {
    blocks = e.div(panels.end, layout.blocks.panels);
  } else {
    runs = visitedRuns(panels);
  }
  auto emitColumns = [&](Value column, int64_t lanes, int64_t valid) {
    IntegerAttr columns;
    if (valid < lanes) {
      columns = b.getI64IntegerAttr(valid);
    }
    auto type = VectorType::get({height, lanes}, b.getF32Type());
    Value to = e.add(resultColumn, column);
    Value sum = blocks ? sumOfBlocks(type, blocks, column, columns)
                       : sumOfRuns(type, runs, column, columns);
    Value factor =
        make<TileLoadOp>(VectorType::get({height, 1}, b.getF32Type()), inverse,
                         zero, zero, IntegerAttr());
    Value scaled =
        make<arith::MulFOp>(sum, make<vector::BroadcastOp>(type, factor));
    e.make<TileStoreOp>(scaled, out, outRow, to, columns);
  };
  int64_t lanes = e.schedule.tileColumns;
  int64_t whole = layout.valueWidth / lanes * lanes;
  if (whole) {
    e.forLoop("columns", zero, e.index(whole), lanes,
              [&](Value column) { emitColumns(column, lanes, lanes); });
  }
  if (int64_t rest = layout.valueWidth - whole) {
    emitColumns(e.index(whole), llvm::PowerOf2Ceil(rest), rest);
  }
}

static int64_t scratchBytes(AttentionOp op, const CpuSchedule &schedule) {
  return AttentionScratch(AttentionLayout(op, schedule)).bytes();
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
  Value own[] = {region.getBatch(), region.getHead(), region.getQuery(),
                 region.getKey()};
  ArrayRef<int64_t> shape = shapeOf(captured);
  // The only place of an axis is a constant.
  auto isOwn = [&](unsigned axis, Value index) {
    return index == own[axis] ||
           (shape[axis] == 1 && matchPattern(index, m_Zero()));
  };
  return sum && shape.size() == std::size(own) &&
         llvm::all_of(captured.getUsers(), [&](Operation *user) {
           auto indices = cast<ElementOp>(user).getIndices();
           return llvm::all_of(llvm::enumerate(indices),
                               [&](auto index) {
                                 return isOwn(index.index(), index.value());
                               }) &&
                  llvm::is_contained(sum->getOperands(), user->getResult(0));
         });
}

struct AttentionRecipe
    : CpuRecipe<AttentionRecipe, AttentionOp, emit, scratchBytes> {
  bool takesJoins(Operation *) const { return false; }
  /// Scores take the memory of those that they add to. Empty rows are found by
  /// the biases of -inf, which are scores of -inf then.
  std::optional<unsigned> getOverwritable(Operation *op, unsigned index) const {
    auto own = cast<AttentionOp>(op);
    Value scores = own.getScores();
    if (!scores || op->getResult(index) != scores) {
      return std::nullopt;
    }
    unsigned first = op->getNumOperands() - own.getCaptured().size();
    for (auto [number, captured] :
         llvm::enumerate(own.scoreRegion().getCaptured())) {
      if (captured.getType() == scores.getType() &&
          isAddedToCarried(own.scoreRegion(), captured)) {
        return first + number;
      }
    }
    return std::nullopt;
  }
  /// Both products take them. Other similarities are none.
  bool canMultiplyPairs(Operation *op) const {
    auto own = cast<AttentionOp>(op);
    Value read[] = {own.getQuery(), own.getKey(), own.getValue(),
                    own.getMemoryKey(), own.getMemoryValue()};
    // A pair of values is of one block.
    bool arePairs = own.getBlock().value_or(2) % 2 == 0;
    return own.getSimilarity().isProduct() && arePairs &&
           llvm::all_of(read, [](Value operand) {
             return !operand || getElementTypeOrSelf(operand).isBF16();
           });
  }
  std::string getTokensInLanesCondition(Operation *) const {
    return kTokensInLanesCondition.str();
  }
  bool keepsTokensInLanes(Operation *op) const {
    return hova::keepsTokensInLanes(cast<AttentionOp>(op));
  }
  void emitTokenLanes(Operation *op, TokenLanes &lanes) const {
    hova::emitTokenLanes(lanes, cast<AttentionOp>(op));
  }
  /// Panels that no query of a block sees are not multiplied.
  int64_t getExecutedMacs(Operation *op, const CpuSchedule &schedule) const {
    auto own = cast<AttentionOp>(op);
    ScoreForm form(own.scoreRegion());
    AttentionLayout layout(own, schedule, form);
    int64_t shares = blocksOf(*op->getParentOfType<KernelOp>().getUnits());
    int64_t pairs = llvm::sum_of(
        layout.countPairs(form, shares, schedule.tileRows), int64_t(0));
    return layout.batch * layout.heads * pairs *
           (layout.keyWidth + layout.valueWidth);
  }
  std::optional<ScoreTileCounts>
  countScoreTiles(Operation *op, const CpuSchedule &schedule) const {
    auto own = cast<AttentionOp>(op);
    ScoreForm form(own.scoreRegion());
    AttentionLayout layout(own, schedule, form);
    if (!layout.skipsPanels || layout.blocks.size) {
      return std::nullopt;
    }
    int64_t shares = blocksOf(*op->getParentOfType<KernelOp>().getUnits());
    SmallVector<RowSpan> blocks =
        rowBlocksOf(layout.queries, shares, schedule.tileRows);
    int64_t tallest = 0;
    for (const RowSpan &block : blocks) {
      tallest = std::max(tallest, block.height);
    }
    return VisitedKeys(form, layout.extents(), layout.panel, blocks)
        .countTiles(tallest);
  }
  /// What a query costs besides its keys is little: as much as a panel.
  SmallVector<int64_t> getUnitCosts(Operation *op,
                                    const CpuSchedule &schedule) const {
    auto own = cast<AttentionOp>(op);
    ScoreForm form(own.scoreRegion());
    AttentionLayout layout(own, schedule, form);
    int64_t shares = blocksOf(*op->getParentOfType<KernelOp>().getUnits());
    if ((!layout.skipsPanels && !layout.blocks.size) || shares == 1) {
      return {};
    }
    SmallVector<int64_t> costs =
        layout.countPairs(form, shares, schedule.tileRows);
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
