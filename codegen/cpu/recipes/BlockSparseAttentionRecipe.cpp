//===- BlockSparseAttentionRecipe.cpp - Loops of attention to few blocks --===//
// SPDX-License-Identifier: Apache-2.0
//
// A unit is a block of queries of one head. Queries lie in the lanes of
// vectors, so that a key is read where it stands, as the left operand of the
// product that makes scores, whatever block it is of: nothing is gathered and
// nothing packed but the queries. The softmax goes down the rows, and grows
// with every group of keys: what has been added up is multiplied with a factor
// where the maximum rises (Milakov and Gimelshein, Online normalizer
// calculation for softmax). Scratch does not depend on the number of tokens.
//
//   for queries: pack (scale Q)^T ; O = 0
//     for seen blocks, for keys:            (a group of keys)
//       S = K (scale Q)^T ; M' = max(M, S) ; f = exp(M - M') ; P = exp(S - M')
//       sum = f sum + P ; O = f O + P^T V
//     O / sum
//
// A region that only scales is the scale of the packed queries; others are
// written for each row of scores (ScoreLanes). Conditions on keys alone are a
// limit per key: one scalar for all queries. Blocks of which no query of a
// vector keeps a key are left out (VisitedKeys).

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/AttentionTokenLanes.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/ScoreLanes.h"
#include "codegen/cpu/recipes/ScratchLayout.h"
#include "codegen/cpu/recipes/SparseLayout.h"
#include "codegen/cpu/recipes/Transpose.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace hova {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr int64_t kTransposed = SparseLayout::kTransposed;
/// Rows of exponentials side by side, which do not wait for each other.
static constexpr int64_t kUnrolledRows = 4;

namespace {
class SparseAttentionEmitter {
public:
  SparseAttentionEmitter(KernelEmitter &emitter, BlockSparseAttentionOp op);
  void emit();

private:
  void emitQueries(Value row, Value end);
  void packQueries(Value row);
  void clear();
  void forEachSeenBlock(llvm::function_ref<void(Value)> body);
  Value drawnBlock(Value entry);
  void emitKeys(Value key, Value end);
  void writeLimits(Value first, Value key, Value end);
  /// Scores of the group's keys, of which row 0 is `first`, to scratch; the
  /// maxima grow.
  void emitScores(Value first);
  Value maskedScores(ScoreLanes own, Value raw, Value keyRow, Value first);
  void beginQueries(Value row);
  void emitExponentials(Value before);
  void addValues(Value first);
  void storeResult(Value row, Value end);
  void forEachValueColumn(llvm::function_ref<void(Value, int64_t, int64_t)>);

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return make<arith::CmpIOp>(predicate, a, b);
  }
  Value load(Value buffer) {
    return e.loadRow(buffer, e.index(0), e.index(0), layout.lanes,
                     layout.lanes);
  }
  void store(Value vector, Value buffer) {
    e.storeRow(vector, buffer, e.index(0), e.index(0), layout.lanes);
  }
  Value splat(Value scalar) {
    return make<vector::BroadcastOp>(
        VectorType::get({layout.lanes}, scalar.getType()), scalar);
  }
  /// An index as a vector of the integers of another.
  Value splatLike(Value index, Value like) {
    auto type = cast<VectorType>(like.getType());
    return make<vector::BroadcastOp>(
        type, make<arith::IndexCastOp>(type.getElementType(), index));
  }
  Value constant(double value) {
    return e.splat(value, e.vectorType(layout.lanes));
  }
  /// exp(difference) 2^offset, of differences that are not positive.
  Value exponential(Value difference, int64_t offset) {
    return make<Exp2Op>(make<arith::MulFOp>(difference, constant(log2e)),
                        offset);
  }
  /// Whether all that the region makes of a raw score is a multiple, which the
  /// packed queries are.
  bool packsScale() const { return form.isRaw() && form.factor > 0; }
  IntegerAttr columnsOf(int64_t lanes, int64_t valid) {
    return valid < lanes ? b.getI64IntegerAttr(valid) : IntegerAttr();
  }
  template <typename OpTy, typename... Args> OpTy make(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...);
  }

  KernelEmitter &e;
  OpBuilder &b;
  Location loc;
  BlockSparseAttentionOp op;
  const ScoreForm form;
  const SparseLayout layout;
  VisitedBlocks visited;
  const double log2e = 1 / std::log(2.0);
  /// In scratch; vectors of lanes have one row.
  Value packed, weights, weightsTransposed, pooled, peaks, sums, factors,
      factorColumn, limits;
  // Of the current unit.
  Value head, block, firstToken; ///< of the batch entry
  Value queryColumn, keyColumn, valueColumn, resultColumn;
  /// The region with batch entry and head, and with queries in lanes, too.
  std::optional<ScoreLanes> unitLanes, queryLanes;
};
} // namespace

