//===- NormRecipes.cpp - Loops of operations that reduce a row ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Three passes over a row that the first leaves in L1: sums, squared
// deviations, results. The two-pass variance costs a load and avoids
// cancellation. A softmax takes three as well.

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/TokenLanes.h"
#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/Shapes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace hova {

static Value splatScalar(KernelEmitter &emitter, Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(emitter.builder, emitter.loc,
                                     emitter.vectorType(lanes), scalar);
}

static Value sumOf(KernelEmitter &emitter, Value value) {
  return vector::ReductionOp::create(emitter.builder, emitter.loc,
                                     vector::CombiningKind::ADD, value,
                                     arith::FastMathFlags::reassoc);
}

/// A vector of `lanes` elements with the same sum: halves are added to each
/// other.
static Value foldTo(KernelEmitter &emitter, Value vector, int64_t lanes) {
  int64_t own = cast<VectorType>(vector.getType()).getNumElements();
  auto half = [&](int64_t from) -> Value {
    return vector::ExtractStridedSliceOp::create(emitter.builder, emitter.loc,
                                                 vector, from, own / 2, 1);
  };
  for (; own > lanes; own /= 2) {
    vector = arith::AddFOp::create(emitter.builder, emitter.loc, half(0),
                                   half(own / 2));
  }
  return vector;
}

/// Sum over `width` columns of a row, from `first` on; `addTerm` adds to a sum
/// what it makes of a chunk. Across the lanes is added once, at the end: rows
/// of 96 columns wait for such sums longer than for their elements.
static Value sumRow(
    KernelEmitter &emitter, Value matrix, Value row, Value first, int64_t width,
    llvm::function_ref<Value(Value sum, Value chunk, int64_t lanes)> addTerm) {
  int64_t lanes = emitter.schedule.lanes, whole = width / lanes * lanes;
  Value sum;
  if (whole) {
    Value zero = emitter.splat(0, emitter.vectorType(lanes));
    SmallVector<Value> total = emitter.forLoop(
        "columns", emitter.index(0), emitter.index(whole), lanes, zero,
        [&](Value column, ValueRange carried) {
          Value chunk = emitter.loadRow(matrix, row, emitter.add(first, column),
                                        lanes, lanes);
          return SmallVector<Value>{addTerm(carried[0], chunk, lanes)};
        });
    sum = total[0];
  }
  if (int64_t rest = width - whole) {
    int64_t tail = llvm::PowerOf2Ceil(rest);
    Value chunk =
        emitter.loadRow(matrix, row, emitter.add(first, whole), tail, rest);
    Value zero = emitter.splat(0, emitter.vectorType(tail));
    Value value = addTerm(zero, chunk, tail);
    if (rest < tail) {
      value =
          arith::SelectOp::create(emitter.builder, emitter.loc,
                                  emitter.laneMask(tail, rest), value, zero);
    }
    sum = sum ? arith::AddFOp::create(emitter.builder, emitter.loc,
                                      foldTo(emitter, sum, tail), value)
              : value;
  }
  return sumOf(emitter, sum);
}

