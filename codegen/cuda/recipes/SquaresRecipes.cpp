//===- SquaresRecipes.cpp - Norms behind products, on a GPU ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The kernel that makes rows leaves sums of their squares; the one that reads
// them, behind a product, adds the sums of a row. What has rows begin a
// residual stream takes their mean away.

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/SumOps.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/RowParts.h"
#include "dialect/Shapes.h"
#include "dialect/dense/NormOps.h"

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;

/// `rows` of any type as f32, with 0 after their last column.
static Value widenRows(KernelBuilder &b, Value rows, const GroupPlace &place,
                       int64_t width) {
  return b.map(place.type, rows, [&](Elements x, Expr, Expr j) {
    Expr there = place.columnsInside ? Expr() : place.column + j < width;
    return select(there, widen(b, x[0]), 0);
  });
}

//===----------------------------------------------------------------------===//
// CenterOp
//===----------------------------------------------------------------------===//

/// Of rows that a tile holds whole.
static Value emitCenter(GroupEmitter &e, CenterOp op, Value rows,
                        const GroupPlace &place) {
  int64_t width = shapeOf(op.getResult()).back();
  return emitCentered(
      e.b, widenRows(e.b, rows, place, width), width,
      [&](Expr j) { return place.columnsInside ? Expr() : j < width; });
}

/// A warp reads its row for the mean and for what it stores.
static void emitCenterInParts(GroupEmitter &e, CenterOp op) {
  KernelBuilder &b = e.b;
  RowParts parts(e, op);
  int64_t width = shapeOf(op.getResult()).back();
  auto load = [&](const GroupPlace &part) {
    return widenRows(b, e.load(op.getX(), shapeOf(op.getResult()), part), part,
                     width);
  };
  Value sum = parts.fold(0, Combine::add, load);
  parts.forEach(
      {}, [&](const GroupPlace &part, ValueRange) -> KernelBuilder::Values {
        e.finishAndStore(b.map(part.type, {load(part), sum},
                               [&](Elements x, Expr, Expr) {
                                 return x[0] - x[1] * (1.0 / width);
                               }),
                         part);
        return {};
      });
}

namespace {
struct CenterRecipe : RowsRecipe<CenterRecipe, CenterOp> {
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    Grid grid = gridOfTiles(op, schedule);
    grid.y = 1;
    return grid;
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto center = cast<CenterOp>(op);
    if (!hasWholeRows(op, e.schedule)) {
      emitCenterInParts(e, center);
      return;
    }
    GroupPlace place = e.tilePlace(op);
    Value rows = e.load(center.getX(), shapeOf(center.getResult()), place);
    e.finishAndStore(emitCenter(e, center, rows, place), place);
  }
  TileScope getHeldScope(Operation *) const { return TileScope::row; }
  OperandReads getReads(Operation *, unsigned) const {
    return OperandReads::placed;
  }
};

struct CenterJoin : CudaJoinOpInterface::ExternalModel<CenterJoin, CenterOp> {
  std::optional<CudaJoin> getJoin(Operation *) const {
    return CudaJoin{TileScope::row};
  }
  Value emitOn(Operation *op, GroupEmitter &e, Value rows,
               const GroupPlace &place) const {
    return emitCenter(e, cast<CenterOp>(op), rows, place);
  }
};

//===----------------------------------------------------------------------===//
// RowSquaresOp
//===----------------------------------------------------------------------===//

