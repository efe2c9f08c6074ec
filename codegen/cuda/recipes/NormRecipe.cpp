//===- NormRecipe.cpp - Layer norm on a GPU -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/RowParts.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;

/// Whether a tile has the columns of one head, or of the only one.
static bool holdsOneHead(LayerNormOp norm, CudaScheduleAttr schedule) {
  return norm.getHeads() == 1 || schedule.getColumns() == norm.getHeadWidth();
}

/// Head after head of tiles that have all of them.
static Value emitHeads(GroupEmitter &e, LayerNormOp norm, Value rows,
                       const RowNorm &ofHead) {
  auto type = cast<TileType>(rows.getType());
  auto addHead = [&](Expr head, ValueRange before) -> KernelBuilder::Values {
    auto isOf = [&](Expr column) { return column / ofHead.columns == head; };
    Value normed = emitNormalised(e.b, rows, ofHead, isOf);
    // A number that is none stays in its head.
    return {e.b.map(type, {normed, before[0]}, [&](Elements x, Expr, Expr j) {
      return select(isOf(j), x[0], x[1]);
    })};
  };
  int64_t heads = hasWholeRows(norm, e.schedule)
                      ? norm.getHeads()
                      : type.columns() / ofHead.columns;
  return e.b.loop(heads, e.b.fill(type, 0), addHead)[0];
}

/// The elements of the gain or the bias, which all heads have, that a tile
/// needs.
static Value loadOfHead(GroupEmitter &e, LayerNormOp norm, Value vector,
                        GroupPlace place) {
  if (!vector) {
    return {};
  }
  int64_t width = norm.getHeadWidth();
  if (holdsOneHead(norm, e.schedule)) {
    if (norm.getHeads() > 1) {
      place.column = 0;
      place.columnsInside = true;
    }
    SmallVector<int64_t> shape(shapeOf(norm.getResult()));
    shape.back() = width;
    return e.load(vector, shape, place);
  }
  TileType type =
      place.type.with({1, place.type.columns()}, getElementTypeOrSelf(vector),
                      place.type.getDistribution());
  return e.b.gather(type, e.matrix(vector),
                    [&](Expr i, Expr j) { return std::pair(i, j % width); });
}

static RowNorm headNormOf(LayerNormOp norm) {
  return {norm.getKind(), norm.getHeadWidth(), norm.getEps().convertToDouble()};
}

namespace {
/// The gain and the bias at a tile, and what becomes of normalised rows there.
struct Affine {
  Affine(GroupEmitter &e, LayerNormOp norm, const GroupPlace &place)
      : gain(loadOfHead(e, norm, norm.getGain(), place)),
        bias(loadOfHead(e, norm, norm.getBias(), place)) {}

  Value apply(KernelBuilder &b, Value normed) const {
    Type type = normed.getType();
    if (gain && bias) {
      return b.map(type, {normed, gain, bias}, [](Elements x, Expr, Expr) {
        return fma(x[0], x[1], x[2]);
      });
    }
    if (gain) {
      return b.map(type, {normed, gain},
                   [](Elements x, Expr, Expr) { return x[0] * x[1]; });
    }
    return bias ? b.map(type, {normed, bias},
                        [](Elements x, Expr, Expr) { return x[0] + x[1]; })
                : normed;
  }

  Value gain, bias;
};
} // namespace

/// The norm of a tile of f32, after whose columns there is 0.
static Value emitNorm(GroupEmitter &e, LayerNormOp norm, Value rows,
                      const GroupPlace &place) {
  // What is on its way while the sums are exchanged.
  Affine affine(e, norm, place);
  RowNorm ofHead = headNormOf(norm);
  Value result = holdsOneHead(norm, e.schedule)
                     ? emitNormalised(e.b, rows, ofHead)
                     : emitHeads(e, norm, rows, ofHead);
  return affine.apply(e.b, result);
}