static void emit(KernelEmitter &emitter, LayerNormOp op) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Value x = emitter.buffer(op.getX());
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t width = shape.back();
  emitter.forEachRow([&](Value row) {
    Value from = emitter.rowOf(op.getX(), row);
    Value reciprocal = emitter.scalar(1.0 / width);
    Value sum = sumRow(emitter, x, from, emitter.index(0), width,
                       [&](Value sum, Value chunk, int64_t) -> Value {
                         return arith::AddFOp::create(builder, loc, sum, chunk);
                       });
    Value mean = arith::MulFOp::create(builder, loc, sum, reciprocal);
    Value squares = sumRow(
        emitter, x, from, emitter.index(0), width,
        [&](Value sum, Value chunk, int64_t lanes) -> Value {
          Value deviation = arith::SubFOp::create(
              builder, loc, chunk, splatScalar(emitter, mean, lanes));
          // Adders have the subtraction already.
          return math::FmaOp::create(builder, loc, deviation, deviation, sum);
        });
    Value variance = arith::MulFOp::create(builder, loc, squares, reciprocal);
    Value deviation = math::SqrtOp::create(
        builder, loc,
        arith::AddFOp::create(builder, loc, variance,
                              emitter.scalar(op.getEps().convertToDouble())));
    Value factor =
        arith::DivFOp::create(builder, loc, emitter.scalar(1), deviation);
    emitter.forEachChunk(width, [&](Value column, int64_t lanes,
                                    int64_t valid) {
      TilePlace place{row, column, 1, lanes, valid};
      Value chunk = emitter.loadRow(x, from, column, lanes, valid);
      Value centred = arith::SubFOp::create(builder, loc, chunk,
                                            splatScalar(emitter, mean, lanes));
      Value normal = arith::MulFOp::create(builder, loc, centred,
                                           splatScalar(emitter, factor, lanes));
      Value tile = emitter.asTile(normal);
      if (op.getGain()) {
        tile = math::FmaOp::create(
            builder, loc, tile, emitter.loadTile(op.getGain(), shape, place),
            emitter.loadTile(op.getBias(), shape, place));
      }
      emitter.finishAndStoreTile(place, tile);
    });
  });
}

/// Down the channels of every token, all tokens of a tile at once.
static void emitLanes(TokenLanes &lanes, LayerNormOp op) {
  KernelEmitter &e = lanes.e;
  OpBuilder &b = e.builder;
  Location loc = e.loc;
  int64_t width = shapeOf(op.getX()).back();
  VectorType type = e.vectorType(lanes.lanes);
  Value x = lanes.matrix(op.getX()), reciprocal = e.splat(1.0 / width, type);
  auto sumUp = [&](llvm::function_ref<Value(Value, Value)> addTerm) {
    return e.forLoop("channels", e.index(0), e.index(width), 1,
                     e.splat(0, type), [&](Value channel, ValueRange carried) {
                       Value own = e.loadRow(x, channel, e.index(0),
                                             lanes.lanes, lanes.lanes);
                       return SmallVector<Value>{addTerm(carried[0], own)};
                     })[0];
  };
  Value sum = sumUp([&](Value sum, Value own) -> Value {
    return arith::AddFOp::create(b, loc, sum, own);
  });
  Value mean = arith::MulFOp::create(b, loc, sum, reciprocal);
  Value squares = sumUp([&](Value sum, Value own) -> Value {
    Value deviation = arith::SubFOp::create(b, loc, own, mean);
    return math::FmaOp::create(b, loc, deviation, deviation, sum);
  });
  Value variance = arith::MulFOp::create(b, loc, squares, reciprocal);
  Value deviation = math::SqrtOp::create(
      b, loc,
      arith::AddFOp::create(b, loc, variance,
                            e.splat(op.getEps().convertToDouble(), type)));
  Value factor = arith::DivFOp::create(b, loc, e.splat(1, type), deviation);
  lanes.forEachTile(width, [&](Value channel, int64_t rows) {
    auto tileType = VectorType::get({rows, lanes.lanes}, b.getF32Type());
    auto toTile = [&](Value row) -> Value {
      return vector::BroadcastOp::create(b, loc, tileType, row);
    };
    Value centred = arith::SubFOp::create(
        b, loc, lanes.load(op.getX(), channel, rows), toTile(mean));
    Value tile = arith::MulFOp::create(b, loc, centred, toTile(factor));
    if (op.getGain()) {
      tile = math::FmaOp::create(b, loc, tile,
                                 lanes.load(op.getGain(), channel, rows),
                                 lanes.load(op.getBias(), channel, rows));
    }
    lanes.finishAndStore(channel, rows, tile);
  });
}

