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

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/FeatureRows.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowBlocks.h"

using namespace mlir;

namespace hova {

static FeatureSizes sizesOf(KeySummaryOp op) {
  return FeatureSizes(op, op.getKey(),
                      shapeOf(op.getValue())[2] / op.getHeads());
}

namespace {
class KeySummaryEmitter {
public:
  KeySummaryEmitter(KernelEmitter &emitter, KeySummaryOp op, Value weight)
      : e(emitter), b(emitter.builder), op(op), sizes(sizesOf(op)),
        features(e, sizes, layout, op.getKey(), weight),
        ones(e.scratchView(layout.take(sizes.block), {1, sizes.block},
                           b.getF32Type())),
        sums(e.scratchView(layout.take(sizes.count), {1, sizes.count},
                           b.getF32Type())),
        value(e.buffer(op.getValue())), slots(e.buffer(op.getResult())) {
    if (op.getKeyValid()) {
      valid = e.buffer(op.getKeyValid());
    }
  }
  void emit();

private:
  void emitBlock(int64_t tokens);
  void writeOnes(int64_t tokens);
  Value isValid(Value token);
  Value emitMaximum(int64_t tokens);
  void emitFeatures(int64_t tokens);
  void emitSums(int64_t tokens);
  void emitSumsOfOnes(int64_t tokens);
  void emitPlainSums(int64_t tokens);
  /// Tiles of `height` rows of the slot from row `row`: the product of `lhs`
  /// with the values.
  void multiplyValues(Value lhs, Value lhsRow, int64_t height, Value row,
                      int64_t tokens);

