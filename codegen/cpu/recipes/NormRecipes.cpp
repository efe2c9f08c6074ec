//===- NormRecipes.cpp - Loops of operations that reduce a row ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Three passes over a row that the first leaves in L1: sums, squared
// deviations, results. The two-pass variance costs a load and avoids
// cancellation. A softmax takes three as well.

#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/TokenLanes.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using vector::CombiningKind;

namespace hova {

namespace {
/// `width` columns of a row of the result, from `first` on, and the same of the
/// row of an operand's buffer that it is computed from.
struct RowPiece {
  KernelEmitter &e;
  Expr row;
  Value source;
  Expr sourceRow;
  int64_t width;
  Expr first = 0;

  /// What `add` makes of a sum and every chunk of the source, across all lanes.
  Expr reduce(CombiningKind kind,
              llvm::function_ref<Expr(Expr sum, Expr chunk)> add) const {
    return e.reduceRow(kind, width, [&](Expr sum, const Chunk &at) {
      return add(sum, e.load(source, sourceRow, at + first));
    });
  }
  /// Hands to the stage what `compute` makes of every chunk of the source.
  void
  map(llvm::function_ref<Expr(Expr chunk, const TilePlace &)> compute) const {
    e.forEachChunk(width, [&](const Chunk &at) {
      TilePlace place(row, at + first);
      Expr chunk = e.load(source, sourceRow, at + first);
      e.finishAndStoreTile(place, compute(chunk, place));
    });
  }
  void scale(Expr factor) const {
    map([&](Expr chunk, const TilePlace &) { return chunk * factor; });
  }
};

/// A norm of a row, of a head of it, or of all tokens of a tile at once.
struct LayerNorm {
  LayerNormOp op;
  Expr mean, factor;

