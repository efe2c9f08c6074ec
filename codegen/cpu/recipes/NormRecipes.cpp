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

static Value sumOf(KernelEmitter &e, Value value) {
  return e.make<vector::ReductionOp>(vector::CombiningKind::ADD, value,
                                     arith::FastMathFlags::reassoc);
}

/// A vector of `lanes` elements with the same sum: halves are added to each
/// other.
static Value foldTo(KernelEmitter &e, Value vector, int64_t lanes) {
  int64_t own = cast<VectorType>(vector.getType()).getNumElements();
  auto half = [&](int64_t from) -> Value {
    return e.make<vector::ExtractStridedSliceOp>(vector, from, own / 2, 1);
  };
  for (; own > lanes; own /= 2) {
    vector = e.make<arith::AddFOp>(half(0), half(own / 2));
  }
  return vector;
}

/// Sum over `width` columns of a row, from `first` on; `addTerm` adds to a sum
/// what it makes of a chunk. Across the lanes is added once, at the end: rows
/// of 96 columns wait for such sums longer than for their elements.
static Value sumRow(
    KernelEmitter &e, Value matrix, Value row, Value first, int64_t width,
    llvm::function_ref<Value(Value sum, Value chunk, int64_t lanes)> addTerm) {
  int64_t lanes = e.schedule.lanes, whole = width / lanes * lanes;
  Value sum;
  if (whole) {
    Value zero = e.splat(0, lanes);
    SmallVector<Value> total = e.forLoop(
        "columns", e.index(0), e.index(whole), lanes, zero,
        [&](Value column, ValueRange carried) {
          Value chunk =
              e.loadRow(matrix, row, e.add(first, column), lanes, lanes);
          return SmallVector<Value>{addTerm(carried[0], chunk, lanes)};
        });
    sum = total[0];
  }
  if (int64_t rest = width - whole) {
    int64_t tail = llvm::PowerOf2Ceil(rest);
    Value chunk = e.loadRow(matrix, row, e.add(first, whole), tail, rest);
    Value zero = e.splat(0, tail);
    Value value = addTerm(zero, chunk, tail);
    if (rest < tail) {
      value = e.make<arith::SelectOp>(e.laneMask(tail, rest), value, zero);
    }
    sum = sum ? e.make<arith::AddFOp>(foldTo(e, sum, tail), value) : value;
  }
  return sumOf(e, sum);
}

static void emit(KernelEmitter &e, LayerNormOp op) {
  Value x = e.buffer(op.getX());
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t width = shape.back();
  e.forEachRow([&](Value row) {
    Value from = e.rowOf(op.getX(), row);
    Value reciprocal = e.scalar(1.0 / width);
    Value sum = sumRow(e, x, from, e.index(0), width,
                       [&](Value sum, Value chunk, int64_t) -> Value {
                         return e.make<arith::AddFOp>(sum, chunk);
                       });
    Value mean = e.make<arith::MulFOp>(sum, reciprocal);
    Value squares =
        sumRow(e, x, from, e.index(0), width,
               [&](Value sum, Value chunk, int64_t lanes) -> Value {
                 Value deviation =
                     e.make<arith::SubFOp>(chunk, e.splat(mean, lanes));
                 // Adders have the subtraction already.
                 return e.make<math::FmaOp>(deviation, deviation, sum);
               });
    Value variance = e.make<arith::MulFOp>(squares, reciprocal);
    Value deviation = e.make<math::SqrtOp>(e.make<arith::AddFOp>(
        variance, e.scalar(op.getEps().convertToDouble())));
    Value factor = e.make<arith::DivFOp>(e.scalar(1), deviation);
    e.forEachChunk(width, [&](Value column, int64_t lanes, int64_t valid) {
      TilePlace place{row, column, 1, lanes, valid};
      Value chunk = e.loadRow(x, from, column, lanes, valid);
      Value centred = e.make<arith::SubFOp>(chunk, e.splat(mean, lanes));
      Value normal = e.make<arith::MulFOp>(centred, e.splat(factor, lanes));
      Value tile = e.asTile(normal);
      if (op.getGain()) {
        tile = e.make<math::FmaOp>(tile, e.loadTile(op.getGain(), shape, place),
                                   e.loadTile(op.getBias(), shape, place));
      }
      e.finishAndStoreTile(place, tile);
    });
  });
}

