//===- SummaryAttentionRecipe.cpp - Loops of queries that read sums -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A unit is a block of queries of one head. A thread merges the slots of a head
// when it begins its first block, in their order, and again when the head
// changes; slots that a causal block may read besides are merged when it
// begins. The additions are the same wherever a thread begins.
//
//   S = ((0 + slot 0) + slot 1) + ..           (scratch)
//   F = features of the block's queries        (scratch)
//   O = F S / (F . sums of ones)               (tiles)
//
// Softmax adds eps to the features of keys: S has one row more, the sum of the
// values, and F one column more, eps times the sum of the query's features.
//
// Causal: besides the sums of the blocks before it, a query reads the keys of
// its own block up to its token, by their scores:
//
//   A_ij = (phi_q(q_i) . e_j) 2^(c_j - c_i) + eps * sum phi_q(q_i)     j <= i
//   O_i  = (2^(peak - c_i) phi_q(q_i) S + sum_j A_ij v_j) / the same with ones
//
// where c_j is the largest exponent up to key j, e_j the exponentials of key j
// relative to it, and peak that of the blocks before. No key after i has a part
// in row i: its score is replaced by zero, whatever it is.
//
// By a matrix unit S and F are three factors each, and so are e_j and A_ij;
// what is left of the features to whole steps, and of softmax the plain values,
// are added in vectors. The scores of a whole causal block are computed first.
// Behind the last query of a block of rows values are zeros, whatever is there.

#include "codegen/cpu/recipes/FeatureRows.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/Transpose.h"

using namespace mlir;

namespace hova {

/// The reciprocal of a denominator above this, and a product with it, stay in
/// f32.
static constexpr double kLeastDenominator = 0x1p-64;
/// The features of a query whose denominator is smaller are enlarged until it
/// is this, which the result does not see; where it is 0, since all products
/// vanish, by as much as f32 has.
static constexpr double kEnlargedDenominator = 0x1p-32;
static constexpr double kLargestFactor = 0x1p+127;

namespace {
/// Sizes, and buffers that `layout` places.
struct SummaryAttentionScratch {
  Value takeCausal(ArrayRef<int64_t> shape) {
    return isCausal ? layout.take(shape) : Value();
  }

  SummaryAttentionOp op;
  const CpuSchedule &schedule;
  ScratchLayout layout;
  Builder types{op.getContext()};

  FeatureSizes sizes{op, op.getQuery(), op.getSummary(), schedule};
  bool isCausal = op.getKey() != nullptr;
  /// Rows of the merged sums: the features, and of softmax the plain values.
  int64_t depth = sizes.count + (sizes.hasMaximum() ? 1 : 0);
  int64_t tileColumns = schedule.tileColumns;
  int64_t paddedTokens = llvm::alignTo(sizes.block, tileColumns);