/// The buffers of scratch in their order.
static SmallVector<SmallVector<int64_t>> scratchShapes(const SparseLayout &l) {
  return {{l.keyWidth, l.lanes},
          {l.groupKeys, l.lanes},
          {l.lanes, l.pooledStride()},
          {1, l.lanes},
          {1, l.lanes},
          {1, l.lanes},
          {1, static_cast<int64_t>(llvm::alignTo(l.groupKeys, kTransposed))}};
}

static int64_t scratchBytes(BlockSparseAttentionOp op,
                            const CpuSchedule &schedule) {
  ScratchLayout scratch;
  for (ArrayRef<int64_t> shape : scratchShapes(SparseLayout(op, schedule))) {
    scratch.take(staticSize(shape));
  }
  return scratch.bytes;
}

SparseAttentionEmitter::SparseAttentionEmitter(KernelEmitter &emitter,
                                               BlockSparseAttentionOp op)
    : e(emitter), b(emitter.builder), loc(emitter.loc), op(op),
      form(op.scoreRegion()), layout(op, emitter.schedule, form),
      visited(layout, form) {
  ScratchLayout scratch;
  Type f32 = b.getF32Type();
  Value *buffers[] = {&packed, &weights, &pooled, &peaks,
                      &sums,   &factors, &limits};
  for (auto [buffer, shape] : llvm::zip(buffers, scratchShapes(layout))) {
    int64_t offset = scratch.take(staticSize(shape));
    *buffer = e.scratchView(offset, shape, f32);
    if (buffer == &factors) {
      factorColumn = e.scratchView(offset, {layout.lanes, 1}, f32);
    }
  }
  SmallVector<int64_t> shape = {layout.lanes, layout.groupKeys},
                       strides = {1, layout.lanes};
  auto type = MemRefType::get(
      shape, f32, StridedLayoutAttr::get(b.getContext(), 0, strides));
  weightsTransposed = memref::ReinterpretCastOp::create(
      b, loc, type, weights, /*offset=*/0, shape, strides);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void SparseAttentionEmitter::emit() {
  e.forLoop("query_block", e.begin, e.end, 1, [&](Value unit) {
    block = e.rem(unit, layout.blocks);
    Value pair = e.div(unit, layout.blocks);
    head = e.rem(pair, layout.heads);
    Value batch = e.div(pair, layout.heads);
    firstToken = e.mul(batch, layout.tokens);
    Value keyHead = layout.group == 1 ? head : e.div(head, layout.group);
    queryColumn = e.mul(head, layout.keyWidth);
    keyColumn = e.mul(keyHead, layout.keyWidth);
    valueColumn = e.mul(keyHead, layout.valueWidth);
    resultColumn = e.mul(head, layout.valueWidth);
    unitLanes.emplace(e, form, op.getCaptured(), layout.extents());
    unitLanes->setIndex(form.region.getBatch(), batch);
    unitLanes->setIndex(form.region.getHead(), head);
    unitLanes->hoist(ScoreForm::batch | ScoreForm::head);
    Value from = e.mul(block, layout.block);
    Value to =
        make<arith::MinUIOp>(e.add(from, layout.block), e.index(layout.tokens));
    e.forLoop("queries", from, to, layout.lanes,
              [&](Value row) { emitQueries(row, to); });
  });
}

/// The queries from `row` to before `end`, as many as there are lanes at most.
void SparseAttentionEmitter::emitQueries(Value row, Value end) {
  packQueries(row);
  clear();
  beginQueries(row);
  forEachSeenBlock([&](Value seen) {
    Value from = e.mul(seen, layout.block);
    Value to =
        make<arith::MinUIOp>(e.add(from, layout.block), e.index(layout.tokens));
    e.forLoop("keys", from, to, layout.groupKeys,
              [&](Value key) { emitKeys(key, to); });
  });
  storeResult(row, end);
}

/// The queries from `row` on come into the lanes of the region. Those after
/// the last token read nothing.
void SparseAttentionEmitter::beginQueries(Value row) {
  visited.begin(e, row, block);
  Value query = form.region.getQuery(), inside;
  queryLanes.emplace(*unitLanes);
  queryLanes->beginLanes(query, row, layout.lanes, inside, inside);
  bool mayLeave = llvm::any_of(layout.groups(), [&](RowSpan rows) {
    return rows.row + layout.lanes > layout.tokens;
  });
  if (mayLeave) {
    Value numbers = queryLanes->vectorOf(query);
    inside = compare(arith::CmpIPredicate::slt, numbers,
                     splatLike(e.index(layout.tokens), numbers));
    queryLanes->beginLanes(query, row, layout.lanes, inside, inside);
  }
  queryLanes->hoist(ScoreForm::batch | ScoreForm::head | ScoreForm::query);
}

/// packed[c][i] = scale * query row `row + i`, channel c. Lanes after the last
/// query have its numbers.
void SparseAttentionEmitter::packQueries(Value row) {
  Value query = e.buffer(op.getQuery());
  Value most = e.index(layout.tokens - 1);
  Value scale =
      e.splat(packsScale() ? form.factor : 1, e.vectorType(kTransposed));
  auto packBlock = [&](Value lane, Value channel, int64_t channels) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < kTransposed; ++i) {
      Value own = make<arith::MinUIOp>(e.add(e.add(row, lane), i), most);
      Value numbers =
          e.loadRow(query, e.add(firstToken, own), e.add(queryColumn, channel),
                    kTransposed, channels);
      rows.push_back(make<arith::MulFOp>(numbers, scale));
    }
    transpose16(b, loc, rows);
    for (int64_t c = 0; c < channels; ++c) {
      e.storeRow(rows[c], packed, e.add(channel, c), lane, kTransposed);
    }
  };
  int64_t whole = layout.keyWidth / kTransposed * kTransposed;
  e.forLoop("lanes", e.index(0), e.index(layout.lanes), kTransposed,
            [&](Value lane) {
              e.forLoop("channels", e.index(0), e.index(whole), kTransposed,
                        [&](Value c) { packBlock(lane, c, kTransposed); });
              if (int64_t rest = layout.keyWidth - whole) {
                packBlock(lane, e.index(whole), rest);
              }
            });
}

