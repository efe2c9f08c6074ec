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

#include "codegen/cpu/Recipe.h"
#include "SigmoidAttention.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/Transpose.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace hova;

namespace {

/// Sizes of one attention.
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
        blockRows(std::min(schedule.tileRows, queries)) {}

  int64_t heads, queries, keys, keyWidth, valueWidth;
  int64_t panel;      ///< keys that lie side by side
  int64_t panels;     ///< the last may have lanes without a key
  int64_t interleave; ///< factor: channels in an element of a packed key
  int64_t panelRows, valueRows; ///< of packed keys, of packed values
  int64_t blockRows;
};

/// Its scratch; without an emitter, the bytes of it.
struct Buffers {
  Buffers(const Layout &l, MLIRContext *context,
          KernelEmitter *emitter = nullptr) {
    Builder b(context);
    ScratchLayout scratch(emitter);
    Type f32 = b.getF32Type(), i32 = b.getI32Type();
    Type word = l.valueRows ? i32 : f32;
    packed = scratch.take({l.panels, l.panelRows, l.panel}, word);
    values = scratch.take({l.valueRows, l.valueWidth}, i32);
    weights = scratch.take({l.blockRows, l.panels * l.panel + 2 * kTransposed},
                           l.valueRows ? b.getBF16Type() : f32);
    sums = scratch.take({l.blockRows, 1}, f32);
    bytes = scratch.getBytes();
  }

  Value packed, weights, sums;
  Value values; ///< null unless pairs are multiplied
  int64_t bytes;
};

class Emitter {
public:
  Emitter(KernelEmitter &emitter, sigattn::AttentionOp op)
      : e(emitter), op(op), layout(op, emitter.schedule),
        scratch(layout, op.getContext(), &emitter),
        queryBlocks(blocksOf(*op->getParentOfType<KernelOp>().getUnits())) {}

  void emit();

private:
  void packKeys();
  void packBlock(Expr panel, Expr lane, int64_t keys, Expr row,
                 int64_t channels);
  void packValues();
  void packValueRow(Expr row, Expr low, Expr high);
  Expr sinkMass();
  void emitWeights(Expr row, int64_t height);
  Expr keysOf(const Chunk &keys);
  void emitPanel(Expr row, int64_t height, Expr panel, int64_t valid);
  void emitValues(Expr row, int64_t height);

  KernelEmitter &e;
  sigattn::AttentionOp op;
  const Layout layout;
  const Buffers scratch;
  int64_t queryBlocks; ///< units of a batch entry and head
  // Of the current unit.
  Expr batch, queryRow, keyRow, keyColumn, valueColumn, head, sink;
};

} // namespace