  UnitFeatures unit{sizes, layout, /*rows=*/1, op};
  FeatureRows::Scratch queryRows{sizes, layout};
  /// Keys of a block that are any number are transposed by so many at once.
  int64_t moreKeys = SequenceRanges::ofTokens(op)
                         ? llvm::alignTo(sizes.block, kTransposed) - sizes.block
                         : 0;
  FeatureRows::Scratch keyRows =
      isCausal ? FeatureRows::Scratch(sizes, layout, moreKeys)
               : FeatureRows::Scratch();
  /// Merged sums, those of ones, and the exponent that they are relative to.
  Value state = layout.take({depth, paddedStride(sizes.valueWidth, 4)});
  Value ones = layout.take({1, depth});
  Value peak = layout.take({1, 1});
  /// Inverse denominators of the block, or of a row block if it is causal.
  Value inverse = layout.take({sizes.block, 1});
  /// Features of keys, the exponents that they are relative to, and which keys
  /// count.
  Value packed = takeCausal({sizes.count, paddedTokens});
  Value peaks = takeCausal({1, paddedTokens});
  Value valid = takeCausal({1, paddedTokens});
  /// Of a row block; by the unit, of all.
  Value scores = takeCausal(
      {sizes.usesUnit ? sizes.block : std::min(schedule.tileRows, sizes.block),
       paddedStride(paddedTokens, 4)});
  /// The features of one query as they were.
  Value saved = takeCausal({1, sizes.stride});
  // By the unit: factors of the results, merged sums as pairs and features of a
  // block of rows, as far as these are whole steps; and sums of products.
  int64_t unitDepth =
      sizes.usesUnit ? depth / MatrixUnit::depth * MatrixUnit::depth : 0;
  SplitFactor statePairs{layout,
                         {unitDepth / 2, wholeSteps(sizes.valueWidth)},
                         types.getI32Type()};
  SplitFactor unitQueries{layout,
                          {2 * unit.height, paddedStride(unitDepth, 2)},
                          types.getBF16Type()};
  Value unitSums = layout.take({2 * unit.height, MatrixUnit::blockColumns});
  // And of a causal block: features of keys and values as pairs, and scores of
  // a block of rows.
  int64_t scoreDepth = isCausal && sizes.usesUnit
                           ? sizes.count / MatrixUnit::depth * MatrixUnit::depth
                           : 0;
  SplitFactor keyPairs{
      layout, {scoreDepth / 2, paddedTokens}, types.getI32Type()};
  int64_t unitKeys = scoreDepth ? wholeSteps(sizes.block) : 0;
  SplitFactor unitScores{layout,
                         {2 * unit.height, paddedStride(unitKeys, 2)},
                         types.getBF16Type()};
  Value valuePairs = layout.take({unitKeys / 2, wholeSteps(sizes.valueWidth)},
                                 types.getI32Type());
};

struct SummaryAttentionEmitter : SummaryAttentionScratch {
  KernelEmitter &e;
  Value weight;
  FeatureRows queries{e, sizes, queryRows, op.getQuery(), weight, unit};
  FeatureRows keys{e, sizes, keyRows, op.getKey(), weight, unit};
  KeyMask mask{e, valid, op.getKeyValid()};
  Value slots = e.buffer(op.getSummary()), result = e.buffer(op.getResult());
  // Of the current unit.
  TokenBlock block = {};
  Expr keyHead = {};

  void emit() {
    queries.splitWeight();
    e.forLoop("query_block", e.begin, e.end, 1, [&](Expr unit) {
      block = tokenBlockOf(e, unit, sizes);
      keyHead = block.head / op.getGroup();
      Expr hasTokens = block.length ? block.length != 0 : Expr();
      e.ifThen(hasTokens, [&] { mergeBefore(unit); });
      forEachLength(e, block, sizes,
                    [&](const BlockLength &length) { emitBlock(length); });
    });
  }

  //===--------------------------------------------------------------------===//
  // Merged sums
  //===--------------------------------------------------------------------===//

  /// The slots that the block reads and the thread has not merged yet.
  void mergeBefore(Expr unit) {
    int64_t merged = shapeOf(op.getSummary())[2];
    // Heads that share one of keys follow each other, and divide all heads.
    Expr firstSlot = unit / sizes.blocks / op.getGroup() * merged;
    Expr isFirst = unit == e.begin;
    Expr isNew = isFirst | (block.number == 0);
    e.ifThen(isNew, [&] {
      e.forLoop("features", depth,
                [&](Expr row) { clearRow(state, row, sizes.valueWidth); });
      clearRow(ones, 0, depth);
      e.store(kNoKeyMaximum, peak, 0, 0);
    });
    Expr from = 0, to;
    if (isCausal) {
      // Of a block that follows, the one before it.
      from = select(isNew, 0, max(block.number, 1) - 1);
      to = block.number;
    } else {
      to = select(isNew, countBlocks(e, block, op.getSummary(), sizes), 0);
    }
    e.forLoop("token_block", from, to, 1,
              [&](Expr slot) { mergeSlot(firstSlot + slot); });
    if (unitDepth) {
      e.ifThen(isNew | (from < to), [&] { splitState(); });
    }
  }

  /// The merged sums as a right factor of the unit.
  void splitState() {
    constexpr int64_t lanes = CpuFacts::registerLanes;
    int64_t width = sizes.valueWidth;
    e.forLoop("features", unitDepth / 2, [&](Expr pair) {
      e.forEachChunk(width, lanes, [&](const Chunk &values) {
        Chunk at{values.column, lanes, values.valid};
        statePairs.storePairs(e, e.load(state, pair * 2, at),
                              e.load(state, pair * 2 + 1, at), pair, at.column);
      });
      // Columns that only fill the last block.
      int64_t from = llvm::alignTo(width, lanes);
      if (from < wholeSteps(width)) {
        statePairs.storePairs(e, {}, {}, pair, from);
      }
    });
  }