void SparseAttentionEmitter::clear() {
  store(constant(-kInfinity), peaks);
  store(constant(0), sums);
  Value zero = e.splat(0, e.vectorType(kTransposed));
  e.forLoop("queries", e.index(0), e.index(layout.lanes), 1, [&](Value i) {
    for (int64_t c = 0; c < layout.pooledStride(); c += kTransposed) {
      e.storeRow(zero, pooled, i, e.index(c), kTransposed);
    }
  });
}

/// The number that the table has for an entry after the fixed ones; any where
/// there is none.
Value SparseAttentionEmitter::drawnBlock(Value entry) {
  auto clamp = [&](Value index, int64_t shift, int64_t size) {
    Value least = make<arith::MaxUIOp>(index, e.index(shift));
    return make<arith::MinUIOp>(e.add(least, -shift), e.index(size - 1));
  };
  Value row =
      e.add(e.mul(head, layout.blocks - 2), clamp(block, 1, layout.blocks - 2));
  Value number = e.loadScalar(e.buffer(op.getRandomBlocks()), row,
                              clamp(entry, 5, layout.random));
  return make<arith::IndexCastOp>(b.getIndexType(), number);
}

/// All blocks for the first and the last; for others 0, the window's three, the
/// last, and those of the table. Not those of which no query of the vector
/// keeps a key.
void SparseAttentionEmitter::forEachSeenBlock(
    llvm::function_ref<void(Value)> body) {
  using arith::CmpIPredicate;
  auto is = [&](Value a, int64_t b) {
    return compare(CmpIPredicate::eq, a, e.index(b));
  };
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return make<arith::SelectOp>(condition, a, b);
  };
  int64_t lastBlock = layout.blocks - 1;
  Value isGlobal = make<arith::OrIOp>(is(block, 0), is(block, lastBlock));
  Value count =
      select(isGlobal, e.index(layout.blocks), e.index(5 + layout.random));
  e.forLoop("seen_block", e.index(0), count, 1, [&](Value entry) {
    Value neighbour = e.add(e.add(block, entry), -2);
    Value other = layout.random ? drawnBlock(entry) : e.index(lastBlock);
    other = select(is(entry, 4), e.index(lastBlock), other);
    Value isWindow = compare(CmpIPredicate::ult, entry, e.index(4));
    other = select(isWindow, neighbour, other);
    other = select(is(entry, 0), e.index(0), other);
    Value seen = select(isGlobal, entry, other);
    // A number below 0 is a large one.
    Value counts = compare(CmpIPredicate::ult, seen, e.index(layout.blocks));
    auto restrict = [&](Value condition) {
      counts = make<arith::AndIOp>(counts, condition);
    };
    // Block 1 has block 0 as its neighbour, which is there already; so has the
    // last but one the last. Neither is one that sees all blocks.
    auto isNot = [&](int64_t own, int64_t neighbour) -> Value {
      return make<arith::OrIOp>(
          compare(CmpIPredicate::ne, block, e.index(own)),
          compare(CmpIPredicate::ne, entry, e.index(neighbour)));
    };
    restrict(isNot(1, 1));
    restrict(isNot(layout.blocks - 2, 3));
    if (Value isVisited = visited.contain(e, seen)) {
      restrict(isVisited);
    }
    e.ifThen(counts, [&] { body(seen); });
  });
}

