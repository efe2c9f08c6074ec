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

#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "dialect/TileOps.h"
#include "passes/tile/KernelEmitter.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace hova {

namespace {
/// Sizes of one attention and the layout of its scratch, in floats.
struct Layout {
  Layout(AttentionOp op, const Schedule &schedule)
      : heads(op.getHeads()), queries(shapeOf(op.getQuery())[1]),
        keys(shapeOf(op.getKey())[1]),
        keyWidth(shapeOf(op.getQuery())[2] / heads),
        valueWidth(shapeOf(op.getValue())[2] / heads),
        panel(schedule.tileColumns), panels(llvm::divideCeil(keys, panel)),
        blockRows(std::min(schedule.tileRows, queries)),
        scoreStride(panels * panel + 16) {}

  int64_t heads, queries, keys, keyWidth, valueWidth, panel, panels, blockRows,
      scoreStride;
  int64_t packedFloats() const { return panels * keyWidth * panel; }
  int64_t scoreFloats() const { return blockRows * scoreStride; }
  int64_t bytes() const {
    return 4 * (llvm::alignTo(packedFloats(), 16) +
                llvm::alignTo(scoreFloats(), 16) +
                llvm::alignTo(blockRows, 16));
  }
};

class AttentionEmitter {
public:
  AttentionEmitter(KernelEmitter &emitter, AttentionOp op, Value scratch);
  void emit();

private:
  using FastMath = arith::FastMathFlags;
  static constexpr FastMath kMaxFlags = FastMath::nnan | FastMath::nsz;

  Value view(Value scratch, int64_t floats, ArrayRef<int64_t> shape);
  void packKeys();
  void packBlock(Value block, int64_t keys, Value channel, int64_t channels);
  void emitBlock(Value row, int64_t height);
  void emitScores(Value row, int64_t height, Value panels);
  void emitAdditiveScores(Value row, int64_t height, Value panels);
  void emitSoftmax(Value row, int64_t height, Value panels);
  void emitValues(Value row, int64_t height, Value panels);

  /// Panels that some query of the block may read: all, or up to the last
  /// query's causal limit.
  Value panelCount(Value row, int64_t height);
  /// Keys below this index are kept by the causal mask of query `query`.
  Value causalLimit(Value query);
  /// Scores of a panel with scale, bias and masks applied; masked are -inf.
  Value maskedScores(Value row, Value query, Value panel, bool isTail);
  Value keyIndices(Value panel);
  /// Row of an operand that broadcasts to [batch, heads, q_len, kv_len].
  Value broadcastRow(Value operand, Value query);
  /// `for panel < panels`, with the last one apart where it is partial and
  /// known to be the last. `body(panel, isTail, carried)`.
  Value foldPanels(Value panels, Value start,
                   llvm::function_ref<Value(Value, bool, Value)> body);

  Value constant(double value) { return e.splat(value, lanesType); }
  Value splat(Value scalar) {
    return vector::BroadcastOp::create(
        b, loc, VectorType::get({layout.panel}, scalar.getType()), scalar);
  }
  template <typename OpTy, typename... Args> OpTy make(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...);
  }
  bool hasTail() const { return layout.keys % layout.panel != 0; }
  /// Whether masks or biases touch whole panels.
  bool isGeneral() {
    return op.getScoreBias() || op.getMask() || op.getKeyValid() ||
           op.getCausal() || !(scale > 0);
  }
  /// Whether scores are final before the softmax, scale included.
  bool scalesEarly() { return op.getScoreBias() || !(scale > 0); }

  KernelEmitter &e;
  OpBuilder &b;
  Location loc;
  AttentionOp op;
  Layout layout;
  double scale;
  VectorType lanesType;
  Value packed, scores, inverse;
  // Of the current unit.
  Value batch, head, queryRow, keyRow, keyColumn, valueColumn;
};
} // namespace

AttentionEmitter::AttentionEmitter(KernelEmitter &emitter, AttentionOp op,
                                   Value scratch)
    : e(emitter), b(emitter.builder), loc(emitter.loc), op(op),
      layout(op, emitter.schedule), scale(op.getScale().convertToDouble()),
      lanesType(emitter.vectorType(layout.panel)) {
  int64_t offset = 0;
  auto take = [&](int64_t floats, ArrayRef<int64_t> shape) {
    Value buffer = view(scratch, offset, shape);
    offset += llvm::alignTo(floats, 16);
    return buffer;
  };
  packed = take(layout.packedFloats(),
                {layout.panels, layout.keyWidth, layout.panel});
  scores = take(layout.scoreFloats(), {layout.blockRows, layout.scoreStride});
  inverse = take(layout.blockRows, {layout.blockRows, 1});
}

