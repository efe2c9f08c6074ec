//===- Recipe.cpp - The loops of sigmoid attention on a CPU ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Units are batch entries and heads, and blocks of queries where these are few.
// Per head the keys are packed as panels [keys/panel][width][panel], so that
// scores are the same product as a linear layer's. Then per block of query rows
// and panel of keys: scores, sigmoid and the sum of its rows, on one tile in
// registers. Nothing waits for a maximum, as in a softmax. The weights of all
// keys stay in scratch until they are multiplied with the values.
//
// In bf16, where the machine multiplies pairs, two channels of a key are one
// element of a panel, the weights are bf16, and the values are packed, too, two
// keys in a row.
//
//   pack K ; for rows: W = sigmoid(c Q K^T + b) ;
//                      O = (W V) / (exp(sink) + sum W)

#include "codegen/cpu/recipes/Recipe.h"
#include "SigmoidAttention.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/Transpose.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace hova;

namespace {

/// Keys and channels that are transposed at once.
constexpr int64_t kTransposed = 16;

/// Sizes of one attention and of its scratch.
struct Layout {
  Layout(sigattn::AttentionOp op, const CpuSchedule &schedule)
      : heads(op.getHeads()), queries(shapeOf(op.getQuery())[1]),
        keys(shapeOf(op.getKey())[1]),
        keyWidth(shapeOf(op.getQuery())[2] / heads),
        valueWidth(shapeOf(op.getValue())[2] / heads),
        panel(schedule.tileColumns), panels(llvm::divideCeil(keys, panel)),
        interleave(schedule.pairs ? 2 : 1),
        panelRows(llvm::divideCeil(keyWidth, interleave)),
        valueRows(schedule.pairs ? llvm::divideCeil(keys, 2) : 0),
        blockRows(std::min(schedule.tileRows, queries)),
        weightStride(panels * panel + 2 * kTransposed) {}

  int64_t heads, queries, keys, keyWidth, valueWidth;
  int64_t panel;      ///< keys that lie side by side
  int64_t panels;     ///< the last may have lanes without a key
  int64_t interleave; ///< factor: channels in an element of a packed key
  int64_t panelRows, valueRows; ///< of packed keys, of packed values
  int64_t blockRows, weightStride;

  /// Bytes of the buffers, each in whole cache lines.
  static int64_t inLines(int64_t bytes) { return llvm::alignTo(bytes, 64); }
  int64_t packed() const { return inLines(4 * panels * panelRows * panel); }
  int64_t values() const { return inLines(4 * valueRows * valueWidth); }
  int64_t weights() const {
    return inLines(4 / interleave * blockRows * weightStride);
  }
  int64_t bytes() const {
    return packed() + values() + weights() + inLines(4 * blockRows);
  }
};

class Emitter {
public:
  Emitter(KernelEmitter &emitter, sigattn::AttentionOp op)
      : e(emitter), b(emitter.builder), loc(emitter.loc), op(op),
        layout(op, emitter.schedule),
        queryBlocks(blocksOf(*op->getParentOfType<KernelOp>().getUnits())) {
    bool pairs = layout.valueRows;
    Type f32 = b.getF32Type(), word = pairs ? b.getI32Type() : f32;
    Type weight = pairs ? b.getBF16Type() : f32;
    packed =
        e.scratchView(0, {layout.panels, layout.panelRows, layout.panel}, word);
    int64_t offset = layout.packed();
    if (pairs) {
      values =
          e.scratchView(offset, {layout.valueRows, layout.valueWidth}, word);
      offset += layout.values();
    }
    weights =
        e.scratchView(offset, {layout.blockRows, layout.weightStride}, weight);
    sums = e.scratchView(offset + layout.weights(), {layout.blockRows, 1}, f32);
  }

  void emit();

private:
  void packKeys();
  void packBlock(Value panel, Value lane, int64_t keys, Value row,
                 int64_t channels);
  void packValues();
  void packValueRow(Value row, Value low, Value high);
  Value sinkMass();
  void emitWeights(Value row, int64_t height);
  Value keysOf(Value panel, int64_t valid);
  void emitPanel(Value row, int64_t height, Value panel, int64_t valid);
  void emitValues(Value row, int64_t height);