//===----------------------------------------------------------------------===//
// Groups of keys
//===----------------------------------------------------------------------===//

/// The keys from `key` to before `end`, as many as a group has at most. The
/// group at the end of all tokens begins earlier than `key`, and the limits
/// hide what it has before.
void SparseAttentionEmitter::emitKeys(Value key, Value end) {
  Value first = key;
  if (layout.hasLimits) {
    first =
        make<arith::MinUIOp>(key, e.index(layout.tokens - layout.groupKeys));
    writeLimits(first, key, end);
  }
  Value before = load(peaks);
  emitScores(first);
  emitExponentials(before);
  addValues(first);
}

/// limits[j] = +inf where key first + j is one of the group and all conditions
/// on it alone hold, else -inf.
void SparseAttentionEmitter::writeLimits(Value first, Value key, Value end) {
  Value hidden = make<arith::SubIOp>(key, first);
  Value after = make<arith::SubIOp>(end, first);
  for (int64_t from = 0; from < layout.groupKeys; from += kTransposed) {
    int64_t valid = std::min(layout.groupKeys - from, kTransposed);
    Value inside =
        valid < kTransposed ? e.laneMask(kTransposed, valid) : Value();
    ScoreLanes lanes = *unitLanes;
    auto begin = [&](Value number) {
      lanes.beginLanes(form.region.getKey(), number, kTransposed, inside,
                       inside);
    };
    // After `first`: a constant.
    begin(e.index(from));
    Value own = lanes.vectorOf(form.region.getKey());
    Value counts = make<arith::AndIOp>(
        compare(arith::CmpIPredicate::sge, own, splatLike(hidden, own)),
        compare(arith::CmpIPredicate::slt, own, splatLike(after, own)));
    begin(e.add(first, from));
    for (Value condition : form.conditions) {
      if (form.isAboutKeys(condition)) {
        counts = make<arith::AndIOp>(counts, lanes.vectorOf(condition));
      }
    }
    auto limitType = e.vectorType(kTransposed);
    Value limit = make<arith::SelectOp>(counts, e.splat(kInfinity, limitType),
                                        e.splat(-kInfinity, limitType));
    e.storeRow(limit, limits, e.index(0), e.index(from), kTransposed);
  }
}

/// One row: what the region makes of the raw scores of all queries with key
/// `keyRow` of the group; masked are -inf. A NaN becomes the limit: +inf, whose
/// exponential is NaN again, unless the key does not count.
Value SparseAttentionEmitter::maskedScores(ScoreLanes own, Value raw,
                                           Value keyRow, Value first) {
  own.setIndex(form.region.getKey(), e.add(first, keyRow));
  own.setRaw(raw);
  Value score =
      packsScale() ? raw : own.vectorOf(form.region.getYield().getScore());
  if (layout.hasLimits) {
    Value limit = splat(e.loadScalar(limits, e.index(0), keyRow));
    Value isBelow =
        make<arith::CmpFOp>(arith::CmpFPredicate::OLT, score, limit);
    score = make<arith::SelectOp>(isBelow, score, limit);
  }
  Value keep;
  for (Value condition : form.conditions) {
    if (!form.isAboutKeys(condition)) {
      Value holds = own.vectorOf(condition);
      keep = keep ? make<arith::AndIOp>(keep, holds) : holds;
    }
  }
  return keep ? make<arith::SelectOp>(keep, score, constant(-kInfinity))
              : score;
}