/// Head by head: the sum of its squares, then its columns times a factor.
static void emit(KernelEmitter &emitter, NormalizeHeadsOp op) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Value x = emitter.buffer(op.getX());
  int64_t heads = op.getHeads();
  int64_t width = shapeOf(op.getX()).back() / heads;
  auto emitHead = [&](Value row, Value from, Value head) {
    Value first = emitter.mul(head, width);
    Value squares =
        sumRow(emitter, x, from, first, width,
               [&](Value sum, Value chunk, int64_t) -> Value {
                 return math::FmaOp::create(builder, loc, chunk, chunk, sum);
               });
    Value length = math::SqrtOp::create(builder, loc, squares);
    Value gain = op.getGain() ? emitter.loadScalar(emitter.buffer(op.getGain()),
                                                   emitter.index(0), head)
                              : emitter.scalar(1);
    Value factor = arith::DivFOp::create(
        builder, loc, gain,
        arith::MaximumFOp::create(
            builder, loc, length,
            emitter.scalar(op.getEps().convertToDouble())));
    emitter.forEachChunk(width, [&](Value column, int64_t lanes,
                                    int64_t valid) {
      TilePlace place{row, emitter.add(first, column), 1, lanes, valid};
      Value chunk = emitter.loadRow(x, from, place.column, lanes, valid);
      Value scaled = arith::MulFOp::create(builder, loc, chunk,
                                           splatScalar(emitter, factor, lanes));
      emitter.finishAndStoreTile(place, emitter.asTile(scaled));
    });
  };
  emitter.forEachRow([&](Value row) {
    Value from = emitter.rowOf(op.getX(), row);
    emitter.forLoop("heads", emitter.index(0), emitter.index(heads), 1,
                    [&](Value head) { emitHead(row, from, head); });
  });
}

/// Softmax over the logits of a row, one vector, then head by head.
static void emit(KernelEmitter &emitter, ScaleHeadsOp op) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Value in = emitter.buffer(op.getHeadsIn());
  Value logits = emitter.buffer(op.getLogits());
  int64_t heads = shapeOf(op.getLogits()).back();
  int64_t headWidth = shapeOf(op.getHeadsIn()).back() / heads;
  int64_t lanes = llvm::PowerOf2Ceil(heads);
  VectorType type = emitter.vectorType(lanes);
  emitter.forEachRow([&](Value row) {
    Value score = emitter.loadRow(logits, row, emitter.index(0), lanes, heads);
    Value mask = emitter.laneMask(lanes, heads);
    if (heads < lanes) {
      score = arith::SelectOp::create(
          builder, loc, mask, score,
          emitter.splat(-std::numeric_limits<double>::infinity(), type));
    }
    Value top = vector::ReductionOp::create(
        builder, loc, vector::CombiningKind::MAXNUMF, score,
        arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
    Value shifted = arith::MulFOp::create(
        builder, loc,
        arith::SubFOp::create(builder, loc, score,
                              splatScalar(emitter, top, lanes)),
        emitter.splat(1 / std::log(2.0), type));
    Value exponential = Exp2Op::create(builder, loc, shifted);
    if (heads < lanes) {
      exponential = arith::SelectOp::create(builder, loc, mask, exponential,
                                            emitter.splat(0, type));
    }
    Value weight = arith::DivFOp::create(
        builder, loc, exponential,
        splatScalar(emitter, sumOf(emitter, exponential), lanes));
    for (int64_t head = 0; head < heads; ++head) {
      Value own = vector::ExtractOp::create(builder, loc, weight, head);
      emitter.forEachChunk(headWidth, [&](Value column, int64_t chunk,
                                          int64_t valid) {
        TilePlace place{row, emitter.add(column, head * headWidth), 1, chunk,
                        valid};
        Value part = emitter.loadRow(in, row, place.column, chunk, valid);
        Value scaled = arith::MulFOp::create(builder, loc, part,
                                             splatScalar(emitter, own, chunk));
        emitter.finishAndStoreTile(place, emitter.asTile(scaled));
      });
    }
  });
}