  KernelEmitter &e;
  OpBuilder &b;
  KeySummaryOp op;
  FeatureSizes sizes;
  ScratchLayout layout;
  FeatureRows features;
  Value ones, sums; ///< matrices of one row
  Value value, slots, valid;
  // Of the current unit.
  Value batch, head, token, keyRow, slotRow, maximum;
};
} // namespace

void KeySummaryEmitter::emit() {
  int64_t rows = sizes.count + summaryExtraRows(sizes.map);
  e.forLoop("token_block", e.begin, e.end, 1, [&](Value unit) {
    Value block = e.rem(unit, sizes.blocks), pair = e.div(unit, sizes.blocks);
    batch = e.div(pair, sizes.heads);
    head = e.rem(pair, sizes.heads);
    token = e.mul(block, sizes.block);
    keyRow = e.add(e.mul(batch, sizes.tokens), token);
    slotRow = e.mul(unit, rows);
    if (sizes.last == sizes.block) {
      return emitBlock(sizes.block);
    }
    // A body for each length, whose loops have constant bounds.
    Value last = e.index(sizes.blocks - 1);
    for (auto [predicate, tokens] :
         {std::pair(arith::CmpIPredicate::ne, sizes.block),
          std::pair(arith::CmpIPredicate::eq, sizes.last)}) {
      Value is = e.make<arith::CmpIOp>(predicate, block, last);
      int64_t own = tokens;
      e.ifThen(is, [&] { emitBlock(own); });
    }
  });
}

void KeySummaryEmitter::emitBlock(int64_t tokens) {
  writeOnes(tokens);
  features.emitProducts(keyRow, head, tokens);
  emitFeatures(tokens);
  emitSums(tokens);
  emitSumsOfOnes(tokens);
  if (sizes.hasMaximum()) {
    emitPlainSums(tokens);
  }
}

/// ones[j] = key_valid[j] ? 1 : 0.
void KeySummaryEmitter::writeOnes(int64_t tokens) {
  e.forEachChunk(tokens, [&](Value column, int64_t lanes, int64_t inside) {
    VectorType type = e.vectorType(lanes);
    Value one = e.splat(1, type);
    if (valid) {
      Value bytes =
          e.loadLanes(valid, batch, e.add(token, column), lanes, inside);
      Value isKey = e.make<arith::CmpIOp>(
          arith::CmpIPredicate::ne, bytes,
          e.make<arith::ConstantOp>(b.getZeroAttr(bytes.getType())));
      one = e.make<arith::SelectOp>(isKey, one, e.splat(0, type));
    }
    e.storeRow(one, ones, e.index(0), column, inside);
  });
}

Value KeySummaryEmitter::isValid(Value i) {
  Value own = e.loadScalar(ones, e.index(0), i);
  return e.make<arith::CmpFOp>(arith::CmpFPredicate::ONE, own, e.scalar(0));
}

/// The largest product of the block's keys.
Value KeySummaryEmitter::emitMaximum(int64_t tokens) {
  return e.forLoop(
      "tokens", e.index(0), e.index(tokens), 1, e.scalar(kNoKeyMaximum),
      [&](Value i, ValueRange carried) {
        Value own = features.maximum(i);
        if (valid) {
          own = e.make<arith::SelectOp>(isValid(i), own, carried[0]);
        }
        return SmallVector<Value>{e.make<arith::MaxNumFOp>(carried[0], own)};
      })[0];
}

void KeySummaryEmitter::emitFeatures(int64_t tokens) {
  if (!sizes.hasExponentials() && !valid) {
    return;
  }
  Value shift = e.scalar(sizes.shift());
  if (sizes.hasMaximum()) {
    maximum = emitMaximum(tokens);
    shift = e.make<arith::NegFOp>(maximum);
  }
  e.forLoop("tokens", e.index(0), e.index(tokens), 1, [&](Value i) {
    if (sizes.hasExponentials()) {
      features.exponentiate(i, shift, 0);
    }
    if (valid) {
      features.keepIf(isValid(i), i);
    }
  });
}

void KeySummaryEmitter::multiplyValues(Value lhs, Value lhsRow, int64_t height,
                                       Value row, int64_t tokens) {
  auto emitColumns = [&](Value column, int64_t lanes, int64_t inside) {
    IntegerAttr columns;
    if (inside < lanes) {
      columns = b.getI64IntegerAttr(inside);
    }
    auto type = VectorType::get({height, lanes}, b.getF32Type());
    Value from = e.add(e.mul(head, sizes.valueWidth), column);
    Value tile = e.make<TileProductOp>(type, lhs, lhsRow, e.index(0), value,
                                       ValueRange{keyRow, from},
                                       e.index(tokens), columns);
    e.make<TileStoreOp>(tile, slots, e.add(slotRow, row), column, columns);
  };
  forEachTileColumn(e, sizes.valueWidth, emitColumns);
}

void KeySummaryEmitter::emitSums(int64_t tokens) {
  forEachEvenBlock(e, "features", sizes.count, e.schedule.tileRows,
                   [&](Value row, int64_t height) {
                     multiplyValues(features.transposed(), row, height, row,
                                    tokens);
                   });
}

/// The sums of the features, by columns, become the last column of the slot.
void KeySummaryEmitter::emitSumsOfOnes(int64_t tokens) {
  Value zero = e.index(0);
  forEachTileColumn(e, sizes.count,
                    [&](Value column, int64_t lanes, int64_t inside) {
                      IntegerAttr columns;
                      if (inside < lanes) {
                        columns = b.getI64IntegerAttr(inside);
                      }
                      Value tile = e.make<TileProductOp>(
                          VectorType::get({1, lanes}, b.getF32Type()), ones,
                          zero, zero, features.matrix(),
                          ValueRange{zero, column}, e.index(tokens), columns);
                      e.make<TileStoreOp>(tile, sums, zero, column, columns);
                    });
  e.forLoop("features", zero, e.index(sizes.count), 1, [&](Value r) {
    Value own = e.loadScalar(sums, zero, r);
    e.make<memref::StoreOp>(
        own, slots, ValueRange{e.add(slotRow, r), e.index(sizes.valueWidth)});
  });
}

/// What eps is multiplied with, and the maximum.
void KeySummaryEmitter::emitPlainSums(int64_t tokens) {
  Value zero = e.index(0), row = e.index(sizes.count);
  multiplyValues(ones, zero, 1, row, tokens);
  Value count = e.scalar(static_cast<double>(tokens));
  if (valid) {
    count = e.forLoop("tokens", zero, e.index(tokens), 1, e.scalar(0),
                      [&](Value i, ValueRange carried) {
                        return SmallVector<Value>{e.make<arith::AddFOp>(
                            carried[0], e.loadScalar(ones, zero, i))};
                      })[0];
  }
  e.make<memref::StoreOp>(
      count, slots, ValueRange{e.add(slotRow, row), e.index(sizes.valueWidth)});
  e.forEachChunk(
      sizes.valueWidth + 1, [&](Value column, int64_t lanes, int64_t inside) {
        Value own = e.make<vector::BroadcastOp>(e.vectorType(lanes), maximum);
        e.storeRow(own, slots, e.add(slotRow, e.add(row, 1)), column, inside);
      });
}

static int64_t scratchBytes(KeySummaryOp op, const CpuSchedule &) {
  FeatureSizes sizes = sizesOf(op);
  ScratchLayout layout;
  FeatureRows::takeScratch(sizes, layout);
  layout.take(sizes.block);
  layout.take(sizes.count);
  return layout.bytes;
}

static LogicalResult emit(KernelEmitter &e, KeySummaryOp op) {
  Value weight;
  if (op.getFeatures()) {
    weight = packedWeight(e, op, op.getFeatures());
    if (!weight) {
      return failure();
    }
  }
  KeySummaryEmitter(e, op, weight).emit();
  return success();
}

namespace {
struct KeySummaryRecipe
    : CpuRecipe<KeySummaryRecipe, KeySummaryOp, emit, scratchBytes> {
  bool readsPanels(Operation *op, unsigned index) const {
    return op->getOperand(index) == cast<KeySummaryOp>(op).getFeatures();
  }
  bool takesJoins(Operation *) const { return false; }
};
} // namespace

void attachKeySummaryRecipe(MLIRContext &context) {
  KeySummaryOp::attachInterface<KeySummaryRecipe>(context);
}

} // namespace hova