void SparseAttentionEmitter::emitScores(Value first) {
  ScoreLanes region = *queryLanes;
  region.spreadLinear();
  Value key = e.buffer(op.getKey());
  auto flags = arith::FastMathFlagsAttr::get(
      b.getContext(), arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
  forEachEvenBlock(
      e, "keys", layout.groupKeys, layout.tileRows,
      [&](Value from, int64_t height) {
        Value tile = make<TileProductOp>(
            VectorType::get({height, layout.lanes}, b.getF32Type()), key,
            e.add(e.add(firstToken, first), from), keyColumn, packed,
            ValueRange{e.index(0), e.index(0)}, e.index(layout.keyWidth));
        Value peak = load(peaks);
        for (int64_t i = 0; i < height; ++i) {
          Value keyRow = e.add(from, i);
          Value score = maskedScores(region, make<vector::ExtractOp>(tile, i),
                                     keyRow, first);
          e.storeRow(score, weights, keyRow, e.index(0), layout.lanes);
          peak = make<arith::MaxNumFOp>(peak, score, flags);
        }
        store(peak, peaks);
      });
}

/// Scores become exponentials. `before` is the maxima of the groups before.
void SparseAttentionEmitter::emitExponentials(Value before) {
  // Without a key the maximum is -inf, and so are the scores.
  Value peak = load(peaks), none = constant(-kInfinity);
  peak = make<arith::SelectOp>(
      make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, peak, none), constant(0),
      peak);
  Value factor = exponential(make<arith::SubFOp>(before, peak), 0);
  store(factor, factors);
  // A block that is drawn again counts again.
  int64_t most = (5 + layout.random) * layout.block;
  int64_t offset = Exp2Op::offsetOfWeights(std::max(layout.tokens, most));
  auto addRows = [&](Value from, int64_t rows, Value sum) {
    for (int64_t i = 0; i < rows; ++i) {
      Value own = e.add(from, i);
      Value score =
          e.loadRow(weights, own, e.index(0), layout.lanes, layout.lanes);
      Value weight = exponential(make<arith::SubFOp>(score, peak), offset);
      e.storeRow(weight, weights, own, e.index(0), layout.lanes);
      sum = make<arith::AddFOp>(sum, weight);
    }
    return sum;
  };
  int64_t whole = layout.groupKeys / kUnrolledRows * kUnrolledRows;
  Value sum = e.forLoop("keys", e.index(0), e.index(whole), kUnrolledRows,
                        constant(0), [&](Value from, ValueRange carried) {
                          return SmallVector<Value>{
                              addRows(from, kUnrolledRows, carried[0])};
                        })[0];
  sum = addRows(e.index(whole), layout.groupKeys - whole, sum);
  store(make<math::FmaOp>(load(sums), factor, sum), sums);
}

void SparseAttentionEmitter::forEachValueColumn(
    llvm::function_ref<void(Value, int64_t, int64_t)> body) {
  int64_t lanes = e.schedule.tileColumns;
  int64_t whole = layout.valueWidth / lanes * lanes;
  e.forLoop("columns", e.index(0), e.index(whole), lanes,
            [&](Value column) { body(column, lanes, lanes); });
  if (int64_t rest = layout.valueWidth - whole) {
    body(e.index(whole), llvm::PowerOf2Ceil(rest), rest);
  }
}

/// A factor for each row of a tile.
static Value broadcastColumn(KernelEmitter &e, Value column, Value row,
                             VectorType type) {
  OpBuilder &b = e.builder;
  auto own = VectorType::get({type.getDimSize(0), 1}, b.getF32Type());
  Value factor =
      TileLoadOp::create(b, e.loc, own, column, row, e.index(0), IntegerAttr());
  return vector::BroadcastOp::create(b, e.loc, type, factor);
}

