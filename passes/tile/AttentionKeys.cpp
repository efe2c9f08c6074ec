//===- AttentionKeys.cpp - Keys in the order of the score product ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys are packed once per unit as panels [keys/panel][width][panel], so that
// scores are the same product as a linear layer's. 16 x 16 blocks go through
// registers.

#include "passes/tile/AttentionEmitter.h"

using namespace mlir;

namespace hova {

/// 16 vectors of 16 lanes, transposed by exchanging blocks of 1, 2, 4 and 8
/// lanes (Eklundh 1972): 64 shuffles of two vectors.
static void transpose16(OpBuilder &builder, Location loc,
                        MutableArrayRef<Value> rows) {
  for (int64_t distance = 1; distance < 16; distance *= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < 16; ++lane) {
      bool own = !(lane & distance);
      upper.push_back(own ? lane : 16 + (lane ^ distance));
      lower.push_back(own ? lane ^ distance : 16 + lane);
    }
    for (int64_t i = 0; i < 16; ++i) {
      if (!(i & distance)) {
        Value a = rows[i], b = rows[i + distance];
        rows[i] = vector::ShuffleOp::create(builder, loc, a, b, upper);
        rows[i + distance] =
            vector::ShuffleOp::create(builder, loc, a, b, lower);
      }
    }
  }
}

/// packed[j / panel][c][j % panel] = K[j][c] for 16 keys from `16 * block` on
/// and 16 channels from `channel` on; zero for keys behind `keys`.
void AttentionEmitter::packBlock(Value block, int64_t keys, Value channel,
                                 int64_t channels) {
  Value key = e.buffer(op.getKey());
  SmallVector<Value> rows;
  for (int64_t i = 0; i < 16; ++i) {
    rows.push_back(
        i < keys ? e.loadRow(key, e.add(e.add(keyRow, e.mul(block, 16)), i),
                             e.add(keyColumn, channel), 16, channels)
                 : e.splat(0, e.vectorType(16)));
  }
  transpose16(b, loc, rows);
  Value panel = e.div(block, layout.panel / 16);
  Value lane = e.mul(e.rem(block, layout.panel / 16), 16);
  for (int64_t i = 0; i < channels; ++i) {
    make<vector::StoreOp>(rows[i], packed,
                          ValueRange{panel, e.add(channel, i), lane});
  }
}

void AttentionEmitter::packKeys() {
  int64_t wholeChannels = layout.keyWidth / 16 * 16;
  auto packChannels = [&](Value block, int64_t keys) {
    e.forLoop(e.index(0), e.index(wholeChannels), 16,
              [&](Value channel) { packBlock(block, keys, channel, 16); });
    if (int64_t rest = layout.keyWidth - wholeChannels) {
      packBlock(block, keys, e.index(wholeChannels), rest);
    }
  };
  int64_t whole = layout.keys / 16;
  e.forLoop(e.index(0), e.index(whole), 1,
            [&](Value block) { packChannels(block, 16); });
  // The last panel is complete, with zeros behind the last key.
  for (int64_t block = whole; block < layout.panels * layout.panel / 16;
       ++block) {
    packChannels(e.index(block),
                 std::max<int64_t>(layout.keys - 16 * block, 0));
  }
}

} // namespace hova