Value AttentionEmitter::view(Value scratch, int64_t floats,
                             ArrayRef<int64_t> shape) {
  return make<memref::ViewOp>(MemRefType::get(shape, b.getF32Type()), scratch,
                              e.index(4 * floats), ValueRange());
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
    forEachRowBlock(e, e.index(0), e.index(layout.queries), heights,
                    [&](Value row, int64_t height) { emitBlock(row, height); });
  });
}

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
        rows[i + distance] = vector::ShuffleOp::create(builder, loc, a, b, lower);
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
    rows.push_back(i < keys ? e.loadRow(key,
                                        e.add(e.add(keyRow, e.mul(block, 16)), i),
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
  for (int64_t block = whole; block < layout.panels * layout.panel / 16; ++block) {
    packChannels(e.index(block), std::max<int64_t>(layout.keys - 16 * block, 0));
  }
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
        ValueRange{panel, zero, zero}, e.index(layout.keyWidth), IntegerAttr());
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
      Value sum = e.forLoop(zero, e.index(layout.keyWidth), 1, constant(0),
                            [&](Value c, ValueRange carried) {
        Value column = e.add(keyColumn, c);
        Value key = make<vector::LoadOp>(lanesType, packed,
                                         ValueRange{panel, c, zero});
        Value shifted = make<arith::AddFOp>(
            splat(e.loadScalar(query, own, column)), key);
        Value score = make<ActivationOp>(lanesType, ActivationKind::tanh, shifted);
        return SmallVector<Value>{make<math::FmaOp>(
            splat(e.loadScalar(weight, zero, column)), score, carried[0])};
      })[0];
      e.storeRow(sum, scores, i, e.mul(panel, layout.panel), layout.panel);
    });
  });
}

Value AttentionEmitter::keyIndices(Value panel) {
  SmallVector<Attribute> lanes;
  for (int64_t i = 0; i < layout.panel; ++i) {
    lanes.push_back(b.getI32IntegerAttr(i));
  }
  auto type = VectorType::get({layout.panel}, b.getI32Type());
  Value iota = make<arith::ConstantOp>(DenseElementsAttr::get(type, lanes));
  Value first = make<arith::IndexCastOp>(b.getI32Type(),
                                         e.mul(panel, layout.panel));
  return make<arith::AddIOp>(iota, splat(first));
}

Value AttentionEmitter::broadcastRow(Value operand, Value query) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  Value row = shape[0] == 1 ? e.index(0) : batch;
  row = e.mul(row, shape[1]);
  row = shape[1] == 1 ? row : e.add(row, head);
  row = e.mul(row, shape[2]);
  return shape[2] == 1 ? row : e.add(row, query);
}

Value AttentionEmitter::maskedScores(Value row, Value query, Value panel,
                                     bool isTail) {
  Value column = e.mul(panel, layout.panel);
  Value score = e.loadRow(scores, row, column, layout.panel, layout.panel);
  if (!isGeneral() && !isTail) {
    return score;
  }
  auto isKey = [&](Value bound) {
    Value limit = make<arith::IndexCastOp>(b.getI32Type(), bound);
    return make<arith::CmpIOp>(arith::CmpIPredicate::slt, keyIndices(panel),
                               splat(limit));
  };
  Value inside;
  if (hasTail()) {
    inside = isTail && !isGeneral()
                 ? e.laneMask(layout.panel, layout.keys % layout.panel)
                 : isKey(e.index(layout.keys));
  }
  auto load = [&](Value memref, Value at) -> Value {
    auto type = VectorType::get(
        {layout.panel}, cast<MemRefType>(memref.getType()).getElementType());
    if (!inside) {
      return make<vector::LoadOp>(type, memref, ValueRange{at, column});
    }
    Value zero = make<arith::ConstantOp>(b.getZeroAttr(type));
    return make<vector::MaskedLoadOp>(type, memref, ValueRange{at, column},
                                      inside, zero);
  };
  if (scalesEarly()) {
    Value bias = op.getScoreBias()
                     ? load(e.buffer(op.getScoreBias()),
                            broadcastRow(op.getScoreBias(), query))
                     : constant(0);
    score = make<math::FmaOp>(score, constant(scale), bias);
  }
  Value keep = inside;
  auto restrict = [&](Value mask) {
    keep = keep ? make<arith::AndIOp>(keep, mask) : mask;
  };
  auto restrictBytes = [&](Value memref, Value at) {
    Value bytes = load(memref, at);
    restrict(make<arith::CmpIOp>(
        arith::CmpIPredicate::ne, bytes,
        make<arith::ConstantOp>(b.getZeroAttr(bytes.getType()))));
  };
  if (op.getCausal()) {
    restrict(isKey(causalLimit(query)));
  }
  if (op.getKeyValid()) {
    restrictBytes(e.buffer(op.getKeyValid()), batch);
  }
  if (op.getMask()) {
    restrictBytes(e.buffer(op.getMask()), broadcastRow(op.getMask(), query));
  }
  if (keep) {
    score = make<arith::SelectOp>(
        keep, score, constant(-std::numeric_limits<double>::infinity()));
  }
  e.storeRow(score, scores, row, column, layout.panel);
  return score;
}