  void clearRow(Value matrix, Expr row, int64_t width) {
    e.forEachChunk(width,
                   [&](const Chunk &at) { e.store(0, matrix, row, at); });
  }

  /// state = state 2^(peak - new peak) + slot 2^(maximum - new peak), but for
  /// the plain values, which are relative to nothing.
  void mergeSlot(Expr slot) {
    Expr first = slot * (sizes.count + summaryExtraRows(sizes.map));
    Expr before, added;
    if (sizes.hasMaximum()) {
      Expr old = e.load(peak, 0, 0);
      Expr maximum = e.load(slots, first + (sizes.count + 1), 0);
      Expr next = max(old, maximum);
      before = exp2(old - next);
      added = exp2(maximum - next);
      e.store(next, peak, 0, 0);
    }
    auto mergeRows = [&](int64_t from, int64_t to, bool scales) {
      auto merge = [&](Expr sum, Expr part) {
        return scales ? fma(sum, before, part * added) : sum + part;
      };
      e.forLoop("features", from, to, 1, [&](Expr r) {
        e.forEachChunk(sizes.valueWidth, [&](const Chunk &at) {
          Expr part = e.load(slots, first + r, at);
          e.store(merge(e.load(state, r, at), part), state, r, at);
        });
        Expr part = e.load(slots, first + r, sizes.valueWidth);
        e.store(merge(e.load(ones, 0, r), part), ones, 0, r);
      });
    };
    mergeRows(0, sizes.count, sizes.hasMaximum());
    if (sizes.hasMaximum()) {
      mergeRows(sizes.count, depth, /*scales=*/false);
    }
  }

  //===--------------------------------------------------------------------===//
  // Queries
  //===--------------------------------------------------------------------===//

  void emitBlock(const BlockLength &tokens) {
    queries.emitProducts(block.row, block.head, tokens);
    if (sizes.hasExponentials()) {
      e.forLoop("queries", tokens.count, [&](Expr i) { emitQueryFeatures(i); });
    }
    if (isCausal) {
      emitKeyFeatures(tokens);
      transposeKeys(tokens);
      if (scoreDepth) {
        emitUnitScores(tokens);
      }
      emitCausalRows(tokens);
      if (unitDepth) {
        emitUnitResults(tokens);
      }
      return;
    }
    e.forLoop("queries", tokens.count, [&](Expr i) {
      writeInverse(
          i, [&] { return queries.dot(i, ones, depth); },
          [&](Expr factor) { queries.enlarge(i, factor, queries.rows, i); });
    });
    if (unitDepth) {
      return emitUnitResults(tokens);
    }
    forEachTokenRows(e, "queries", tokens, [&](Expr row, int64_t height) {
      emitResults(row, height, {});
    });
  }

  void emitUnitResults(const BlockLength &tokens) {
    UnitBlocks blocks(0, max(tokens.count, unit.height), unit.height);
    e.forLoop("blocks", blocks.count, [&](Expr number) {
      Expr first = blocks.firstOf(number);
      splitQueries(first, blocks.rowCount, unitDepth);
      Expr keys = min(first + blocks.rowCount, tokens.count);
      if (scoreDepth) {
        splitScores(first, blocks.rowCount, keys);
      }
      e.forEachChunk(
          sizes.valueWidth, MatrixUnit::blockColumns, [&](const Chunk &at) {
            multiplySplit(e, {unitSums, {0, 0}}, unitQueries,
                          statePairs.at(0, at.column), blocks.rowCount,
                          unit.height, unitDepth);
            if (scoreDepth) {
              pairValues(first, keys, at);
              multiplySplit(e, {unitSums, {0, 0}}, unitScores,
                            SplitFactor({valuePairs, {0, at.column}}),
                            blocks.rowCount, unit.height, wholeSteps(keys),
                            /*isAdded=*/true);
            }
            // Rows behind the last query, which fill a tile, are of no use.
            e.forLoop("queries", blocks.skippedOf(number),
                      min(blocks.rowCount, tokens.count), 1,
                      [&](Expr i) { storeUnitResult(i, first + i, at); });
          });
    });
  }