/// log of a number of at least 1, as a vector of one lane: x = 2^n f with f in
/// [sqrt(1/2), sqrt(2)), and log(f) = 2 artanh(t) with t = (f - 1) / (f + 1),
/// of which |t| < 0.172. The first term that is left out is below 1e-9.
/// Infinity and NaN, which a sum of exponentials is where the row has one, give
/// NaN.
static Value logOf(KernelEmitter &emitter, Value x) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc;
  VectorType type = emitter.vectorType(1);
  auto bitsType = VectorType::get({1}, b.getI32Type());
  auto bits = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(bitsType, b.getI32IntegerAttr(value)));
  };
  auto number = [&](double value) { return emitter.splat(value, type); };
  // Adding the distance from sqrt(1/2) to 1 carries f >= sqrt(2) into n.
  constexpr int32_t one = 0x3f800000, rootOfHalf = 0x3f3504f3;
  constexpr int32_t fraction = 0x007fffff, places = 23, bias = 127;
  Value word = arith::BitcastOp::create(b, loc, bitsType, x);
  Value shifted = arith::AddIOp::create(b, loc, word, bits(one - rootOfHalf));
  Value exponent = arith::SubIOp::create(
      b, loc, arith::ShRSIOp::create(b, loc, shifted, bits(places)),
      bits(bias));
  Value rest = arith::AddIOp::create(
      b, loc, arith::AndIOp::create(b, loc, shifted, bits(fraction)),
      bits(rootOfHalf));
  Value f = arith::BitcastOp::create(b, loc, type, rest);
  Value n = arith::SIToFPOp::create(b, loc, type, exponent);
  Value t =
      arith::DivFOp::create(b, loc, arith::SubFOp::create(b, loc, f, number(1)),
                            arith::AddFOp::create(b, loc, f, number(1)));
  Value square = arith::MulFOp::create(b, loc, t, t);
  Value sum = number(2.0 / 9);
  for (double divisor : {7, 5, 3, 1}) {
    sum = math::FmaOp::create(b, loc, sum, square, number(2 / divisor));
  }
  Value log = math::FmaOp::create(b, loc, n, number(std::log(2.0)),
                                  arith::MulFOp::create(b, loc, t, sum));
  // x - x is 0, or NaN where x is not finite.
  return arith::AddFOp::create(b, loc, log,
                               arith::SubFOp::create(b, loc, x, x));
}

/// The maximum of a row; a NaN is not seen.
static Value maximumOf(KernelEmitter &emitter, Value matrix, Value row,
                       int64_t width) {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  constexpr auto kind = vector::CombiningKind::MAXNUMF;
  auto flags = arith::FastMathFlags::nnan | arith::FastMathFlags::nsz;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc;
  int64_t lanes = emitter.schedule.lanes, whole = width / lanes * lanes;
  Value top;
  auto reduce = [&](Value chunk) {
    Value own = vector::ReductionOp::create(b, loc, kind, chunk, flags);
    auto flagsAttr = arith::FastMathFlagsAttr::get(b.getContext(), flags);
    top = top ? vector::makeArithReduction(b, loc, kind, top, own, flagsAttr)
              : own;
  };
  if (whole) {
    Value start = emitter.splat(lowest, emitter.vectorType(lanes));
    auto flagsAttr = arith::FastMathFlagsAttr::get(b.getContext(), flags);
    reduce(emitter.forLoop(
        "columns", emitter.index(0), emitter.index(whole), lanes, start,
        [&](Value column, ValueRange carried) {
          Value chunk = emitter.loadRow(matrix, row, column, lanes, lanes);
          return SmallVector<Value>{vector::makeArithReduction(
              b, loc, kind, carried[0], chunk, flagsAttr)};
        })[0]);
  }
  if (int64_t rest = width - whole) {
    int64_t tail = llvm::PowerOf2Ceil(rest);
    Value chunk =
        emitter.loadRow(matrix, row, emitter.index(whole), tail, rest);
    if (rest < tail) {
      chunk = arith::SelectOp::create(
          b, loc, emitter.laneMask(tail, rest), chunk,
          emitter.splat(lowest, emitter.vectorType(tail)));
    }
    reduce(chunk);
  }
  return top;
}