Value AttentionEmitter::foldPanels(
    Value panels, Value start,
    llvm::function_ref<Value(Value, bool, Value)> body) {
  bool tailApart = hasTail() && !isGeneral();
  Value whole = tailApart ? e.index(layout.panels - 1) : panels;
  Value result = e.forLoop(e.index(0), whole, 1, start,
                           [&](Value panel, ValueRange carried) {
    return SmallVector<Value>{body(panel, false, carried[0])};
  })[0];
  return tailApart ? body(whole, true, result) : result;
}

void AttentionEmitter::emitSoftmax(Value row, int64_t height, Value panels) {
  double infinity = std::numeric_limits<double>::infinity();
  double exponent = (scalesEarly() ? 1 : scale) / std::log(2.0);
  Value zero = e.index(0);
  auto scalar = [&](double value) -> Value {
    return make<arith::ConstantOp>(b.getF32FloatAttr(value));
  };
  // All maxima first: their reductions overlap, and no power waits for one.
  e.forLoop(zero, e.index(height), 1, [&](Value i) {
    Value query = e.add(row, i);
    Value top = foldPanels(panels, constant(-infinity),
                           [&](Value panel, bool isTail, Value carried) {
      return make<arith::MaxNumFOp>(carried,
                                    maskedScores(i, query, panel, isTail),
                                    kMaxFlags);
    });
    Value maximum = make<vector::ReductionOp>(vector::CombiningKind::MAXNUMF,
                                              top, kMaxFlags);
    make<memref::StoreOp>(maximum, inverse, ValueRange{i, zero});
  });
  bool canBeEmpty = isGeneral();
  bool uniform = canBeEmpty && op.getEmptyRow() == EmptyRow::uniform;
  e.forLoop(zero, e.index(height), 1, [&](Value i) {
    Value maximum = e.loadScalar(inverse, i, zero);
    Value isEmpty;
    if (canBeEmpty) {
      // Without a kept key the maximum is -inf, and so is every score.
      isEmpty = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                    scalar(-infinity));
      maximum = make<arith::SelectOp>(isEmpty, scalar(0), maximum);
    }
    Value shift = splat(make<arith::MulFOp>(maximum, scalar(-exponent)));
    Value sum = foldPanels(panels, constant(0),
                           [&](Value panel, bool isTail, Value carried) -> Value {
      Value column = e.mul(panel, layout.panel);
      Value score = e.loadRow(scores, i, column, layout.panel, layout.panel);
      Value power = make<Exp2Op>(
          make<math::FmaOp>(score, constant(exponent), shift));
      if (canBeEmpty || isTail) {
        // Masked scores are -inf; NaN stays.
        Value kept = make<arith::CmpFOp>(arith::CmpFPredicate::UNE, score,
                                         constant(-infinity));
        power = make<arith::SelectOp>(kept, power, constant(0));
      }
      if (uniform) {
        Value inside = make<arith::CmpIOp>(
            arith::CmpIPredicate::slt, keyIndices(panel),
            make<arith::ConstantOp>(DenseElementsAttr::get(
                VectorType::get({layout.panel}, b.getI32Type()),
                b.getI32IntegerAttr(layout.keys))));
        Value one = make<arith::SelectOp>(inside, constant(1), constant(0));
        power = make<arith::SelectOp>(isEmpty, one, power);
      }
      e.storeRow(power, scores, i, column, layout.panel);
      return make<arith::AddFOp>(carried, power);
    });
    Value total = make<vector::ReductionOp>(vector::CombiningKind::ADD, sum,
                                            FastMath::reassoc);
    Value factor = make<arith::DivFOp>(scalar(1), total);
    if (canBeEmpty) {
      Value isZero = make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, total,
                                         scalar(0));
      factor = make<arith::SelectOp>(isZero, scalar(0), factor);
    }
    make<memref::StoreOp>(factor, inverse, ValueRange{i, zero});
  });
}

void AttentionEmitter::emitValues(Value row, int64_t height, Value panels) {
  Value value = e.buffer(op.getValue()), out = e.buffer(op.getResult());
  Value zero = e.index(0), outRow = e.add(queryRow, row);
  // Scores behind the last key are not read.
  Value depth = make<arith::MinUIOp>(e.mul(panels, layout.panel),
                                     e.index(layout.keys));
  auto emitColumns = [&](Value column, int64_t lanes, int64_t valid) {
    IntegerAttr columns;
    if (valid < lanes) {
      columns = b.getI64IntegerAttr(valid);
    }
    auto type = VectorType::get({height, lanes}, b.getF32Type());
    Value start = e.add(valueColumn, column);
    Value sum = make<TileProductOp>(type, scores, zero, zero, value,
                                    ValueRange{keyRow, start}, depth, columns);
    Value factor = make<TileLoadOp>(
        VectorType::get({height, 1}, b.getF32Type()), inverse, zero, zero,
        IntegerAttr());
    Value scaled = make<arith::MulFOp>(
        sum, make<vector::BroadcastOp>(type, factor));
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
  return Layout(cast<AttentionOp>(op), schedule).bytes();
}

void emitAttentionLoops(KernelEmitter &emitter, Operation *op, Value scratch) {
  AttentionEmitter(emitter, cast<AttentionOp>(op), scratch).emit();
}

} // namespace hova
