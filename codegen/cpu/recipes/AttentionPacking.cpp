//===- AttentionPacking.cpp - Keys and values as the products read them ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys are packed once per unit as panels [keys/panel][width][panel], so that
// scores are the same product as a linear layer's. 16 x 16 blocks go through
// registers. Pairs of bf16 are elements of 32 bits for this; with them the
// values are packed as well, [keys/2][width] pairs of two keys. The slots of a
// memory follow the keys: only the panel where they meet has rows of both.

#include "codegen/cpu/recipes/AttentionEmitter.h"
#include "codegen/cpu/recipes/Transpose.h"

using namespace mlir;

namespace hova {

/// packed[panel][c][lane + i] = keys[i][c], zero for those that are missing to
/// 16, and the `channels` channels c that begin in row `row` of the panel. A
/// row is a channel or a pair of them.
void AttentionEmitter::packBlock(const KeyPanel &panel, Expr lane,
                                 ArrayRef<OperandRow> keys, Expr row,
                                 int64_t channels) {
  MatrixPlace place = packedKeys(panel, row, lane);
  auto type =
      VectorType::get({kTransposed}, getElementTypeOrSelf(place.matrix));
  Chunk chunk{keyColumn + row * layout.interleave,
              kTransposed * layout.interleave, channels};
  auto load = [&](int64_t i) {
    const OperandRow &key = keys[i];
    return layout.pairs ? e.compute<vector::BitCastOp>(
                              type, e.loadAsStored(key.matrix, key.row, chunk))
                        : e.load(key.matrix, key.row, chunk);
  };
  transposeBlock(e, keys.size(), llvm::divideCeil(channels, layout.interleave),
                 load, [&](Expr values, int64_t i) {
                   e.store(values, packedKeys(panel, row + i, lane),
                           kTransposed);
                 });
}

/// All channels of up to 16 keys.
void AttentionEmitter::packLanes(const KeyPanel &panel, Expr lane,
                                 ArrayRef<OperandRow> keys) {
  int64_t channels = kTransposed * layout.interleave;
  int64_t wholeRows = layout.keyWidth / channels * kTransposed;
  e.forLoop("channels", 0, wholeRows, kTransposed,
            [&](Expr row) { packBlock(panel, lane, keys, row, channels); });
  if (int64_t rest = layout.keyWidth % channels) {
    packBlock(panel, lane, keys, wholeRows, rest);
  }
}

/// Up to 16 rows of a matrix, the last of which is `last`, unless that is null.
static SmallVector<OperandRow> rowsOf(Value matrix, Expr first, int64_t count,
                                      Expr last = {}) {
  SmallVector<OperandRow> rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back({matrix, last ? min(first + i, last) : first + i});
  }
  return rows;
}

/// A panel whose first column is `first`: keys, slots, or keys and then slots.
void AttentionEmitter::packMixedPanel(const KeyPanel &panel, int64_t first) {
  for (int64_t lane = 0; lane < panel.lanes; lane += kTransposed) {
    int64_t from = first + lane;
    auto countTo = [&](int64_t end) {
      return std::clamp<int64_t>(end - from, 0, kTransposed);
    };
    int64_t keys = countTo(layout.keys), all = countTo(layout.columns);
    SmallVector<OperandRow> rows =
        rowsOf(e.buffer(op.getKey()), keyRow + from, keys);
    if (all > keys) {
      rows.append(rowsOf(e.buffer(op.getMemoryKey()), from + keys - layout.keys,
                         all - keys));
    }
    packLanes(panel, lane, rows);
  }
}

void AttentionEmitter::packKeys() {
  // Lanes after the last key of a block have some of the next one, or the last
  // key again, and limits hide them.
  Expr last = layout.blocks.size && layout.mayLeaveKeys
                  ? keyRow + (layout.keys - 1)
                  : Expr();
  // Panels of one matrix, whose row of column 0 is `first`.
  auto packPanels = [&](Expr begin, Expr end, Value matrix, Expr first) {
    e.forLoop("keys", begin, end, 1, [&](Expr index) {
      e.forLoop("lanes", 0, layout.panel, kTransposed, [&](Expr lane) {
        KeyPanel panel = panelAt(index);
        packLanes(
            panel, lane,
            rowsOf(matrix, first + (panel.key + lane), kTransposed, last));
      });
    });
  };
  Value key = e.buffer(op.getKey());
  if (layout.blocks.size) {
    return packPanels(0, layout.panels, key, keyRow);
  }
  if (layout.hasRanges) {
    Expr whole = keys / layout.panel;
    packPanels(0, whole, key, keyRow);
    last = keyRow + (keys - 1);
    packPanels(whole, (columns + (layout.panel - 1)) / layout.panel, key,
               keyRow);
    if (layout.slots) {
      packSlots();
    }
    return;
  }
  int64_t whole = layout.keys / layout.panel;
  int64_t next = whole; // panel
  if (whole) {
    packPanels(0, whole, key, keyRow);
  }
  if (layout.keys % layout.panel) {
    packMixedPanel(whole == layout.panels ? tailPanel() : panelAt(whole),
                   whole * layout.panel);
    next += 1;
  }
  if (layout.slots && next <= layout.panels) {
    if (next < layout.panels) {
      packPanels(next, layout.panels, e.buffer(op.getMemoryKey()),
                 -layout.keys);
    }
    if (layout.tailLanes) {
      packMixedPanel(tailPanel(), layout.panels * layout.panel);
    }
  }
}

