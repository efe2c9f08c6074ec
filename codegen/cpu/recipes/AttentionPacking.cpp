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

static constexpr int64_t kTransposed = AttentionLayout::kTransposed;

/// packed[panel][c][lane + i] = keys[i][c], zero for those that are missing to
/// 16, and the `channels` channels c that begin in row `row` of the panel. A
/// row is a channel or a pair of them.
void AttentionEmitter::packBlock(const KeyPanel &panel, Value lane,
                                 ArrayRef<OperandRow> keys, Value row,
                                 int64_t channels) {
  Value channel = e.add(keyColumn, e.mul(row, layout.interleave));
  auto type = cast<MemRefType>((layout.panels ? packed : packedTail).getType());
  auto rowType = VectorType::get({kTransposed}, type.getElementType());
  SmallVector<Value> rows;
  for (const OperandRow &key : keys) {
    if (layout.pairs) {
      Value pairs =
          e.loadLanes(key.matrix, key.row, channel, 2 * kTransposed, channels);
      rows.push_back(make<vector::BitCastOp>(rowType, pairs));
    } else {
      rows.push_back(
          e.loadRow(key.matrix, key.row, channel, kTransposed, channels));
    }
  }
  rows.resize(kTransposed, make<arith::ConstantOp>(b.getZeroAttr(rowType)));
  transpose16(b, loc, rows);
  SmallVector<Value> position;
  Value target = packedKeys(panel, position);
  position.back() = lane;
  rows.resize(llvm::divideCeil(channels, layout.interleave));
  for (auto [i, values] : llvm::enumerate(rows)) {
    position.end()[-2] = e.add(row, i);
    make<vector::StoreOp>(values, target, position);
  }
}

/// All channels of up to 16 keys.
void AttentionEmitter::packLanes(const KeyPanel &panel, Value lane,
                                 ArrayRef<OperandRow> keys) {
  int64_t channels = kTransposed * layout.interleave;
  int64_t wholeRows = layout.keyWidth / channels * kTransposed;
  e.forLoop("channels", e.index(0), e.index(wholeRows), kTransposed,
            [&](Value row) { packBlock(panel, lane, keys, row, channels); });
  if (int64_t rest = layout.keyWidth % channels) {
    packBlock(panel, lane, keys, e.index(wholeRows), rest);
  }
}

/// Up to 16 rows of a matrix, the last of which is `last`, unless that is null.
static SmallVector<OperandRow> rowsOf(KernelEmitter &e, Value matrix,
                                      Value first, int64_t count,
                                      Value last = {}) {
  SmallVector<OperandRow> rows;
  for (int64_t i = 0; i < count; ++i) {
    Value row = e.add(first, i);
    if (last) {
      row = e.make<arith::MinUIOp>(row, last);
    }
    rows.push_back({matrix, row});
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
        rowsOf(e, e.buffer(op.getKey()), e.add(keyRow, e.index(from)), keys);
    if (all > keys) {
      rows.append(rowsOf(e, e.buffer(op.getMemoryKey()),
                         e.index(from + keys - layout.keys), all - keys));
    }
    packLanes(panel, e.index(lane), rows);
  }
}

void AttentionEmitter::packKeys() {
  // Lanes after the last key of a block have some of the next one, or the last
  // key again, and limits hide them.
  Value last = layout.blocks.size && layout.mayLeaveKeys
                   ? e.add(keyRow, layout.keys - 1)
                   : Value();
  // Panels of one matrix, whose row of column 0 is `first`.
  auto packPanels = [&](int64_t begin, int64_t end, Value matrix, Value first) {
    if (begin >= end) {
      return;
    }
    e.forLoop("keys", e.index(begin), e.index(end), 1, [&](Value index) {
      e.forLoop("lanes", e.index(0), e.index(layout.panel), kTransposed,
                [&](Value lane) {
                  KeyPanel panel = panelAt(index);
                  Value row = e.add(first, e.add(panel.key, lane));
                  packLanes(panel, lane,
                            rowsOf(e, matrix, row, kTransposed, last));
                });
    });
  };
  if (layout.blocks.size) {
    return packPanels(0, layout.panels, e.buffer(op.getKey()), keyRow);
  }
  int64_t whole = layout.keys / layout.panel;
  int64_t next = whole; // panel
  packPanels(0, whole, e.buffer(op.getKey()), keyRow);
  if (layout.keys % layout.panel) {
    bool isTail = whole == layout.panels;
    packMixedPanel(isTail ? tailPanel() : panelAt(e.index(whole)),
                   whole * layout.panel);
    next += 1;
  }
  if (layout.slots && next <= layout.panels) {
    packPanels(next, layout.panels, e.buffer(op.getMemoryKey()),
               e.index(-layout.keys));
    if (layout.tailLanes) {
      packMixedPanel(tailPanel(), layout.panels * layout.panel);
    }
  }
}

/// values[row][c] = (low[c], high[c]); a zero in the second place of the last
/// row where the number of columns is odd.
void AttentionEmitter::packValueRow(Value row, OperandRow low,
                                    std::optional<OperandRow> high) {
  constexpr int64_t kLanes = 32;
  for (int64_t from = 0; from < layout.valueWidth; from += kLanes) {
    int64_t valid = std::min(layout.valueWidth - from, kLanes);
    Value column = e.add(valueColumn, from);
    Value first = e.loadLanes(low.matrix, low.row, column, kLanes, valid);
    Value second =
        high ? e.loadLanes(high->matrix, high->row, column, kLanes, valid)
             : make<arith::ConstantOp>(b.getZeroAttr(first.getType()));
    for (int64_t half = 0; half < valid; half += kLanes / 2) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = half; lane < half + kLanes / 2; ++lane) {
        lanes.append({lane, kLanes + lane});
      }
      Value pairs = make<vector::BitCastOp>(
          VectorType::get({kLanes / 2}, b.getI32Type()),
          make<vector::ShuffleOp>(first, second, lanes));
      e.storeRow(pairs, values, row, e.index(from + half),
                 std::min(valid - half, kLanes / 2));
    }
  }
}

void AttentionEmitter::packValues() {
  Value value = e.buffer(op.getValue());
  Value memory = layout.slots ? e.buffer(op.getMemoryValue()) : Value();
  // Rows of pairs of one matrix, whose row of column 0 is `first`.
  auto packPairs = [&](int64_t begin, int64_t end, Value matrix, Value first) {
    e.forLoop("keys", e.index(begin), e.index(end), 1, [&](Value row) {
      Value low = e.add(first, e.mul(row, 2));
      packValueRow(row, {matrix, low}, OperandRow{matrix, e.add(low, 1)});
    });
  };
  int64_t whole = layout.keys / 2, all = layout.columns / 2;
  packPairs(0, whole, value, keyRow);
  if (layout.keys % 2) {
    std::optional<OperandRow> slot;
    if (layout.slots) {
      slot = OperandRow{memory, e.index(0)};
    }
    packValueRow(e.index(whole), {value, e.add(keyRow, layout.keys - 1)}, slot);
  }
  if (layout.slots) {
    packPairs(llvm::divideCeil(layout.keys, 2), all, memory,
              e.index(-layout.keys));
    if (layout.columns % 2) {
      packValueRow(e.index(all), {memory, e.index(layout.slots - 1)}, {});
    }
  }
}

} // namespace hova