struct RowSquaresJoin
    : CudaJoinOpInterface::ExternalModel<RowSquaresJoin, RowSquaresOp> {
  std::optional<CudaJoin> getJoin(Operation *op) const {
    auto columns = static_cast<int64_t>(cast<RowSquaresOp>(op).getColumns());
    return CudaJoin{TileScope::element, /*columnsBefore=*/0, columns};
  }
  Value emitOn(Operation *op, GroupEmitter &e, Value rows,
               const GroupPlace &place) const {
    auto squares = cast<RowSquaresOp>(op);
    KernelBuilder &b = e.b;
    auto columns = static_cast<int64_t>(squares.getColumns());
    Value x = widenRows(b, rows, place, shapeOf(squares.getX()).back());
    Value products = b.map(place.type, x,
                           [](Elements t, Expr, Expr) { return t[0] * t[0]; });
    StoreSumsOp::create(b, products, e.matrix(squares.getResult()),
                        place.row.in(b), (place.column / columns).in(b),
                        columns, {place.rowsInside, place.columnsInside});
    return {};
  }
};

/// Blocks of columns of rows that something else has made.
struct RowSquaresRecipe
    : CudaRecipeOpInterface::ExternalModel<RowSquaresRecipe, RowSquaresOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    int64_t width = shapeOf(op->getOperand(0)).back();
    int64_t columns =
        llvm::alignTo(std::min(width, kColumnsOfBlock), 4 * kLanes);
    return CudaScheduleAttr::get(op->getContext(), kRowsOfBlock, columns,
                                 kRowsOfBlock, 1, 1, 1);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    Grid grid = gridOfTiles(op, schedule);
    grid.y = llvm::divideCeilSigned(shapeOf(op->getOperand(0)).back(),
                                    schedule.getColumns());
    return grid;
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
    GroupPlace place = e.tilePlace(op);
    place.columnsInside = shape.back() % e.schedule.getColumns() == 0;
    Value rows = e.load(op->getOperand(0), shape, place);
    cast<CudaJoinOpInterface>(op).emitOn(e, rows, place);
  }
};

//===----------------------------------------------------------------------===//
// DivideByRmsOp
//===----------------------------------------------------------------------===//

struct DivideByRmsJoin
    : CudaJoinOpInterface::ExternalModel<DivideByRmsJoin, DivideByRmsOp> {
  std::optional<CudaJoin> getJoin(Operation *) const {
    return CudaJoin{TileScope::element};
  }
  Value emitOn(Operation *op, GroupEmitter &e, Value tile,
               const GroupPlace &place) const {
    auto divide = cast<DivideByRmsOp>(op);
    KernelBuilder &b = e.b;
    TileType column = place.type.with({place.type.rows(), 1}, b.f32(),
                                      place.type.getDistribution());
    Value sums = LoadSumsOp::create(b, column, e.matrix(divide.getSquares()),
                                    place.row.in(b), place.rowsInside);
    RowNorm norm = {NormKind::rms, static_cast<int64_t>(divide.getWidth()),
                    divide.getEps().convertToDouble()};
    Value factors = emitNormFactors(b, sums, norm);
    Value bias = divide.getBias() ? e.load(divide.getBias(),
                                           shapeOf(divide.getResult()), place)
                                  : Value();
    return b.map(place.type, {tile, factors, bias},
                 [&](Elements x, Expr, Expr) {
                   Expr normal = widen(b, x[0]) * x[1];
                   return divide.getBias() ? normal + widen(b, x[2]) : normal;
                 });
  }
};

struct DivideByRmsRecipe : ElementsRecipe<DivideByRmsRecipe, DivideByRmsOp> {
  void emitGroup(Operation *op, GroupEmitter &e) const {
    GroupPlace place = e.tilePlace(op);
    Value tile = e.load(op->getOperand(0), shapeOf(op->getResult(0)), place);
    e.finishAndStore(cast<CudaJoinOpInterface>(op).emitOn(e, tile, place),
                     place);
  }
  TileScope getHeldScope(Operation *) const { return TileScope::row; }
};
} // namespace

void attachCudaSquaresRecipes(MLIRContext &context) {
  CenterOp::attachInterface<CenterRecipe, CenterJoin>(context);
  RowSquaresOp::attachInterface<RowSquaresRecipe, RowSquaresJoin>(context);
  DivideByRmsOp::attachInterface<DivideByRmsRecipe, DivideByRmsJoin>(context);
}

} // namespace hova
