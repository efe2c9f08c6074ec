//===- AttentionPacking.cpp - Keys and values as the products read them ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys are packed once per unit as panels [keys/panel][width][panel], so that
// scores are the same product as a linear layer's. 16 x 16 blocks go through
// registers. Pairs of bf16 are elements of 32 bits for this; with them the
// values are packed as well, [keys/2][width] pairs of two keys.

#include "codegen/cpurecipes/AttentionEmitter.h"
#include "codegen/cpurecipes/Transpose.h"

using namespace mlir;

namespace hova {

/// packed[panel][c][lane + i] = K[j][c] for `keys` keys j from `lane` of the
/// panel on, zero for those that are missing to 16, and the `channels` channels
/// c that begin in row `row` of the panel. A row is a channel or a pair of
/// them.
void AttentionEmitter::packBlock(const KeyPanel &panel, Value lane,
                                 int64_t keys, Value row, int64_t channels) {
  constexpr int64_t kTransposed = AttentionLayout::kTransposed;
  Value key = e.buffer(op.getKey());
  Value first = e.add(keyRow, e.add(panel.column, lane));
  Value channel = e.add(keyColumn, e.mul(row, layout.interleave));
  auto type = cast<MemRefType>((layout.panels ? packed : packedTail).getType());
  auto rowType = VectorType::get({kTransposed}, type.getElementType());
  SmallVector<Value> rows;
  for (int64_t i = 0; i < keys; ++i) {
    Value own = e.add(first, i);
    if (layout.pairs) {
      Value pairs = e.loadLanes(key, own, channel, 2 * kTransposed, channels);
      rows.push_back(make<vector::BitCastOp>(rowType, pairs));
    } else {
      rows.push_back(e.loadRow(key, own, channel, kTransposed, channels));
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

void AttentionEmitter::packKeys() {
  constexpr int64_t kTransposed = AttentionLayout::kTransposed;
  int64_t channels = kTransposed * layout.interleave;
  int64_t wholeRows = layout.keyWidth / channels * kTransposed;
  auto packLanes = [&](const KeyPanel &panel, Value lane, int64_t keys) {
    e.forLoop("channels", e.index(0), e.index(wholeRows), kTransposed,
              [&](Value row) { packBlock(panel, lane, keys, row, channels); });
    if (int64_t rest = layout.keyWidth % channels) {
      packBlock(panel, lane, keys, e.index(wholeRows), rest);
    }
  };
  int64_t whole = layout.keys / layout.panel;
  if (whole) {
    e.forLoop("keys", e.index(0), e.index(whole), 1, [&](Value index) {
      e.forLoop(
          "lanes", e.index(0), e.index(layout.panel), kTransposed,
          [&](Value lane) { packLanes(panelAt(index), lane, kTransposed); });
    });
  }
  if (int64_t rest = layout.keys % layout.panel) {
    KeyPanel last = layout.tailLanes ? tailPanel() : panelAt(e.index(whole));
    for (int64_t lane = 0; lane < last.lanes; lane += kTransposed) {
      packLanes(last, e.index(lane),
                std::clamp<int64_t>(rest - lane, 0, kTransposed));
    }
  }
}

/// values[row][c] = (V[2 row][c], V[2 row + 1][c]); a zero in the second place
/// of the last row where the number of keys is odd.
void AttentionEmitter::packValueRow(Value row, bool isSingle) {
  constexpr int64_t kLanes = 32;
  Value value = e.buffer(op.getValue());
  Value first = e.add(keyRow, e.mul(row, 2));
  for (int64_t from = 0; from < layout.valueWidth; from += kLanes) {
    int64_t valid = std::min(layout.valueWidth - from, kLanes);
    Value column = e.add(valueColumn, from);
    Value low = e.loadLanes(value, first, column, kLanes, valid);
    Value high =
        isSingle ? make<arith::ConstantOp>(b.getZeroAttr(low.getType()))
                 : e.loadLanes(value, e.add(first, 1), column, kLanes, valid);
    for (int64_t half = 0; half < valid; half += kLanes / 2) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = half; lane < half + kLanes / 2; ++lane) {
        lanes.append({lane, kLanes + lane});
      }
      Value pairs =
          make<vector::BitCastOp>(VectorType::get({kLanes / 2}, b.getI32Type()),
                                  make<vector::ShuffleOp>(low, high, lanes));
      e.storeRow(pairs, values, row, e.index(from + half),
                 std::min(valid - half, kLanes / 2));
    }
  }
}

void AttentionEmitter::packValues() {
  int64_t whole = layout.keys / 2;
  e.forLoop("keys", e.index(0), e.index(whole), 1,
            [&](Value row) { packValueRow(row, /*isSingle=*/false); });
  if (layout.keys % 2) {
    packValueRow(e.index(whole), /*isSingle=*/true);
  }
}

} // namespace hova