/// Down the channels of every token, all tokens of a tile at once.
static void emitLanes(TokenLanes &lanes, LayerNormOp op) {
  KernelEmitter &e = lanes.e;
  OpBuilder &b = e.builder;
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
    return e.make<arith::AddFOp>(sum, own);
  });
  Value mean = e.make<arith::MulFOp>(sum, reciprocal);
  Value squares = sumUp([&](Value sum, Value own) -> Value {
    Value deviation = e.make<arith::SubFOp>(own, mean);
    return e.make<math::FmaOp>(deviation, deviation, sum);
  });
  Value variance = e.make<arith::MulFOp>(squares, reciprocal);
  Value deviation = e.make<math::SqrtOp>(e.make<arith::AddFOp>(
      variance, e.splat(op.getEps().convertToDouble(), type)));
  Value factor = e.make<arith::DivFOp>(e.splat(1, type), deviation);
  lanes.forEachTile(width, [&](Value channel, int64_t rows) {
    auto tileType = VectorType::get({rows, lanes.lanes}, b.getF32Type());
    auto toTile = [&](Value row) -> Value {
      return e.make<vector::BroadcastOp>(tileType, row);
    };
    Value centred = e.make<arith::SubFOp>(lanes.load(op.getX(), channel, rows),
                                          toTile(mean));
    Value tile = e.make<arith::MulFOp>(centred, toTile(factor));
    if (op.getGain()) {
      tile = e.make<math::FmaOp>(tile, lanes.load(op.getGain(), channel, rows),
                                 lanes.load(op.getBias(), channel, rows));
    }
    lanes.finishAndStore(channel, rows, tile);
  });
}

/// Head by head: the sum of its squares, then its columns times a factor.
static void emit(KernelEmitter &e, NormalizeHeadsOp op) {
  Value x = e.buffer(op.getX());
  int64_t heads = op.getHeads();
  int64_t width = shapeOf(op.getX()).back() / heads;
  auto emitHead = [&](Value row, Value from, Value head) {
    Value first = e.mul(head, width);
    Value squares = sumRow(e, x, from, first, width,
                           [&](Value sum, Value chunk, int64_t) -> Value {
                             return e.make<math::FmaOp>(chunk, chunk, sum);
                           });
    Value length = e.make<math::SqrtOp>(squares);
    Value gain = op.getGain()
                     ? e.loadScalar(e.buffer(op.getGain()), e.index(0), head)
                     : e.scalar(1);
    Value factor = e.make<arith::DivFOp>(
        gain, e.make<arith::MaximumFOp>(
                  length, e.scalar(op.getEps().convertToDouble())));
    e.forEachChunk(width, [&](Value column, int64_t lanes, int64_t valid) {
      TilePlace place{row, e.add(first, column), 1, lanes, valid};
      Value chunk = e.loadRow(x, from, place.column, lanes, valid);
      Value scaled = e.make<arith::MulFOp>(chunk, e.splat(factor, lanes));
      e.finishAndStoreTile(place, e.asTile(scaled));
    });
  };
  e.forEachRow([&](Value row) {
    Value from = e.rowOf(op.getX(), row);
    e.forLoop("heads", e.index(0), e.index(heads), 1,
              [&](Value head) { emitHead(row, from, head); });
  });
}