/// pooled = factors * pooled + weights^T V.
void SparseAttentionEmitter::addValues(Value first) {
  Value value = e.buffer(op.getValue()), zero = e.index(0);
  forEachValueColumn([&](Value column, int64_t lanes, int64_t valid) {
    forEachEvenBlock(
        e, "queries", layout.lanes, layout.tileRows,
        [&](Value row, int64_t height) {
          auto type = VectorType::get({height, lanes}, b.getF32Type());
          IntegerAttr columns = columnsOf(lanes, valid);
          Value before = make<TileLoadOp>(type, pooled, row, column, columns);
          before = make<arith::MulFOp>(
              before, broadcastColumn(e, factorColumn, row, type));
          Value sum = make<TileProductOp>(
              type, weightsTransposed, row, zero, value,
              ValueRange{e.add(firstToken, first), e.add(valueColumn, column)},
              e.index(layout.groupKeys), columns, before);
          make<TileStoreOp>(sum, pooled, row, column, columns);
        });
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void SparseAttentionEmitter::storeResult(Value row, Value end) {
  Value total = load(sums), zero = constant(0);
  Value inverse = make<arith::DivFOp>(constant(1), total);
  // The weight of a maximum is not 0: only an empty row has no sum.
  store(make<arith::SelectOp>(
            make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, total, zero), zero,
            inverse),
        factors);
  SmallVector<int64_t> heights;
  for (int64_t own : {layout.lengthOf(0), layout.lengthOf(layout.blocks - 1)}) {
    for (int64_t rows : {std::min(own, layout.lanes), own % layout.lanes}) {
      if (rows) {
        heights.append(rowBlockHeights(rows, 1, layout.tileRows));
      }
    }
  }
  llvm::sort(heights);
  heights.erase(llvm::unique(heights), heights.end());
  Value count = make<arith::MinUIOp>(make<arith::SubIOp>(end, row),
                                     e.index(layout.lanes));
  Value result = e.buffer(op.getResult());
  forEachRowBlock(
      e, "queries", e.index(0), count, heights, [&](const RowBlock &rows) {
        forEachValueColumn([&](Value column, int64_t lanes, int64_t valid) {
          auto type = VectorType::get({rows.height, lanes}, b.getF32Type());
          IntegerAttr columns = columnsOf(lanes, valid);
          Value tile =
              make<TileLoadOp>(type, pooled, rows.row, column, columns);
          tile = make<arith::MulFOp>(
              tile, broadcastColumn(e, factorColumn, rows.row, type));
          make<TileStoreOp>(tile, result,
                            e.add(e.add(firstToken, row), rows.row),
                            e.add(resultColumn, column), columns);
        });
      });
}

static void emit(KernelEmitter &emitter, BlockSparseAttentionOp op) {
  SparseAttentionEmitter(emitter, op).emit();
}

namespace {
struct BlockSparseAttentionRecipe
    : CpuRecipe<BlockSparseAttentionRecipe, BlockSparseAttentionOp, emit,
                scratchBytes> {
  bool takesJoins(Operation *) const { return false; }
  std::string getTokensInLanesCondition(Operation *) const {
    return kTokensInLanesCondition.str();
  }
  int64_t getExecutedMacs(Operation *op, const CpuSchedule &schedule) const {
    auto own = cast<BlockSparseAttentionOp>(op);
    SparsePairs pairs(own, schedule);
    const SparseLayout &layout = pairs.getLayout();
    int64_t all = 0;
    for (int64_t block : llvm::seq(layout.blocks)) {
      all += pairs.count(block);
    }
    return layout.batch * layout.heads * all *
           (layout.keyWidth + layout.valueWidth);
  }
  SmallVector<int64_t> getUnitCosts(Operation *op,
                                    const CpuSchedule &schedule) const {
    SparsePairs pairs(cast<BlockSparseAttentionOp>(op), schedule);
    SmallVector<int64_t> costs;
    for (int64_t block : llvm::seq(pairs.getLayout().blocks)) {
      costs.push_back(std::max<int64_t>(pairs.count(block), 1));
    }
    return costs;
  }
};
} // namespace

void attachBlockSparseAttentionRecipe(MLIRContext &context) {
  BlockSparseAttentionOp::attachInterface<BlockSparseAttentionRecipe>(context);
}

} // namespace hova