  VectorType tileType(int64_t rows, int64_t columns) {
    return VectorType::get({rows, columns}, b.getF32Type());
  }
  Value broadcast(VectorType type, Value source) {
    return make<vector::BroadcastOp>(type, source);
  }
  template <typename OpTy, typename... Args> OpTy make(Args &&...args) {
    return e.make<OpTy>(std::forward<Args>(args)...);
  }

  KernelEmitter &e;
  OpBuilder &b;
  Location loc;
  sigattn::AttentionOp op;
  Layout layout;
  int64_t queryBlocks;                 ///< units of a batch entry and head
  Value packed, values, weights, sums; ///< in scratch; values with pairs alone
  // Of the current unit.
  Value batch, queryRow, keyRow, keyColumn, valueColumn, head, sink;
};

} // namespace

void Emitter::emit() {
  SmallVector<int64_t> heights =
      rowBlockHeights(layout.queries, queryBlocks, e.schedule.tileRows);
  e.forLoop("head", e.begin, e.end, 1, [&](Value unit) {
    Value block = e.rem(unit, queryBlocks), pair = e.div(unit, queryBlocks);
    batch = e.div(pair, layout.heads);
    head = e.rem(pair, layout.heads);
    queryRow = e.mul(batch, layout.queries);
    keyRow = e.mul(batch, layout.keys);
    keyColumn = e.mul(head, layout.keyWidth);
    valueColumn = e.mul(head, layout.valueWidth);
    // The head's block before, if it was of this call, has packed the keys.
    auto equal = arith::CmpIPredicate::eq;
    Value isFirst = make<arith::CmpIOp>(equal, unit, e.begin);
    Value isNew = make<arith::CmpIOp>(equal, block, e.index(0));
    e.ifThen(make<arith::OrIOp>(isFirst, isNew), [&] {
      packKeys();
      if (values) {
        packValues();
      }
    });
    sink = sinkMass();
    auto bound = [&](Value number) {
      return e.div(e.mul(number, layout.queries), queryBlocks);
    };
    forEachRowBlock(e, "queries", bound(block), bound(e.add(block, 1)), heights,
                    [&](const RowBlock &rows) {
                      emitWeights(rows.row, rows.height);
                      emitValues(rows.row, rows.height);
                    });
  });
}

/// packed[panel][c][lane + i] = K[j][c] for `keys` keys from `lane` of the
/// panel on, zero for those that are missing to 16, and the `channels` channels
/// c that begin in row `row` of the panel. A row is a channel or a pair of
/// them.
void Emitter::packBlock(Value panel, Value lane, int64_t keys, Value row,
                        int64_t channels) {
  Value key = e.buffer(op.getKey());
  Value first = e.add(keyRow, e.add(e.mul(panel, layout.panel), lane));
  Value column = e.add(keyColumn, e.mul(row, layout.interleave));
  auto type = VectorType::get(
      {kTransposed}, cast<MemRefType>(packed.getType()).getElementType());
  SmallVector<Value> rows;
  for (int64_t i = 0; i < keys; ++i) {
    Value own = e.add(first, i);
    rows.push_back(values ? make<vector::BitCastOp>(
                                type, e.loadLanes(key, own, column,
                                                  2 * kTransposed, channels))
                          : e.loadRow(key, own, column, kTransposed, channels));
  }
  rows.resize(kTransposed, make<arith::ConstantOp>(b.getZeroAttr(type)));
  transpose16(b, loc, rows);
  for (int64_t i = 0; i < llvm::divideCeil(channels, layout.interleave); ++i) {
    make<vector::StoreOp>(rows[i], packed,
                          ValueRange{panel, e.add(row, i), lane});
  }
}