/// Softmax over the logits of a row, one vector, then head by head.
static void emit(KernelEmitter &e, ScaleHeadsOp op) {
  Value in = e.buffer(op.getHeadsIn());
  Value logits = e.buffer(op.getLogits());
  int64_t heads = shapeOf(op.getLogits()).back();
  int64_t headWidth = shapeOf(op.getHeadsIn()).back() / heads;
  int64_t lanes = llvm::PowerOf2Ceil(heads);
  VectorType type = e.vectorType(lanes);
  e.forEachRow([&](Value row) {
    Value score = e.loadRow(logits, row, e.index(0), lanes, heads);
    Value mask = e.laneMask(lanes, heads);
    if (heads < lanes) {
      score = e.make<arith::SelectOp>(
          mask, score, e.splat(-std::numeric_limits<double>::infinity(), type));
    }
    Value top = e.make<vector::ReductionOp>(
        vector::CombiningKind::MAXNUMF, score,
        arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
    Value shifted =
        e.make<arith::MulFOp>(e.make<arith::SubFOp>(score, e.splat(top, lanes)),
                              e.splat(1 / std::log(2.0), type));
    Value exponential = e.make<Exp2Op>(shifted);
    if (heads < lanes) {
      exponential =
          e.make<arith::SelectOp>(mask, exponential, e.splat(0, type));
    }
    Value weight = e.make<arith::DivFOp>(exponential,
                                         e.splat(sumOf(e, exponential), lanes));
    for (int64_t head = 0; head < heads; ++head) {
      Value own = e.make<vector::ExtractOp>(weight, head);
      e.forEachChunk(headWidth, [&](Value column, int64_t chunk,
                                    int64_t valid) {
        TilePlace place{row, e.add(column, head * headWidth), 1, chunk, valid};
        Value part = e.loadRow(in, row, place.column, chunk, valid);
        Value scaled = e.make<arith::MulFOp>(part, e.splat(own, chunk));
        e.finishAndStoreTile(place, e.asTile(scaled));
      });
    }
  });
}

/// log of a number of at least 1, as a vector of one lane: x = 2^n f with f in
/// [sqrt(1/2), sqrt(2)), and log(f) = 2 artanh(t) with t = (f - 1) / (f + 1),
/// of which |t| < 0.172. The first term that is left out is below 1e-9.
/// Infinity and NaN, which a sum of exponentials is where the row has one, give
/// NaN.
static Value logOf(KernelEmitter &e, Value x) {
  OpBuilder &b = e.builder;
  VectorType type = e.vectorType(1);
  auto bitsType = VectorType::get({1}, b.getI32Type());
  auto bits = [&](int32_t value) -> Value {
    return e.make<arith::ConstantOp>(
        DenseElementsAttr::get(bitsType, b.getI32IntegerAttr(value)));
  };
  auto number = [&](double value) { return e.splat(value, type); };
  // Adding the distance from sqrt(1/2) to 1 carries f >= sqrt(2) into n.
  constexpr int32_t one = 0x3f800000, rootOfHalf = 0x3f3504f3;
  constexpr int32_t fraction = 0x007fffff, places = 23, bias = 127;
  Value word = e.make<arith::BitcastOp>(bitsType, x);
  Value shifted = e.make<arith::AddIOp>(word, bits(one - rootOfHalf));
  Value exponent = e.make<arith::SubIOp>(
      e.make<arith::ShRSIOp>(shifted, bits(places)), bits(bias));
  Value rest = e.make<arith::AddIOp>(
      e.make<arith::AndIOp>(shifted, bits(fraction)), bits(rootOfHalf));
  Value f = e.make<arith::BitcastOp>(type, rest);
  Value n = e.make<arith::SIToFPOp>(type, exponent);
  Value t = e.make<arith::DivFOp>(e.make<arith::SubFOp>(f, number(1)),
                                  e.make<arith::AddFOp>(f, number(1)));
  Value square = e.make<arith::MulFOp>(t, t);
  Value sum = number(2.0 / 9);
  for (double divisor : {7, 5, 3, 1}) {
    sum = e.make<math::FmaOp>(sum, square, number(2 / divisor));
  }
  Value log = e.make<math::FmaOp>(n, number(std::log(2.0)),
                                  e.make<arith::MulFOp>(t, sum));
  // x - x is 0, or NaN where x is not finite.
  return e.make<arith::AddFOp>(log, e.make<arith::SubFOp>(x, x));
}

/// The maximum of a row; a NaN is not seen.
static Value maximumOf(KernelEmitter &e, Value matrix, Value row,
                       int64_t width) {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  constexpr auto kind = vector::CombiningKind::MAXNUMF;
  auto flags = arith::FastMathFlags::nnan | arith::FastMathFlags::nsz;
  OpBuilder &b = e.builder;
  Location loc = e.loc;
  int64_t lanes = e.schedule.lanes, whole = width / lanes * lanes;
  Value top;
  auto reduce = [&](Value chunk) {
    Value own = e.make<vector::ReductionOp>(kind, chunk, flags);
    auto flagsAttr = arith::FastMathFlagsAttr::get(b.getContext(), flags);
    top = top ? vector::makeArithReduction(b, loc, kind, top, own, flagsAttr)
              : own;
  };
  if (whole) {
    Value start = e.splat(lowest, lanes);
    auto flagsAttr = arith::FastMathFlagsAttr::get(b.getContext(), flags);
    reduce(e.forLoop("columns", e.index(0), e.index(whole), lanes, start,
                     [&](Value column, ValueRange carried) {
                       Value chunk =
                           e.loadRow(matrix, row, column, lanes, lanes);
                       return SmallVector<Value>{vector::makeArithReduction(
                           b, loc, kind, carried[0], chunk, flagsAttr)};
                     })[0]);
  }
  if (int64_t rest = width - whole) {
    int64_t tail = llvm::PowerOf2Ceil(rest);
    Value chunk = e.loadRow(matrix, row, e.index(whole), tail, rest);
    if (rest < tail) {
      chunk = e.make<arith::SelectOp>(e.laneMask(tail, rest), chunk,
                                      e.splat(lowest, tail));
    }
    reduce(chunk);
  }
  return top;
}

/// Three passes over a row: maximum, sum of exponentials, results.
static void emit(KernelEmitter &e, SoftmaxOp op) {
  Value x = e.buffer(op.getX());
  int64_t width = shapeOf(op.getResult()).back();
  e.forEachRow([&](Value row) {
    Value from = e.rowOf(op.getX(), row);
    Value top = maximumOf(e, x, from, width);
    auto shifted = [&](Value chunk, int64_t lanes) -> Value {
      return e.make<arith::SubFOp>(chunk, e.splat(top, lanes));
    };
    auto exponential = [&](Value chunk, int64_t lanes) -> Value {
      return e.make<Exp2Op>(e.make<arith::MulFOp>(
          shifted(chunk, lanes), e.splat(1 / std::log(2.0), lanes)));
    };
    Value sum =
        sumRow(e, x, from, e.index(0), width,
               [&](Value sum, Value chunk, int64_t lanes) -> Value {
                 return e.make<arith::AddFOp>(sum, exponential(chunk, lanes));
               });
    Value last; // logarithm or reciprocal of the sum
    if (op.getLog()) {
      last = e.make<vector::ExtractOp>(logOf(e, e.splat(sum, 1)), 0);
    } else {
      last = e.make<arith::DivFOp>(e.scalar(1), sum);
    }
    e.forEachChunk(width, [&](Value column, int64_t lanes, int64_t valid) {
      Value chunk = e.loadRow(x, from, column, lanes, valid);
      Value own = e.splat(last, lanes), result;
      if (op.getLog()) {
        result = e.make<arith::SubFOp>(shifted(chunk, lanes), own);
      } else {
        result = e.make<arith::MulFOp>(exponential(chunk, lanes), own);
      }
      e.finishAndStoreTile({row, column, 1, lanes, valid}, e.asTile(result));
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