void Emitter::emit() {
  SmallVector<int64_t> heights =
      heightsOf(rowBlocksOf(layout.queries, queryBlocks, e.schedule.tileRows));
  e.forLoop("head", e.begin, e.end, 1, [&](Expr unit) {
    Expr block = unit % queryBlocks, pair = unit / queryBlocks;
    batch = pair / layout.heads;
    head = pair % layout.heads;
    queryRow = batch * layout.queries;
    keyRow = batch * layout.keys;
    keyColumn = head * layout.keyWidth;
    valueColumn = head * layout.valueWidth;
    // The head's block before, if it was of this call, has packed the keys.
    e.ifThen((unit == e.begin) | (block == 0), [&] {
      packKeys();
      if (scratch.values) {
        packValues();
      }
    });
    sink = sinkMass();
    auto bound = [&](Expr number) {
      return number * layout.queries / queryBlocks;
    };
    forEachRowBlock(e, "queries", bound(block), bound(block + 1), heights,
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
void Emitter::packBlock(Expr panel, Expr lane, int64_t keys, Expr row,
                        int64_t channels) {
  Value key = e.buffer(op.getKey());
  Expr first = keyRow + panel * layout.panel + lane;
  Chunk at{keyColumn + row * layout.interleave, kTransposed * layout.interleave,
           channels};
  auto type =
      VectorType::get({kTransposed}, getElementTypeOrSelf(scratch.packed));
  auto load = [&](int64_t i) {
    return scratch.values ? e.compute<vector::BitCastOp>(
                                type, e.loadAsStored(key, first + i, at))
                          : e.load(key, first + i, at);
  };
  transposeBlock(e, keys, llvm::divideCeil(channels, layout.interleave), load,
                 [&](Expr values, int64_t i) {
                   e.store(values, {scratch.packed, {panel, row + i, lane}},
                           kTransposed);
                 });
}

void Emitter::packKeys() {
  int64_t channels = kTransposed * layout.interleave;
  int64_t whole = layout.keyWidth / channels * kTransposed;
  auto packLanes = [&](Expr panel, Expr lane, int64_t keys) {
    e.forLoop("channels", 0, whole, kTransposed,
              [&](Expr row) { packBlock(panel, lane, keys, row, channels); });
    if (int64_t rest = layout.keyWidth % channels) {
      packBlock(panel, lane, keys, whole, rest);
    }
  };
  int64_t wholePanels = layout.keys / layout.panel;
  e.forLoop("keys", wholePanels, [&](Expr panel) {
    e.forLoop("lanes", 0, layout.panel, kTransposed,
              [&](Expr lane) { packLanes(panel, lane, kTransposed); });
  });
  int64_t rest = layout.keys - wholePanels * layout.panel;
  for (int64_t lane = 0; rest && lane < layout.panel; lane += kTransposed) {
    packLanes(wholePanels, lane,
              std::clamp<int64_t>(rest - lane, 0, kTransposed));
  }
}

/// values[row][c] = (V[low][c], V[high][c]), a zero where there is no `high`.
void Emitter::packValueRow(Expr row, Expr low, Expr high) {
  constexpr int64_t kLanes = 2 * kTransposed;
  Value value = e.buffer(op.getValue());
  for (int64_t from = 0; from < layout.valueWidth; from += kLanes) {
    int64_t valid = std::min(layout.valueWidth - from, kLanes);
    Chunk at{valueColumn + from, kLanes, valid};
    Expr first = e.loadAsStored(value, low, at);
    Expr second = high ? e.loadAsStored(value, high, at)
                       : Expr(0).in(e.builder, first.getType());
    for (int64_t half = 0; half < valid; half += kTransposed) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = half; lane < half + kTransposed; ++lane) {
        lanes.append({lane, kLanes + lane});
      }
      Expr pairs = e.compute<vector::BitCastOp>(
          VectorType::get({kTransposed}, e.builder.getI32Type()),
          e.make<vector::ShuffleOp>(first, second, lanes));
      e.store(pairs, scratch.values, row,
              {from + half, kTransposed, std::min(valid - half, kTransposed)});
    }
  }
}

void Emitter::packValues() {
  e.forLoop("keys", layout.keys / 2, [&](Expr row) {
    Expr low = keyRow + row * 2;
    packValueRow(row, low, low + 1);
  });
  if (layout.keys % 2) {
    packValueRow(layout.keys / 2, keyRow + (layout.keys - 1), {});
  }
}

/// exp(sink) of the head, as 2^(sink / ln 2) within what `hova.exp2` takes.
Expr Emitter::sinkMass() {
  Expr exponent = e.load(e.buffer(op.getSink()), 0, head) * (1 / std::log(2.0));
  exponent = e.compute<arith::MinimumFOp>(exponent, e.scalar(127));
  return exp2(e.compute<arith::MaximumFOp>(exponent, e.scalar(-126)));
}

/// Weights of all keys, and exp(sink) + their sum.
void Emitter::emitWeights(Expr row, int64_t height) {
  e.store(sink.broadcast(e.tileType(height, 1)), scratch.sums, {0, 0, height});
  int64_t whole = layout.keys / layout.panel;
  e.forLoop("keys", whole,
            [&](Expr panel) { emitPanel(row, height, panel, layout.panel); });
  if (int64_t rest = layout.keys - whole * layout.panel) {
    emitPanel(row, height, whole, rest);
  }
}

/// Which lanes of a panel are keys that count; null where all are.
Expr Emitter::keysOf(const Chunk &keys) {
  if (Value keyValid = op.getKeyValid()) {
    // Booleans are bytes in memory, and lanes after the last are zero.
    return e.loadAsStored(e.buffer(keyValid), batch, keys) != 0;
  }
  return e.laneMask(keys.lanes, keys.valid);
}

void Emitter::emitPanel(Expr row, int64_t height, Expr panel, int64_t valid) {
  Expr first = panel * layout.panel;
  TilePlace place{0, height, {first, layout.panel}};
  Expr score =
      e.multiply(place, {e.buffer(op.getQuery()), {queryRow + row, keyColumn}},
                 {scratch.packed, {panel, 0, 0}}, layout.keyWidth);
  score = fma(score, op.getScale().convertToDouble(),
              op.getOffset().convertToDouble());
  Expr weight =
      e.compute<ActivationOp>(score.getType(), ActivationKind::sigmoid, score);
  weight = select(keysOf({first, layout.panel, valid}), weight, 0);
  e.store(weight, scratch.weights, place);
  TilePlace column{0, 0, height};
  Expr sum = e.compute<TileRowSumOp>(e.tileType(height, 1), weight);
  e.store(e.load(scratch.sums, column) + sum, scratch.sums, column);
}

void Emitter::emitValues(Expr row, int64_t height) {
  e.forEachChunk(layout.valueWidth, layout.panel, [&](const Chunk &at) {
    TilePlace place{0, height, at};
    MatrixPlace weights{scratch.weights, {0, 0}};
    // The weight after an odd number of keys is zero, as is its value.
    Expr sum = scratch.values ? e.multiply(place, weights,
                                           {scratch.values, {0, at.column}},
                                           2 * layout.valueRows)
                              : e.multiply(place, weights,
                                           {e.buffer(op.getValue()),
                                            {keyRow, valueColumn + at.column}},
                                           layout.keys);
    Expr factor = 1 / e.load(scratch.sums, {0, 0, height});
    e.finishAndStoreTile({queryRow + row, height, at + valueColumn},
                         sum * factor);
  });
}

static void emit(KernelEmitter &emitter, sigattn::AttentionOp op) {
  Emitter(emitter, op).emit();
}

static int64_t scratchBytes(sigattn::AttentionOp op,
                            const CpuSchedule &schedule) {
  return Buffers(Layout(op, schedule), op.getContext()).bytes;
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