void Emitter::packKeys() {
  int64_t channels = kTransposed * layout.interleave;
  int64_t whole = layout.keyWidth / channels * kTransposed;
  auto packLanes = [&](Value panel, Value lane, int64_t keys) {
    e.forLoop("channels", e.index(0), e.index(whole), kTransposed,
              [&](Value row) { packBlock(panel, lane, keys, row, channels); });
    if (int64_t rest = layout.keyWidth % channels) {
      packBlock(panel, lane, keys, e.index(whole), rest);
    }
  };
  int64_t wholePanels = layout.keys / layout.panel;
  e.forLoop("keys", e.index(0), e.index(wholePanels), 1, [&](Value panel) {
    e.forLoop("lanes", e.index(0), e.index(layout.panel), kTransposed,
              [&](Value lane) { packLanes(panel, lane, kTransposed); });
  });
  int64_t rest = layout.keys - wholePanels * layout.panel;
  for (int64_t lane = 0; rest && lane < layout.panel; lane += kTransposed) {
    packLanes(e.index(wholePanels), e.index(lane),
              std::clamp<int64_t>(rest - lane, 0, kTransposed));
  }
}

/// values[row][c] = (V[low][c], V[high][c]), a zero where there is no `high`.
void Emitter::packValueRow(Value row, Value low, Value high) {
  constexpr int64_t kLanes = 2 * kTransposed;
  Value value = e.buffer(op.getValue());
  for (int64_t from = 0; from < layout.valueWidth; from += kLanes) {
    int64_t valid = std::min(layout.valueWidth - from, kLanes);
    Value column = e.add(valueColumn, from);
    Value first = e.loadLanes(value, low, column, kLanes, valid);
    Value second =
        high ? e.loadLanes(value, high, column, kLanes, valid)
             : make<arith::ConstantOp>(b.getZeroAttr(first.getType()));
    for (int64_t half = 0; half < valid; half += kTransposed) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = half; lane < half + kTransposed; ++lane) {
        lanes.append({lane, kLanes + lane});
      }
      Value pairs = make<vector::BitCastOp>(
          VectorType::get({kTransposed}, b.getI32Type()),
          make<vector::ShuffleOp>(first, second, lanes));
      e.storeRow(pairs, values, row, e.index(from + half),
                 std::min(valid - half, kTransposed));
    }
  }
}

void Emitter::packValues() {
  e.forLoop("keys", e.index(0), e.index(layout.keys / 2), 1, [&](Value row) {
    Value low = e.add(keyRow, e.mul(row, 2));
    packValueRow(row, low, e.add(low, 1));
  });
  if (layout.keys % 2) {
    packValueRow(e.index(layout.keys / 2), e.add(keyRow, layout.keys - 1), {});
  }
}

/// exp(sink) of the head, as 2^(sink / ln 2) within what `hova.exp2` takes.
Value Emitter::sinkMass() {
  auto type = e.vectorType(kTransposed);
  Value own = e.loadScalar(e.buffer(op.getSink()), e.index(0), head);
  Value exponent = make<arith::MulFOp>(own, e.scalar(1 / std::log(2.0)));
  exponent = make<arith::MinimumFOp>(exponent, e.scalar(127));
  exponent = make<arith::MaximumFOp>(exponent, e.scalar(-126));
  Value mass = make<Exp2Op>(broadcast(type, exponent));
  return make<vector::ExtractOp>(mass, 0);
}

/// Weights of all keys, and exp(sink) + their sum.
void Emitter::emitWeights(Value row, int64_t height) {
  Value zero = e.index(0);
  make<TileStoreOp>(broadcast(tileType(height, 1), sink), sums, zero, zero,
                    IntegerAttr());
  int64_t whole = layout.keys / layout.panel;
  e.forLoop("keys", zero, e.index(whole), 1,
            [&](Value panel) { emitPanel(row, height, panel, layout.panel); });
  if (int64_t rest = layout.keys - whole * layout.panel) {
    emitPanel(row, height, e.index(whole), rest);
  }
}