  using Add = llvm::function_ref<Expr(Expr sum, Expr term)>;
  /// `sumUp` returns what `add` makes of a sum and every part of x.
  LayerNorm(LayerNormOp op, llvm::function_ref<Expr(Add add)> sumUp) : op(op) {
    double reciprocal = 1.0 / op.getHeadWidth();
    if (isCentred()) {
      mean = sumUp([](Expr sum, Expr term) { return sum + term; }) * reciprocal;
    }
    Expr squares = sumUp([&](Expr sum, Expr term) {
      Expr deviation = centred(term);
      return fma(deviation, deviation, sum);
    });
    double eps = op.getEps().convertToDouble();
    if (op.getKind() == NormKind::l2) {
      // That of a row with a NaN stays one.
      Expr length = sqrt(squares);
      factor = 1.0 / select(length <= eps, eps, length);
    } else {
      factor = 1.0 / sqrt(squares * reciprocal + eps);
    }
  }
  /// Of a part of x, for which `load` loads the gain and the bias.
  Expr apply(Expr x, llvm::function_ref<Expr(Value)> load) {
    Expr normal = centred(x) * factor;
    if (op.getGain() && op.getBias()) {
      Expr gain = load(op.getGain()), bias = load(op.getBias());
      return fma(normal, gain, bias);
    }
    Expr scaled = op.getGain() ? normal * load(op.getGain()) : normal;
    return op.getBias() ? scaled + load(op.getBias()) : scaled;
  }

private:
  bool isCentred() { return op.getKind() == NormKind::standard; }
  Expr centred(Expr x) { return isCentred() ? x - mean : x; }
};
} // namespace

/// Of one head of a row, or of the row.
static void normalizePiece(KernelEmitter &e, LayerNormOp op,
                           const RowPiece &piece) {
  SmallVector<int64_t> shape(shapeOf(op.getResult()));
  shape.back() = op.getHeadWidth();
  LayerNorm norm(op, [&](LayerNorm::Add add) {
    return piece.reduce(CombiningKind::ADD, add);
  });
  piece.map([&](Expr chunk, TilePlace place) {
    // All heads have one gain and one bias.
    place.column =
        op.getHeads() == 1 ? place.column : place.column - piece.first;
    return norm.apply(chunk, [&](Value operand) {
      return e.loadTile(operand, shape, place);
    });
  });
}

static void emitLayerNorm(KernelEmitter &e, LayerNormOp op) {
  Value x = e.buffer(op.getX());
  int64_t heads = op.getHeads(), width = op.getHeadWidth();
  e.forEachRow([&](Expr row) {
    RowPiece piece{e, row, x, e.rowOf(op.getX(), row), width};
    if (heads == 1) {
      normalizePiece(e, op, piece);
      return;
    }
    e.forLoop("heads", heads, [&](Expr head) {
      piece.first = head * width;
      normalizePiece(e, op, piece);
    });
  });
}

/// Down the channels of every token, all tokens of a tile at once.
static void emitLayerNormLanes(TokenLanes &t, LayerNormOp op) {
  KernelEmitter &e = t.e;
  int64_t width = shapeOf(op.getX()).back();
  Value x = t.matrix(op.getX());
  LayerNorm norm(op, [&](LayerNorm::Add add) {
    return e.fold("channels", 0, width, 1, e.splat(0, t.lanes),
                  [&](Expr channel, Expr sum) {
                    return add(sum, e.load(x, channel, {0, t.lanes}));
                  });
  });
  t.forEachTile(width, [&](const TilePlace &place) {
    auto load = [&](Value operand) { return t.load(operand, place); };
    t.finishAndStore(place, norm.apply(load(op.getX()), load));
  });
}

/// Head by head: the sum of its squares, then its columns times a factor.
static void emitNormalizeHeads(KernelEmitter &e, NormalizeHeadsOp op) {
  Value x = e.buffer(op.getX());
  Value gains = op.getGain() ? e.buffer(op.getGain()) : Value();
  int64_t heads = op.getHeads(), width = shapeOf(op.getX()).back() / heads;
  Expr eps = op.getEps().convertToDouble();
  e.forEachRow([&](Expr row) {
    Expr from = e.rowOf(op.getX(), row);
    e.forLoop("heads", heads, [&](Expr head) {
      RowPiece piece{e, row, x, from, width, head * width};
      Expr squares = piece.reduce(CombiningKind::ADD, [](Expr sum, Expr chunk) {
        return fma(chunk, chunk, sum);
      });
      Expr gain = gains ? e.load(gains, 0, head) : Expr(1);
      piece.scale(gain / e.compute<arith::MaximumFOp>(sqrt(squares), eps));
    });
  });
}

/// Softmax over the logits of a row, one vector, then head by head.
static void emitScaleHeads(KernelEmitter &e, ScaleHeadsOp op) {
  Value in = e.buffer(op.getHeadsIn()), logits = e.buffer(op.getLogits());
  int64_t heads = shapeOf(op.getLogits()).back();
  int64_t width = shapeOf(op.getHeadsIn()).back() / heads;
  int64_t lanes = llvm::PowerOf2Ceil(heads);
  e.forEachRow([&](Expr row) {
    Expr mask = e.laneMask(lanes, heads);
    Expr score = select(mask, e.load(logits, row, {0, lanes, heads}),
                        -std::numeric_limits<double>::infinity());
    Expr top = reduceVector(CombiningKind::MAXNUMF, score);
    Expr exponential =
        select(mask, exp2((score - top) * (1 / std::log(2.0))), 0);
    Expr weight = exponential / reduceVector(CombiningKind::ADD, exponential);
    for (int64_t head = 0; head < heads; ++head) {
      RowPiece{e, row, in, row, width, head * width}.scale(weight[head]);
    }
  });
}

/// Three passes over a row: maximum, sum of exponentials, results.
static void emitSoftmax(KernelEmitter &e, SoftmaxOp op) {
  Value x = e.buffer(op.getX());
  int64_t width = shapeOf(op.getResult()).back();
  e.forEachRow([&](Expr row) {
    RowPiece piece{e, row, x, e.rowOf(op.getX(), row), width};
    // A NaN is not seen.
    constexpr CombiningKind most = CombiningKind::MAXNUMF;
    Expr top = piece.reduce(
        most, [&](Expr top, Expr chunk) { return combine(most, top, chunk); });
    auto exponential = [&](Expr chunk) {
      return exp2((chunk - top) * (1 / std::log(2.0)));
    };
    Expr sum = piece.reduce(CombiningKind::ADD, [&](Expr sum, Expr chunk) {
      return sum + exponential(chunk);
    });
    // Infinity and NaN, which the sum is where the row has one, give NaN.
    Expr last =
        op.getLog() ? e.compute<math::LogOp>(sum) + (sum - sum) : 1.0 / sum;
    piece.map([&](Expr chunk, const TilePlace &) {
      return op.getLog() ? (chunk - top) - last : exponential(chunk) * last;
    });
  });
}

namespace {
/// Reads the rows of the first operand where a table says.
template <typename Recipe, typename OpT, auto emit>
struct RowRecipe : CpuRecipe<Recipe, OpT, emit> {
  OperandReads getReads(Operation *, unsigned index) const {
    return index == 0 ? OperandReads::placed : OperandReads::rows;
  }
};
struct SoftmaxRecipe : RowRecipe<SoftmaxRecipe, SoftmaxOp, emitSoftmax> {};
struct NormalizeHeadsRecipe
    : RowRecipe<NormalizeHeadsRecipe, NormalizeHeadsOp, emitNormalizeHeads> {};
struct LayerNormRecipe
    : RowRecipe<LayerNormRecipe, LayerNormOp, emitLayerNorm> {};
struct LayerNormLanes
    : CpuTokenLanesOpInterface::ExternalModel<LayerNormLanes, LayerNormOp> {
  std::optional<std::string> declineTokenLanes(Operation *op) const {
    return cast<LayerNormOp>(op).getHeads() == 1
               ? std::nullopt
               : std::optional<std::string>("its rows are one head");
  }
  void emitTokenLanes(Operation *op, TokenLanes &lanes) const {
    emitLayerNormLanes(lanes, cast<LayerNormOp>(op));
  }
};
} // namespace

void attachNormRecipes(MLIRContext &context) {
  LayerNormOp::attachInterface<LayerNormRecipe, LayerNormLanes>(context);
  NormalizeHeadsOp::attachInterface<NormalizeHeadsRecipe>(context);
  SoftmaxOp::attachInterface<SoftmaxRecipe>(context);
  attachRecipe<ScaleHeadsOp, emitScaleHeads>(context);
}

} // namespace hova