  /// The first `width` features of some queries as a left factor of the unit.
  void splitQueries(Expr first, Expr count, int64_t width) {
    e.forLoop("queries", count, [&](Expr i) {
      e.forEachChunk(width, MatrixUnit::depth, [&](const Chunk &at) {
        unitQueries.store(e, e.load(queries.rows, first + i, at), i, at.column);
      });
    });
  }

  /// The scores of some queries with `keys` keys as a left factor of the unit:
  /// those that are masked, and zeros behind them.
  void splitScores(Expr first, Expr count, Expr keys) {
    e.forLoop("queries", count, [&](Expr i) {
      e.forLoop("keys", 0, wholeSteps(keys), MatrixUnit::depth, [&](Expr key) {
        Expr masked = e.load(scores, first + i, {key, MatrixUnit::depth});
        unitScores.store(e, select(key <= first + i, masked, 0), i, key);
      });
    });
  }

  /// The values of `keys` keys as pairs, from the step on that the block of
  /// rows before has not filled.
  void pairValues(Expr first, Expr keys, const Chunk &at) {
    Expr from = first / MatrixUnit::depth * MatrixUnit::depth;
    Expr column = keyHead * sizes.valueWidth + at.column;
    pairTokens(e, {valuePairs, {from / 2, at.column}},
               {e.buffer(op.getValue()), {block.row + from, column}},
               keys - from, at.valid);
  }

  /// Row `i` of the sums, of query `row` of the block.
  void storeUnitResult(Expr i, Expr row, const Chunk &at) {
    Expr sum = e.load(unitSums, TilePlace(i, 0, 1, at.lanes));
    if (unitDepth < depth) {
      sum = e.multiply({row, 1, at}, {queries.rows, {row, unitDepth}},
                       {state, {unitDepth, at.column}}, depth - unitDepth, sum);
    }
    e.store(sum * e.load(inverse, {row, 0}), result,
            {block.row + row, 1, at + block.head * sizes.valueWidth});
  }

  void emitQueryFeatures(Expr i) {
    if (!sizes.hasMaximum()) {
      return queries.exponentiate(i, sizes.shift());
    }
    queries.exponentiate(i, -queries.maximum(i), sizes.eps);
    e.store(queries.sum(i) * sizes.eps, queries.rows, i, sizes.count);
  }

  /// Whether a denominator may be small and not 0: where nothing is added that
  /// keeps it away from 0. Features are not negative, and those of a key that
  /// counts are eps at least.
  bool canVanish() {
    double least = std::max({op.getStabilizer().convertToDouble(),
                             op.getDenominatorEps().convertToDouble(),
                             sizes.eps * sizes.eps});
    return least < kLeastDenominator;
  }

  /// n R of a row, with what is added to it; `factor`, unless it is null, is
  /// what the row's features were enlarged by.
  Expr denominatorOf(Expr sum, Expr factor) {
    double stabilizer = op.getStabilizer().convertToDouble();
    double eps = op.getDenominatorEps().convertToDouble();
    auto enlarged = [&](double constant) {
      return factor ? factor * constant : Expr(constant);
    };
    Expr weight = sum * sizes.productWeight();
    if (stabilizer > 0) {
      Expr isSmall = abs(weight) <= enlarged(stabilizer);
      weight = select(isSmall, weight + enlarged(2 * stabilizer), weight);
    }
    return eps > 0 ? weight + enlarged(eps) : weight;
  }

  /// Stores what the sums of the row at `place` are multiplied with: 1 / (n R),
  /// 0 where R is 0. `sum` makes the row's sum of products; where R is so small
  /// that its reciprocal may leave f32, `enlarge` multiplies the features of
  /// the query first.
  void writeInverse(Expr place, llvm::function_ref<Expr()> sum,
                    llvm::function_ref<void(Expr)> enlarge) {
    auto invert = [&](Expr factor) {
      Expr denominator = denominatorOf(sum(), factor);
      Expr inverted = sizes.productWeight() / denominator;
      e.store(select(denominator == 0, 0, inverted), inverse, place, 0);
      return denominator;
    };
    Expr inverse = invert({});
    if (canVanish()) {
      e.ifThen(abs(inverse) <= kLeastDenominator, [&] {
        Expr factor = select(inverse == 0, kLargestFactor,
                             kEnlargedDenominator / inverse);
        enlarge(factor);
        invert(factor);
      });
    }
  }

