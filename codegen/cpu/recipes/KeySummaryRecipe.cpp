//===- KeySummaryRecipe.cpp - Loops of sums over a block of keys ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A unit is a block of keys of one head, whose sums are its own slot of the
// result:
//
//   F = features of the block's keys            (scratch)
//   slot rows 0 .. m-1 = F^T [V | 1]            (tiles; F is read down columns)
//   softmax: slot row m = 1^T [V | 1], slot row m + 1 = maximum
//
// A key that is padding has a row of zeros in F, and a zero in the row of ones.
//
// By a matrix unit the product is V^T F, of which a block of 32 features at a
// time is turned to where it belongs: V is of bf16, and turning it takes less
// than turning F, which is three factors.

#include "codegen/cpu/recipes/FeatureRows.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/Transpose.h"

using namespace mlir;

namespace hova {

namespace {
/// Sizes, and buffers that `layout` places.
struct KeySummaryScratch {
  KeySummaryOp op;
  const CpuSchedule &schedule;
  ScratchLayout layout;
  FeatureSizes sizes{op, op.getKey(), op.getResult(), schedule};
  UnitFeatures unit{sizes, layout, /*rows=*/sizes.valueWidth, op};
  FeatureRows::Scratch keyRows{sizes, layout, unit.mostRows - sizes.block};
  Value ones = layout.take({1, sizes.block}); ///< of keys
  Value sums = layout.take({1, sizes.count}); ///< of features
  // By the unit, of a block of keys: values, turned; and of 32 features, pairs
  // of keys and sums.
  int64_t steps = sizes.usesUnit ? wholeSteps(sizes.block) : 0;
  Value turned =
      layout.take({steps ? sizes.valueWidth : 0, paddedStride(steps, 2)},
                  Builder(op.getContext()).getBF16Type());
  SplitFactor pairs{layout,
                    {steps / 2, MatrixUnit::blockColumns},
                    Builder(op.getContext()).getI32Type()};
  Value products =
      layout.take({steps ? sizes.valueWidth : 0, MatrixUnit::blockColumns});
};

struct KeySummaryEmitter : KeySummaryScratch {
  KernelEmitter &e;
  Value weight;
  FeatureRows keys{e, sizes, keyRows, op.getKey(), weight, unit};
  KeyMask mask{e, ones, op.getKeyValid()};
  /// The features, read as [features][tokens].
  Value columns =
      e.reinterpret(keys.rows, {sizes.count, sizes.block}, {1, sizes.stride});
  Value value = e.buffer(op.getValue()), slots = e.buffer(op.getResult());
  // Of the current unit.
  TokenBlock block = {};
  Expr slot = {}; ///< its first row

  void emit() {
    int64_t rows = sizes.count + summaryExtraRows(sizes.map);
    keys.splitWeight();
    e.forLoop("token_block", e.begin, e.end, 1, [&](Expr unit) {
      block = tokenBlockOf(e, unit, sizes);
      slot = unit * rows;
      forEachLength(e, block, sizes,
                    [&](const BlockLength &length) { emitBlock(length); });
    });
  }

  void emitBlock(const BlockLength &length) {
    Expr tokens = length.count;
    mask.write(block, length);
    keys.emitProducts(block.row, block.head, length);
    Expr maximum = sizes.hasMaximum() ? emitMaximum(tokens) : Expr();
    if (sizes.hasExponentials() || mask) {
      Expr shift = maximum ? -maximum : Expr(sizes.shift());
      e.forLoop("tokens", tokens,
                [&](Expr i) { keys.finishKey(i, shift, mask.counts(i)); });
    }
    if (sizes.usesUnit) {
      emitUnitSums(tokens);
    } else {
      forEachEvenBlock(e, "features", sizes.count, e.schedule.tileRows,
                       [&](Expr row, int64_t height) {
                         multiplyValues(columns, row, height, row, tokens);
                       });
    }
    emitSumsOfOnes(tokens);
    if (maximum) {
      emitPlainSums(tokens);
      e.forEachChunk(sizes.valueWidth + 1, [&](const Chunk &at) {
        e.store(maximum.broadcast(e.vectorType(at.lanes)), slots,
                slot + (sizes.count + 1), at);
      });
    }
  }

  /// The largest product of the block's keys.
  Expr emitMaximum(Expr tokens) {
    return e.fold("tokens", 0, tokens, 1, kNoKeyMaximum,
                  [&](Expr i, Expr before) {
                    Expr maximum = keys.maximum(i);
                    return max(before, select(mask.counts(i), maximum, before));
                  });
  }