/// Three passes over a row: maximum, sum of exponentials, results.
static void emit(KernelEmitter &emitter, SoftmaxOp op) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc;
  Value x = emitter.buffer(op.getX());
  int64_t width = shapeOf(op.getResult()).back();
  emitter.forEachRow([&](Value row) {
    Value from = emitter.rowOf(op.getX(), row);
    Value top = maximumOf(emitter, x, from, width);
    auto shifted = [&](Value chunk, int64_t lanes) -> Value {
      return arith::SubFOp::create(b, loc, chunk,
                                   splatScalar(emitter, top, lanes));
    };
    auto exponential = [&](Value chunk, int64_t lanes) -> Value {
      return Exp2Op::create(
          b, loc,
          arith::MulFOp::create(
              b, loc, shifted(chunk, lanes),
              emitter.splat(1 / std::log(2.0), emitter.vectorType(lanes))));
    };
    Value sum = sumRow(emitter, x, from, emitter.index(0), width,
                       [&](Value sum, Value chunk, int64_t lanes) -> Value {
                         return arith::AddFOp::create(
                             b, loc, sum, exponential(chunk, lanes));
                       });
    Value last; // logarithm or reciprocal of the sum
    if (op.getLog()) {
      last = vector::ExtractOp::create(
          b, loc, logOf(emitter, splatScalar(emitter, sum, 1)), 0);
    } else {
      last = arith::DivFOp::create(b, loc, emitter.scalar(1), sum);
    }
    emitter.forEachChunk(width, [&](Value column, int64_t lanes,
                                    int64_t valid) {
      Value chunk = emitter.loadRow(x, from, column, lanes, valid);
      Value own = splatScalar(emitter, last, lanes), result;
      if (op.getLog()) {
        result = arith::SubFOp::create(b, loc, shifted(chunk, lanes), own);
      } else {
        result = arith::MulFOp::create(b, loc, exponential(chunk, lanes), own);
      }
      emitter.finishAndStoreTile({row, column, 1, lanes, valid},
                                 emitter.asTile(result));
    });
  });
}

namespace {
struct SoftmaxRecipe
    : CpuRecipe<SoftmaxRecipe, SoftmaxOp,
                static_cast<void (*)(KernelEmitter &, SoftmaxOp)>(emit)> {
  bool readsRowsAnywhere(Operation *, unsigned) const { return true; }
};

struct LayerNormRecipe
    : CpuRecipe<LayerNormRecipe, LayerNormOp,
                static_cast<void (*)(KernelEmitter &, LayerNormOp)>(emit)> {
  bool readsRowsAnywhere(Operation *, unsigned index) const {
    return index == 0;
  }
  bool keepsTokensInLanes(Operation *) const { return true; }
  void emitTokenLanes(Operation *op, TokenLanes &lanes) const {
    emitLanes(lanes, cast<LayerNormOp>(op));
  }
};

struct NormalizeHeadsRecipe
    : CpuRecipe<NormalizeHeadsRecipe, NormalizeHeadsOp,
                static_cast<void (*)(KernelEmitter &, NormalizeHeadsOp)>(
                    emit)> {
  bool readsRowsAnywhere(Operation *, unsigned index) const {
    return index == 0;
  }
};
} // namespace

void attachNormRecipes(MLIRContext &context) {
  LayerNormOp::attachInterface<LayerNormRecipe>(context);
  NormalizeHeadsOp::attachInterface<NormalizeHeadsRecipe>(context);
  SoftmaxOp::attachInterface<SoftmaxRecipe>(context);
  attachRecipe<ScaleHeadsOp, emit>(context);
}

} // namespace hova