  /// The results of `height` queries; `limit` keys of the block are read
  /// besides the merged sums, unless it is null.
  void emitResults(Expr row, int64_t height, Expr limit) {
    int64_t width = sizes.valueWidth;
    forEachTileColumn(e, width, [&](const Chunk &at) {
      TilePlace place(row, height, at);
      Expr sum = e.multiply(place, {queries.rows, {row, 0}},
                            {state, {0, at.column}}, depth);
      if (limit) {
        sum = e.multiply(
            place, {scores, {0, 0}},
            {e.buffer(op.getValue()), {block.row, keyHead * width + at.column}},
            limit, sum);
      }
      Expr factor = e.load(inverse, {limit ? Expr(0) : row, 0, height});
      e.store(sum * factor, result,
              {block.row + row, height, at + block.head * width});
    });
  }

  //===--------------------------------------------------------------------===//
  // Keys of a causal block
  //===--------------------------------------------------------------------===//

  void emitKeyFeatures(const BlockLength &tokens) {
    // Lanes after the last token are read, though what they give is not.
    clearRow(peaks, 0, paddedTokens);
    clearRow(valid, 0, paddedTokens);
    if (mask) {
      mask.write(block, tokens);
    }
    keys.emitProducts(block.row, keyHead, tokens);
    e.fold("tokens", 0, tokens.count, 1, e.load(peak, 0, 0),
           [&](Expr i, Expr largest) {
             Expr counts = mask.counts(i), shift = sizes.shift();
             if (sizes.hasMaximum()) {
               Expr maximum = select(counts, keys.maximum(i), largest);
               largest = max(largest, maximum);
               e.store(largest, peaks, 0, i);
               shift = -largest;
             }
             keys.finishKey(i, shift, counts);
             return largest;
           });
  }

  /// packed[r][j] = feature r of key j, up to the end of the tile of the last.
  void transposeKeys(const BlockLength &length) {
    // 16 keys, of which `count` exist.
    auto transposeTokens = [&](Expr token, int64_t count) {
      e.forEachChunk(sizes.count, kTransposed, [&](const Chunk &features) {
        Chunk chunk{features.column, kTransposed, features.valid};
        transposeBlock(
            e, count, chunk.valid,
            [&](int64_t i) { return e.load(keys.rows, token + i, chunk); },
            [&](Expr column, int64_t i) {
              e.store(column, packed, chunk.column + i, {token, kTransposed});
            });
      });
    };
    if (!length.known) {
      // Scores of what stands behind the last key are replaced by zero.
      e.forLoop("tokens", 0, length.count, kTransposed,
                [&](Expr token) { transposeTokens(token, kTransposed); });
      return;
    }
    int64_t tokens = *length.known, whole = tokens / kTransposed * kTransposed;
    if (whole) {
      e.forLoop("tokens", 0, whole, kTransposed,
                [&](Expr token) { transposeTokens(token, kTransposed); });
    }
    // The last tile of scores reads whole lanes.
    int64_t padded = llvm::alignTo(tokens, tileColumns);
    for (int64_t token = whole; token < padded; token += kTransposed) {
      transposeTokens(token,
                      std::clamp<int64_t>(tokens - token, 0, kTransposed));
    }
  }

  /// The scores of queries `row` to `row + height`, from row `to` of them: to
  /// those of the features before `from` the others are added.
  void emitScores(Expr row, int64_t height, Expr tiles, Expr to,
                  int64_t from = 0) {
    e.forLoop("tiles", tiles, [&](Expr tile) {
      TilePlace place(to, tile * tileColumns, height, tileColumns);
      Expr before = from ? e.load(scores, place) : Expr();
      Expr sum = e.multiply(place, {queries.rows, {row, from}},
                            {packed, {from, place.column}}, sizes.count - from,
                            before);
      e.store(sum, scores, place);
    });
  }

  /// The scores of all queries, of the features that are whole steps.
  void emitUnitScores(const BlockLength &tokens) {
    constexpr int64_t lanes = CpuFacts::registerLanes;
    e.forLoop("features", scoreDepth / 2, [&](Expr pair) {
      e.forLoop("keys", 0, wholeSteps(tokens.count), lanes, [&](Expr key) {
        keyPairs.storePairs(e, e.load(packed, pair * 2, {key, lanes}),
                            e.load(packed, pair * 2 + 1, {key, lanes}), pair,
                            key);
      });
    });
    UnitBlocks blocks(0, max(tokens.count, unit.height), unit.height);
    e.forLoop("blocks", blocks.count, [&](Expr number) {
      Expr first = blocks.firstOf(number);
      splitQueries(first, blocks.rowCount, scoreDepth);
      e.forLoop("keys", 0, first + blocks.rowCount, MatrixUnit::blockColumns,
                [&](Expr key) {
                  multiplySplit(e, {scores, {first, key}}, unitQueries,
                                keyPairs.at(0, key), blocks.rowCount,
                                unit.height, scoreDepth);
                });
    });
  }