  /// Tiles of `height` rows of the slot from row `row`: the product of `lhs`
  /// with the values.
  void multiplyValues(Value lhs, Expr lhsRow, int64_t height, Expr row,
                      Expr tokens) {
    Expr left = block.head * sizes.valueWidth;
    forEachTileColumn(e, sizes.valueWidth, [&](const Chunk &at) {
      Expr tile = e.multiply({row, height, at}, {lhs, {lhsRow, 0}},
                             {value, {block.row, left + at.column}}, tokens);
      e.store(tile, slots, {slot + row, height, at});
    });
  }

  void emitUnitSums(Expr tokens) {
    turnTokens(e, turned, {value, {block.row, block.head * sizes.valueWidth}},
               tokens, sizes.valueWidth);
    UnitBlocks blocks(0, sizes.valueWidth, unit.height);
    e.forEachChunk(
        sizes.count, MatrixUnit::blockColumns, [&](const Chunk &features) {
          pairFeatures(features, tokens);
          e.forLoop("blocks", blocks.count, [&](Expr number) {
            Expr row = blocks.firstOf(number);
            multiplySplit(e, {products, {row, 0}},
                          SplitFactor({turned, {row, 0}}), pairs,
                          blocks.rowCount, unit.height, wholeSteps(tokens));
          });
          storeTurned(features);
        });
  }

  /// 32 features of the keys, of which those of a chunk exist, as pairs of
  /// keys.
  void pairFeatures(const Chunk &features, Expr tokens) {
    constexpr int64_t lanes = CpuFacts::registerLanes;
    forEachPair(e, tokens, [&](Expr pair, Expr low, Expr high) {
      for (int64_t column = 0; column < MatrixUnit::blockColumns;
           column += lanes) {
        Chunk at{features.column + column, lanes,
                 std::clamp<int64_t>(features.valid - column, 0, lanes)};
        auto load = [&](const Expr &key) {
          return key && at.valid ? e.load(keys.rows, key, at) : Expr();
        };
        pairs.storePairs(e, load(low), load(high), pair, column);
      }
    });
  }

  /// The sums of up to 32 features, to their rows of the slot.
  void storeTurned(const Chunk &features) {
    e.forEachChunk(sizes.valueWidth, kTransposed, [&](const Chunk &values) {
      for (int64_t first = 0; first < features.valid; first += kTransposed) {
        transposeBlock(
            e, values.valid, std::min(features.valid - first, kTransposed),
            [&](int64_t i) {
              return e.load(products, values.column + i, {first, kTransposed});
            },
            [&](Expr sums, int64_t i) {
              e.store(sums, slots, slot + features.column + (first + i),
                      {values.column, kTransposed, values.valid});
            });
      }
    });
  }

  /// The sums of the features, by columns, become the last column of the slot.
  void emitSumsOfOnes(Expr tokens) {
    forEachTileColumn(e, sizes.count, [&](const Chunk &at) {
      Expr tile = e.multiply({0, at}, {ones, {0, 0}},
                             {keys.rows, {0, at.column}}, tokens);
      e.store(tile, sums, {0, at});
    });
    e.forLoop("features", sizes.count, [&](Expr r) {
      e.store(e.load(sums, 0, r), slots, slot + r, sizes.valueWidth);
    });
  }

  /// What eps is multiplied with.
  void emitPlainSums(Expr tokens) {
    multiplyValues(ones, 0, 1, sizes.count, tokens);
    Expr count = tokens.isConstant() ? tokens : toFloat(tokens);
    if (mask) {
      count = e.fold("tokens", 0, tokens, 1, 0.0, [&](Expr i, Expr sum) {
        return sum + e.load(ones, 0, i);
      });
    }
    e.store(count, slots, slot + sizes.count, sizes.valueWidth);
  }

  /// An index as f32.
  Expr toFloat(Expr number) {
    return e.compute<arith::UIToFPOp>(
        e.builder.getF32Type(), toInteger(number, e.builder.getI32Type()));
  }
};
} // namespace

static int64_t scratchBytes(KeySummaryOp op, const CpuSchedule &schedule) {
  return KeySummaryScratch{op, schedule, ScratchLayout()}.layout.getBytes();
}

static LogicalResult emit(KernelEmitter &e, KeySummaryOp op) {
  FailureOr<Value> weight = packedWeight(e, op, op.getFeatures());
  if (failed(weight)) {
    return failure();
  }
  KeySummaryEmitter{{op, e.schedule, ScratchLayout(&e)}, e, *weight}.emit();
  return success();
}

static std::optional<Verdict> judgeUnit(KeySummaryOp op) {
  return FeatureSizes(op, op.getKey(), op.getResult(), CpuSchedule())
      .judgeUnit(op);
}

void attachKeySummaryRecipe(MLIRContext &context) {
  KeySummaryOp::attachInterface<
      FeatureRecipe<KeySummaryOp, emit, scratchBytes, judgeUnit>>(context);
}

} // namespace hova