/// A warp reads its row for the mean, for the squares of what is apart from
/// it, and for what it stores.
static void emitInParts(GroupEmitter &e, LayerNormOp norm) {
  KernelBuilder &b = e.b;
  RowParts parts(e, norm);
  RowNorm ofRow = headNormOf(norm);
  auto load = [&](const GroupPlace &part) {
    Value x = e.load(norm.getX(), shapeOf(norm.getResult()), part);
    return b.map(part.type, x,
                 [&](Elements t, Expr, Expr) { return widen(b, t[0]); });
  };
  bool isCentred = ofRow.kind == NormKind::standard;
  Value sum = isCentred ? parts.fold(0, Combine::add, load) : Value();
  auto apart = [&](const GroupPlace &part) {
    Value x = load(part);
    if (!isCentred) {
      return x;
    }
    // After the row there is nothing, not even a distance from the mean.
    return b.map(part.type, {x, sum}, [&](Elements t, Expr, Expr j) {
      Expr there =
          part.columnsInside ? Expr() : part.column + j < ofRow.columns;
      return select(there, t[0] - t[1] * (1.0 / ofRow.columns), 0);
    });
  };
  Value squares = parts.fold(0, Combine::add, [&](const GroupPlace &part) {
    return b.map(part.type, apart(part),
                 [](Elements t, Expr, Expr) { return t[0] * t[0]; });
  });
  Value factors = emitNormFactors(b, squares, ofRow);
  parts.forEach(
      {}, [&](const GroupPlace &part, ValueRange) -> KernelBuilder::Values {
        Affine affine(e, norm, part);
        Value normed =
            b.map(part.type, {apart(part), factors},
                  [](Elements t, Expr, Expr) { return t[0] * t[1]; });
        e.finishAndStore(affine.apply(b, normed), part);
        return {};
      });
}

/// Whether the norm is of whole rows.
static bool hasOneHead(Operation *op) {
  return cast<LayerNormOp>(op).getHeads() == 1;
}

namespace {
/// A warp has a whole row, or one head of it where heads are as wide as tiles
/// can be; of rows that are too long for that, some heads, or part after part.
struct NormRecipe : RowsRecipe<NormRecipe, LayerNormOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto norm = cast<LayerNormOp>(op);
    CudaScheduleAttr ofHead = scheduleColumns(op, norm.getHeadWidth());
    bool isOfHead = norm.getHeads() > 1 && holdsOneHead(norm, ofHead) &&
                    norm.getHeadWidth() <= kMostRowColumns;
    return isOfHead              ? ofHead
           : norm.getHeads() > 1 ? scheduleHeads(op, norm.getHeadWidth())
                                 : scheduleRows(op);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    Grid grid = gridOfTiles(op, schedule);
    grid.y = hasOneHead(op) ? 1 : grid.y;
    return grid;
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto norm = cast<LayerNormOp>(op);
    if (hasOneHead(op) && !hasWholeRows(op, e.schedule)) {
      emitInParts(e, norm);
      return;
    }
    GroupPlace place = e.tilePlace(op);
    Value rows = e.load(norm.getX(), shapeOf(norm.getResult()), place);
    rows = e.b.map(place.type, rows,
                   [&](Elements x, Expr, Expr) { return widen(e.b, x[0]); });
    e.finishAndStore(emitNorm(e, norm, rows, place), place);
  }
  TileScope getHeldScope(Operation *op) const {
    return hasOneHead(op) ? TileScope::row : TileScope::pair;
  }
  OperandReads getReads(Operation *, unsigned index) const {
    return index == 0 ? OperandReads::placed : OperandReads::rows;
  }
};

struct NormJoin : CudaJoinOpInterface::ExternalModel<NormJoin, LayerNormOp> {
  std::optional<CudaJoin> getJoin(Operation *op) const {
    return hasOneHead(op) ? std::optional(CudaJoin{TileScope::row})
                          : std::nullopt;
  }
  Value emitOn(Operation *op, GroupEmitter &e, Value rows,
               const GroupPlace &place) const {
    auto norm = cast<LayerNormOp>(op);
    if (!place.columnsInside) {
      int64_t width = shapeOf(norm.getResult()).back();
      rows = e.b.map(place.type, rows, [&](Elements x, Expr, Expr j) {
        return select(j < width, x[0], 0);
      });
    }
    return emitNorm(e, norm, rows, place);
  }
};
} // namespace

void attachCudaNormRecipe(MLIRContext &context) {
  LayerNormOp::attachInterface<NormRecipe, NormJoin>(context);
}

} // namespace hova