/// Where an item's keys end in any lane, its slots take the lanes after it, one
/// by one.
void AttentionEmitter::packSlots() {
  Value memory = e.buffer(op.getMemoryKey());
  int64_t channels = layout.interleave, whole = layout.keyWidth / channels;
  auto word = VectorType::get({1}, getElementTypeOrSelf(scratch.packed));
  e.forLoop("slots", layout.slots, [&](Expr slot) {
    KeyPanel panel = panelAt((keys + slot) / layout.panel);
    Expr lane = (keys + slot) % layout.panel;
    auto pack = [&](Expr row, int64_t valid) {
      Chunk chunk{keyColumn + row * channels, channels, valid};
      Expr key = layout.pairs ? e.compute<vector::BitCastOp>(
                                    word, e.loadAsStored(memory, slot, chunk))
                              : e.load(memory, slot, chunk);
      e.store(key, packedKeys(panel, row, lane), /*lanes=*/1);
    };
    e.forLoop("channels", whole, [&](Expr row) { pack(row, channels); });
    if (int64_t rest = layout.keyWidth % channels) {
      pack(whole, rest);
    }
  });
}

/// values[row][c] = (low[c], high[c]); a zero in the second place of the last
/// row where the number of columns is odd.
void AttentionEmitter::packValueRow(Expr row, OperandRow low,
                                    std::optional<OperandRow> high) {
  // Elements of 16 bits in a register, and pairs of them.
  constexpr int64_t kPairs = CpuFacts::registerLanes, kLanes = 2 * kPairs;
  for (int64_t from = 0; from < layout.valueWidth; from += kLanes) {
    int64_t valid = std::min(layout.valueWidth - from, kLanes);
    Chunk chunk{valueColumn + from, kLanes, valid};
    Expr first = e.loadAsStored(low.matrix, low.row, chunk);
    Expr second = high ? e.loadAsStored(high->matrix, high->row, chunk)
                       : Expr(0).in(e.builder, first.getType());
    for (int64_t half = 0; half < valid; half += kPairs) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = half; lane < half + kPairs; ++lane) {
        lanes.append({lane, kLanes + lane});
      }
      Expr pairs = e.compute<vector::BitCastOp>(
          VectorType::get({kPairs}, e.builder.getI32Type()),
          e.make<vector::ShuffleOp>(first, second, lanes));
      e.store(pairs, scratch.values, row,
              {from + half, kPairs, std::min(valid - half, kPairs)});
    }
  }
}

void AttentionEmitter::packValues() {
  Value value = e.buffer(op.getValue());
  Value memory = layout.slots ? e.buffer(op.getMemoryValue()) : Value();
  std::optional<OperandRow> firstSlot; // beside the last of an odd count
  if (layout.slots) {
    firstSlot = OperandRow{memory, 0};
  }
  // Rows of pairs of one matrix, whose row of column 0 is `first`.
  auto packPairs = [&](Expr begin, Expr end, Value matrix, Expr first) {
    e.forLoop("keys", begin, end, 1, [&](Expr row) {
      Expr low = first + row * 2;
      packValueRow(row, {matrix, low}, OperandRow{matrix, low + 1});
    });
  };
  if (layout.hasRanges) {
    packPairs(0, keys / 2, value, keyRow);
    e.ifThen(keys % 2 != 0, [&] {
      packValueRow(keys / 2, {value, keyRow + (keys - 1)}, firstSlot);
    });
    if (layout.slots) {
      packPairs((keys + 1) / 2, columns / 2, memory, Expr(0) - keys);
      e.ifThen(columns % 2 != 0, [&] {
        packValueRow(columns / 2, {memory, layout.slots - 1}, {});
      });
    }
    return packZeros(columns);
  }
  int64_t whole = layout.keys / 2, all = layout.columns / 2;
  packPairs(0, whole, value, keyRow);
  if (layout.keys % 2) {
    packValueRow(whole, {value, keyRow + (layout.keys - 1)}, firstSlot);
  }
  if (layout.slots) {
    packPairs(llvm::divideCeil(layout.keys, 2), all, memory, -layout.keys);
    if (layout.columns % 2) {
      packValueRow(all, {memory, layout.slots - 1}, {});
    }
  }
  packZeros(layout.columns);
}

/// Zeros after the last of `columns` values, to what the matrix unit reads.
void AttentionEmitter::packZeros(Expr columns) {
  if (!layout.unitHeight) {
    return;
  }
  Expr first = (columns + 1) / 2;
  int64_t step = layout.unitStep();
  Expr end = (columns + (step - 1)) / step * (step / 2);
  auto type =
      VectorType::get({CpuFacts::registerLanes}, e.builder.getI32Type());
  e.forLoop("keys", first, end, 1, [&](Expr row) {
    e.forEachChunk(
        layout.valueWidth, CpuFacts::registerLanes, [&](const Chunk &at) {
          e.store(Expr(0).in(e.builder, type), scratch.values, row, at);
        });
  });
}

} // namespace hova