/// Which lanes of a panel are keys that count; null where all are.
Value Emitter::keysOf(Value panel, int64_t valid) {
  if (Value keyValid = op.getKeyValid()) {
    // Booleans are bytes in memory, and lanes after the last are zero.
    Value bytes = e.loadLanes(e.buffer(keyValid), batch,
                              e.mul(panel, layout.panel), layout.panel, valid);
    Value zero = make<arith::ConstantOp>(b.getZeroAttr(bytes.getType()));
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne, bytes, zero);
  }
  return valid < layout.panel ? e.laneMask(layout.panel, valid) : Value();
}

void Emitter::emitPanel(Value row, int64_t height, Value panel, int64_t valid) {
  Value zero = e.index(0);
  VectorType type = tileType(height, layout.panel);
  Value score = make<TileProductOp>(
      type, e.buffer(op.getQuery()), e.add(queryRow, row), keyColumn, packed,
      ValueRange{panel, zero, zero}, e.index(layout.keyWidth));
  score =
      make<math::FmaOp>(score, e.splat(op.getScale().convertToDouble(), type),
                        e.splat(op.getOffset().convertToDouble(), type));
  Value weight = make<ActivationOp>(type, ActivationKind::sigmoid, score);
  if (Value isKey = keysOf(panel, valid)) {
    auto maskType = VectorType::get(type.getShape(), b.getI1Type());
    weight = make<arith::SelectOp>(broadcast(maskType, isKey), weight,
                                   e.splat(0, type));
  }
  make<TileStoreOp>(weight, weights, zero, e.mul(panel, layout.panel),
                    IntegerAttr());
  VectorType column = tileType(height, 1);
  Value before = make<TileLoadOp>(column, sums, zero, zero, IntegerAttr());
  Value own = make<TileRowSumOp>(column, weight);
  make<TileStoreOp>(make<arith::AddFOp>(before, own), sums, zero, zero,
                    IntegerAttr());
}

void Emitter::emitValues(Value row, int64_t height) {
  Value zero = e.index(0);
  auto emitColumns = [&](Value column, int64_t lanes, int64_t valid) {
    IntegerAttr columns;
    if (valid < lanes) {
      columns = b.getI64IntegerAttr(valid);
    }
    VectorType type = tileType(height, lanes);
    Value start = e.add(valueColumn, column);
    // The weight after an odd number of keys is zero, as is its value.
    Value sum =
        values ? make<TileProductOp>(type, weights, zero, zero, values,
                                     ValueRange{zero, column},
                                     e.index(2 * layout.valueRows), columns)
               : make<TileProductOp>(
                     type, weights, zero, zero, e.buffer(op.getValue()),
                     ValueRange{keyRow, start}, e.index(layout.keys), columns);
    Value total =
        make<TileLoadOp>(tileType(height, 1), sums, zero, zero, IntegerAttr());
    Value factor = make<arith::DivFOp>(e.splat(1, tileType(height, 1)), total);
    Value mean = make<arith::MulFOp>(sum, broadcast(type, factor));
    e.finishAndStoreTile({e.add(queryRow, row), start, height, lanes, valid},
                         mean);
  };
  int64_t lanes = layout.panel;
  int64_t whole = layout.valueWidth / lanes * lanes;
  e.forLoop("columns", zero, e.index(whole), lanes,
            [&](Value column) { emitColumns(column, lanes, lanes); });
  if (int64_t rest = layout.valueWidth - whole) {
    emitColumns(e.index(whole), llvm::PowerOf2Ceil(rest), rest);
  }
}

static void emit(KernelEmitter &emitter, sigattn::AttentionOp op) {
  Emitter(emitter, op).emit();
}

static int64_t scratchBytes(sigattn::AttentionOp op,
                            const CpuSchedule &schedule) {
  return Layout(op, schedule).bytes();
}

namespace {
struct Recipe : CpuRecipe<Recipe, sigattn::AttentionOp, emit, scratchBytes> {
  bool canMultiplyPairs(Operation *op) const {
    return llvm::all_of(op->getOperands().take_front(3), [](Value operand) {
      return getElementTypeOrSelf(operand).isBF16();
    });
  }
};
} // namespace

void sigattn::attachRecipe(MLIRContext &context) {
  AttentionOp::attachInterface<Recipe>(context);
}
