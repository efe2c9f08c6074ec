//===- AttentionLoops.cpp - Loops of attention ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Units are (batch entry, head) pairs. Per unit the keys are packed as panels
// [keys/panel][width][panel], so that scores are the same product as a linear
// layer's. Then per block of query rows: scores of all keys into scratch,
// maxima, powers and sums in place, values, division. A row of scores for a few
// thousand keys fits the caches, so nothing is rescaled while it grows; the
// q_len x kv_len scores never exist.
//
//   pack K ; for rows: S = Q K^T ; S = 2^(c S - c max S) ; O = (S V) / sum S

#include "dialect/DenseOps.h"
#include "dialect/TileOps.h"
#include "passes/tile/AttentionEmitter.h"

using namespace mlir;

namespace hova {

AttentionEmitter::AttentionEmitter(KernelEmitter &emitter, AttentionOp op)
    : e(emitter), b(emitter.builder), loc(emitter.loc), op(op),
      layout(op, emitter.schedule), scale(op.getScale().convertToDouble()),
      lanesType(emitter.vectorType(layout.panel)) {
  int64_t offset = 0;
  auto take = [&](int64_t floats, ArrayRef<int64_t> shape) {
    Value buffer = e.scratchView(offset, shape);
    offset += llvm::alignTo(floats, 16);
    return buffer;
  };
  packed = take(layout.packedFloats(),
                {layout.panels, layout.keyWidth, layout.panel});
  scores = take(layout.scoreFloats(), {layout.blockRows, layout.scoreStride});
  inverse = take(layout.blockRows, {layout.blockRows, 1});
}

void AttentionEmitter::emit() {
  SmallVector<int64_t> heights;
  int64_t blocks = llvm::divideCeil(layout.queries, e.schedule.tileRows);
  heights.push_back(layout.queries / blocks);
  if (layout.queries % blocks) {
    heights.push_back(heights.front() + 1);
  }
  e.forLoop(e.begin, e.end, 1, [&](Value unit) {
    batch = e.div(unit, layout.heads);
    head = e.rem(unit, layout.heads);
    queryRow = e.mul(batch, layout.queries);
    keyRow = e.mul(batch, layout.keys);
    keyColumn = e.mul(head, layout.keyWidth);
    valueColumn = e.mul(head, layout.valueWidth);
    packKeys();
    forEachRowBlock(
        e, e.index(0), e.index(layout.queries), heights,
        [&](const RowBlock &block) { emitBlock(block.row, block.height); });
  });
}

void AttentionEmitter::emitBlock(Value row, int64_t height) {
  Value panels = panelCount(row, height);
  if (op.getKind() == AttentionKind::additive) {
    emitAdditiveScores(row, height, panels);
  } else {
    emitScores(row, height, panels);
  }
  emitSoftmax(row, height, panels);
  emitValues(row, height, panels);
}

Value AttentionEmitter::causalLimit(Value query) {
  int64_t group = *op.getCausal(), shift = layout.keys - layout.queries;
  Value position = e.add(query, shift);
  if (shift < 0) {
    // Queries before the first key see nothing; division rounds down there.
    Value quotient = make<arith::FloorDivSIOp>(position, e.index(group));
    Value limit = e.mul(e.add(quotient, 1), group);
    return make<arith::MaxSIOp>(limit, e.index(0));
  }
  return e.mul(e.add(e.div(position, group), 1), group);
}

Value AttentionEmitter::panelCount(Value row, int64_t height) {
  // A uniform empty row reads every value.
  if (!op.getCausal() || op.getEmptyRow() == EmptyRow::uniform) {
    return e.index(layout.panels);
  }
  Value limit = causalLimit(e.add(row, height - 1));
  Value panels = e.div(e.add(limit, layout.panel - 1), layout.panel);
  return make<arith::MinUIOp>(panels, e.index(layout.panels));
}

void AttentionEmitter::emitScores(Value row, int64_t height, Value panels) {
  Value query = e.buffer(op.getQuery()), zero = e.index(0);
  auto type = VectorType::get({height, layout.panel}, b.getF32Type());
  e.forLoop(zero, panels, 1, [&](Value panel) {
    Value tile = make<TileProductOp>(
        type, query, e.add(queryRow, row), keyColumn, packed,
        ValueRange{panel, zero, zero}, e.index(layout.keyWidth));
    TileStoreOp::create(b, loc, tile, scores, zero, e.mul(panel, layout.panel),
                        IntegerAttr());
  });
}

/// score = sum over c of w[c] * tanh(q[c] + k[c]), keys in lanes.
void AttentionEmitter::emitAdditiveScores(Value row, int64_t height,
                                          Value panels) {
  Value query = e.buffer(op.getQuery()), zero = e.index(0);
  Value weight = e.buffer(op.getScoreVector());
  e.forLoop(zero, e.index(height), 1, [&](Value i) {
    Value own = e.add(e.add(queryRow, row), i);
    e.forLoop(zero, panels, 1, [&](Value panel) {
      Value sum = e.forLoop(
          zero, e.index(layout.keyWidth), 1, constant(0),
          [&](Value c, ValueRange carried) {
            Value column = e.add(keyColumn, c);
            Value key = make<vector::LoadOp>(lanesType, packed,
                                             ValueRange{panel, c, zero});
            Value shifted = make<arith::AddFOp>(
                splat(e.loadScalar(query, own, column)), key);
            Value score =
                make<ActivationOp>(lanesType, ActivationKind::tanh, shifted);
            return SmallVector<Value>{make<math::FmaOp>(
                splat(e.loadScalar(weight, zero, column)), score, carried[0])};
          })[0];
      e.storeRow(sum, scores, i, e.mul(panel, layout.panel), layout.panel);
    });
  });
}

void AttentionEmitter::emitValues(Value row, int64_t height, Value panels) {
  Value value = e.buffer(op.getValue()), out = e.buffer(op.getResult());
  Value zero = e.index(0), outRow = e.add(queryRow, row);
  // Scores behind the last key are not read.
  Value depth =
      make<arith::MinUIOp>(e.mul(panels, layout.panel), e.index(layout.keys));
  auto emitColumns = [&](Value column, int64_t lanes, int64_t valid) {
    IntegerAttr columns;
    if (valid < lanes) {
      columns = b.getI64IntegerAttr(valid);
    }
    auto type = VectorType::get({height, lanes}, b.getF32Type());
    Value start = e.add(valueColumn, column);
    Value sum = make<TileProductOp>(type, scores, zero, zero, value,
                                    ValueRange{keyRow, start}, depth, columns);
    Value factor =
        make<TileLoadOp>(VectorType::get({height, 1}, b.getF32Type()), inverse,
                         zero, zero, IntegerAttr());
    Value scaled =
        make<arith::MulFOp>(sum, make<vector::BroadcastOp>(type, factor));
    TileStoreOp::create(b, loc, scaled, out, outRow, start, columns);
  };
  int64_t lanes = e.schedule.tileColumns;
  int64_t whole = layout.valueWidth / lanes * lanes;
  if (whole) {
    e.forLoop(zero, e.index(whole), lanes,
              [&](Value column) { emitColumns(column, lanes, lanes); });
  }
  if (int64_t rest = layout.valueWidth - whole) {
    emitColumns(e.index(whole), llvm::PowerOf2Ceil(rest), rest);
  }
}

int64_t attentionScratchBytes(Operation *op, const Schedule &schedule) {
  return AttentionLayout(cast<AttentionOp>(op), schedule).bytes();
}

void emitAttentionLoops(KernelEmitter &emitter, Operation *op) {
  AttentionEmitter(emitter, cast<AttentionOp>(op)).emit();
}

} // namespace hova