  /// A_ij for some keys j, from the products of features.
  Expr maskScores(Expr score, Expr query, const Chunk &at) {
    if (sizes.hasMaximum()) {
      Expr factor = exp2(e.load(peaks, 0, at) - e.load(peaks, 0, query));
      score = fma(score, factor, e.load(queries.rows, query, sizes.count));
    }
    Type i32 = e.builder.getI32Type();
    Expr token = e.iota(at.lanes) + toInteger(at.column, i32);
    Expr isBefore = token <= toInteger(query, i32);
    return select(isBefore & mask.counts(at), score, 0);
  }

  /// Scores of row `i`, masked, and the sum of products of its query, whose
  /// features become relative to the exponent of its own keys.
  Expr emitCausalSum(Expr i, Expr query, Expr tiles) {
    Expr start = e.splat(0, tileColumns);
    Expr lanes = e.fold("tiles", 0, tiles, 1, start, [&](Expr tile, Expr sum) {
      Chunk at{tile * tileColumns, tileColumns};
      Expr score = maskScores(e.load(scores, i, at), query, at);
      e.store(score, scores, i, at);
      return sum + score;
    });
    Expr sum = reduceVector(vector::CombiningKind::ADD, lanes);
    if (sizes.hasMaximum()) {
      Expr factor = exp2(e.load(peak, 0, 0) - e.load(peaks, 0, query));
      queries.rewrite(query, [&](Expr feature) { return feature * factor; });
    }
    return queries.dot(query, ones, depth) + sum;
  }

  void emitCausalRows(const BlockLength &tokens) {
    auto emitRows = [&](Expr row, int64_t height) {
      Expr limit = row + height;
      Expr tiles = (limit + (tileColumns - 1)) / tileColumns;
      if (scoreDepth < sizes.count) {
        emitScores(row, height, tiles, scoreDepth ? row : 0, scoreDepth);
      }
      e.forLoop("queries", height, [&](Expr number) {
        Expr query = row + number;
        Expr i = scoreDepth ? query : number; // row of the scores
        if (canVanish()) {
          e.forEachChunk(sizes.count + 1, [&](const Chunk &at) {
            e.store(e.load(queries.rows, query, at), saved, 0, at);
          });
        }
        writeInverse(
            i, [&] { return emitCausalSum(i, query, tiles); },
            [&](Expr factor) {
              queries.enlarge(query, factor, saved, 0);
              emitScores(query, 1, tiles, i);
            });
      });
      if (!scoreDepth) {
        emitResults(row, height, limit);
      }
    };
    forEachTokenRows(e, "queries", tokens, emitRows);
  }
};
} // namespace

static int64_t scratchBytes(SummaryAttentionOp op,
                            const CpuSchedule &schedule) {
  return SummaryAttentionScratch{op, schedule, ScratchLayout()}
      .layout.getBytes();
}

static LogicalResult emit(KernelEmitter &e, SummaryAttentionOp op) {
  if (op.getMerged()) {
    return op.emitOpError("expects blocks that are not merged: on a CPU each "
                          "thread merges those that it reads");
  }
  FailureOr<Value> weight = packedWeight(e, op, op.getFeatures());
  if (failed(weight)) {
    return failure();
  }
  SummaryAttentionEmitter{{op, e.schedule, ScratchLayout(&e)}, e, *weight}
      .emit();
  return success();
}

static std::optional<Verdict> judgeUnit(SummaryAttentionOp op) {
  return FeatureSizes(op, op.getQuery(), op.getSummary(), CpuSchedule())
      .judgeUnit(op);
}

void attachSummaryAttentionRecipe(MLIRContext &context) {
  SummaryAttentionOp::attachInterface<
      FeatureRecipe<SummaryAttentionOp, emit, scratchBytes, judgeUnit>>(
      context);
}

} // namespace hova
