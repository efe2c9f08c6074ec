//===- ProductRecipe.cpp - Products with a weight matrix, on a GPU --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/ClusterOps.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/WgmmaFacts.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/linear_attention/LinearAttentionOps.h"

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

/// Multiplies the elements of boxes with the factors of their rows, whose
/// `width` columns beside each other have one, and rounds them as if the scaled
/// rows had been stored. A warp has whole rows, and a lane writes back what it
/// has read.
static void scaleBoxes(GroupEmitter &e, Value boxes, Value factors,
                       int64_t width) {
  KernelBuilder &b = e.b;
  auto type = cast<SlotsType>(boxes.getType());
  TileType rows = TileType::get(
      b.getContext(), {type.rows(), type.count() * type.columns()},
      type.getElementType(), TileDistribution::row, e.schedule.warps(), 1);
  TileType wide = rows.with(rows.getShape(), b.f32(), TileDistribution::row);
  Value x = b.gatherOfBox(rows, boxes, /*slot=*/{},
                          [](Expr i, Expr j) { return std::pair(i, j); });
  Value scales = b.gatherOfBox(wide, factors, 0, [&](Expr i, Expr j) {
    return std::pair(i, j / width);
  });
  Value scaled = b.map(rows, {x, scales}, [&](Elements t, Expr, Expr) {
    return widen(b, t[0]) * t[1];
  });
  GroupShareOp::create(b, scaled, boxes, /*slot=*/Value());
}

/// The product with rows that something scales, while they and the first parts
/// of the weight are on their way.
static Value emitScaledProduct(GroupEmitter &e, LinearOp op,
                               CudaJoinOpInterface scaling,
                               const GroupEmitter::Place &place) {
  KernelBuilder &b = e.b;
  Value x = scaling->getOperand(0);
  auto scale = [&](Value boxes, ValueRange copies) {
    Value factors = scaling.emitOn(e, Value(), place);
    GroupWaitOp::create(b, copies);
    scaleBoxes(e, boxes, factors, scaling.getJoin()->columnsBefore);
  };
  return emitProduct(b, e.schedule, e.matrixOfBlocks(x),
                     e.matrix(op.getWeight()), place.row, place.column,
                     /*isTransposed=*/true, e.rowMap(x), scale, e.columnMap());
}

static Value emitSums(GroupEmitter &e, LinearOp op,
                      const GroupEmitter::Place &place) {
  Operation *scaling = scalingOf(op);
  return scaling
             ? emitScaledProduct(e, op, cast<CudaJoinOpInterface>(scaling),
                                 place)
             : emitProduct(e.b, e.schedule, e.matrixOfBlocks(op.getX()),
                           e.matrix(op.getWeight()), place.row, place.column,
                           /*isTransposed=*/true, e.rowMap(op.getX()),
                           /*scale=*/{}, e.columnMap(), e.takeTokens());
}

/// The sums of a place, with the bias.
static Value addBias(GroupEmitter &e, LinearOp op, Value sums,
                     const GroupEmitter::Place &place) {
  if (!op.getBias()) {
    return sums;
  }
  Value bias = e.load(op.getBias(), shapeOf(op.getResult()), place);
  return e.b.map(sums.getType(), {sums, bias}, [&](Elements x, Expr, Expr) {
    return x[0] + widen(e.b, x[1]);
  });
}

static LogicalResult checkWeightType(Operation *op, Type x, Value weight) {
  if (Type stored = getElementTypeOrSelf(weight); stored != x) {
    return op->emitOpError(
               "has code for a GPU for a weight of its input's type, ")
           << x << ", got " << stored;
  }
  return success();
}

/// Whether warp groups can multiply this tile: each warp has 16 rows of it.
static bool fitsWarpGroups(Value x, CudaScheduleAttr schedule) {
  return !getElementTypeOrSelf(x).isF32() && schedule.getColumnWarps() == 1 &&
         schedule.getRowWarps() % kWgmmaWarps == 0 &&
         schedule.getRows() * kWgmmaWarps ==
             schedule.getRowWarps() * kWgmmaRows &&
         schedule.getColumns() <= kMostWgmmaColumns &&
         schedule.getStep() <= kSegment;
}

/// A turn of the main loop reads one part of the inner dimension while another
/// is copied.
static bool isProductSchedule(const GpuFacts &gpu, Value x,
                              CudaScheduleAttr schedule) {
  int64_t step = schedule.getStep(), stages = schedule.getStages();
  int64_t elements =
      stages * step * (schedule.getRows() + schedule.getColumns());
  return canHoldSums(schedule) && step == boxColumns(step) && stages > 1 &&
         (!schedule.getUnderWay() || fitsWarpGroups(x, schedule)) &&
         fitsGroup(gpu, elements, getElementTypeOrSelf(x));
}

/// Whether blocks of a cluster compute a part each. Rows of a sum are nobody's
/// halves.
static bool takesCluster(Operation *op, CudaScheduleAttr schedule) {
  Value x = op->getOperand(0);
  int64_t blocks = schedule.getCluster();
  return shapeOf(x).back() % (blocks * schedule.getStep()) == 0 &&
         !SequenceRanges::readFrom(op) &&
         llvm::none_of(op->getUsers(), isColumnSlice) &&
         canAddParts(gpuOf(op), schedule, getElementTypeOrSelf(x));
}

/// Columns that block z of a cluster, or of a grid, multiplies.
static Value partOfBlock(GroupEmitter &e, Value tensor, int64_t columns) {
  Value all = e.matrix(tensor);
  int64_t rows = cast<MemRefType>(all.getType()).getDimSize(0);
  return e.view(all, 0, rows, e.block(2) * columns, columns);
}

/// The blocks of a cluster have the sums of a part each, and then rows of the
/// sums of all.
static void emitAddedParts(GroupEmitter &e, LinearOp op,
                           GroupEmitter::Place place) {
  KernelBuilder &b = e.b;
  CudaScheduleAttr schedule = e.schedule;
  int64_t blocks = schedule.getCluster();
  int64_t size = shapeOf(op.getX()).back() / blocks;
  Value sums =
      emitProduct(b, schedule, partOfBlock(e, op.getX(), size),
                  partOfBlock(e, op.getWeight(), size), place.row, place.column,
                  /*isTransposed=*/true, e.rowMap(op.getX()));
  int64_t rows = schedule.getRows(), columns = schedule.getColumns();
  Value slots = b.slots({1, rows, boxColumns(columns)}, b.f32());
  place.type = TileType::get(b.getContext(), {rows / blocks, columns}, b.f32(),
                             TileDistribution::row, schedule.warps(), 1);
  place.row = place.row + e.block(2) * (rows / blocks);
  Value part = AddPartsOp::create(b, place.type, sums, slots, e.block(2).in(b));
  e.finishAndStore(addBias(e, op, part, place), place);
}

/// Rows of x may be placed; the weight is `[out][in]` in any case.
static OperandReads readsOf(unsigned index, bool isTransposed) {
  return index == 0                    ? OperandReads::placed
         : index == 1 && !isTransposed ? OperandReads::packed
                                       : OperandReads::rows;
}

namespace {
struct ProductRecipe
    : CudaRecipeOpInterface::ExternalModel<ProductRecipe, LinearOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto linear = cast<LinearOp>(op);
    Type x = getElementTypeOrSelf(linear.getX());
    if (failed(checkWeightType(op, x, linear.getWeight()))) {
      return {};
    }
    ArrayRef<int64_t> shape = shapeOf(linear.getResult());
    int64_t rows = staticSize(shape.drop_back());
    int64_t inner = shapeOf(linear.getX()).back();
    if (Operation *scaling = scalingOf(op)) {
      return scheduleScaledProduct(
          gpuOf(op), x, rows, inner, shape.back(),
          cast<CudaJoinOpInterface>(scaling).getJoin()->columnsBefore);
    }
    auto attribute = op->getAttrOfType<IntegerAttr>(kAddedPartsAttr);
    int64_t parts = attribute ? attribute.getInt() : 1;
    CudaScheduleAttr cluster =
        parts > 1 && parts <= kMostClusterBlocks &&
                inner % (parts * productStep(x, inner)) == 0
            ? scheduleClusterProduct(gpuOf(op), x, rows, inner, shape.back(),
                                     parts)
            : CudaScheduleAttr();
    return cluster && takesSchedule(op, cluster)
               ? cluster
               : scheduleProduct(gpuOf(op), x, rows, inner, shape.back());
  }
  bool takesSchedule(Operation *op, CudaScheduleAttr schedule) const {
    return !scalingOf(op) &&
           isProductSchedule(gpuOf(op), op->getOperand(0), schedule) &&
           (schedule.getCluster() == 1 || takesCluster(op, schedule));
  }
  bool takesBefore(Operation *op, int64_t columns) const {
    Value x = cast<LinearOp>(op).getX();
    return canScaleProduct(gpuOf(op), getElementTypeOrSelf(x),
                           shapeOf(x).back(), columns);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    Grid grid = gridOfTiles(op, schedule);
    grid.z = schedule.getCluster();
    return grid;
  }
  void emitGroup(Operation *op, GroupEmitter &emitter) const {
    GroupEmitter::Place place = emitter.tilePlace(op);
    place.type = emitter.tile(emitter.b.f32(), TileDistribution::product);
    auto linear = cast<LinearOp>(op);
    CudaScheduleAttr schedule = emitter.schedule;
    if (schedule.getCluster() > 1) {
      return emitAddedParts(emitter, linear, place);
    }
    if (schedule.getUnderWay()) {
      // Groups of warps have large tiles, which read long behind their loop.
      emitter.bringAhead(place,
                         2 * schedule.getStages() * schedule.getStep() *
                             (schedule.getRows() + schedule.getColumns()));
    }
    Value sums = emitSums(emitter, linear, place);
    KernelBuilder::Values held;
    SmallVector<GroupPlace> places = emitter.heldPlaces(place);
    for (auto [number, part] : llvm::enumerate(places)) {
      Value tile =
          places.size() == 1 ? sums : emitter.b.half(sums, number == 1);
      held.push_back(addBias(emitter, linear, tile, part));
    }
    emitter.finishAndStore(held, places);
  }
  OperandReads getReads(Operation *op, unsigned index) const {
    bool isTransposed = cast<LinearOp>(op).getTransposed();
    return index != 1     ? readsOf(index, isTransposed)
           : isTransposed ? OperandReads::columns
                          : OperandReads::packedColumns;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Products along z
//===----------------------------------------------------------------------===//

/// The product of x and w is the entry of the result's first axis that the
/// block belongs to.
static void emitProductOfBlock(GroupEmitter &e, Value x, Value w, Value result,
                               bool isTransposed,
                               const KernelBuilder::RowMap &sourceRow = {}) {
  int64_t rows = e.schedule.getRows(), columns = e.schedule.getColumns();
  Expr row = e.block(0) * rows, column = e.block(1) * columns;
  Value sums =
      emitProduct(e.b, e.schedule, x, w, row, column, isTransposed, sourceRow);
  Value to = e.sequenceOf(result);
  auto type = cast<MemRefType>(to.getType());
  e.b.storeRounded(sums, to, row, column, type.getDimSize(0) % rows == 0,
                   type.getDimSize(1) % columns == 0);
}

static Grid gridOfProducts(Operation *op, CudaScheduleAttr schedule) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  int64_t rows = staticSize(shape.drop_back().drop_front());
  return {llvm::divideCeilSigned(rows, schedule.getRows()),
          llvm::divideCeilSigned(shape.back(), schedule.getColumns()),
          shape.front()};
}

//===----------------------------------------------------------------------===//
// LinearPartsOp, SumPartsOp
//===----------------------------------------------------------------------===//

namespace {
/// Parts along z.
struct LinearPartsRecipe
    : CudaRecipeOpInterface::ExternalModel<LinearPartsRecipe, LinearPartsOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto partsOp = cast<LinearPartsOp>(op);
    Type x = getElementTypeOrSelf(partsOp.getX());
    ArrayRef<int64_t> shape = shapeOf(partsOp.getResult());
    if (failed(checkWeightType(op, x, partsOp.getWeight())) ||
        failed(checkSequences(op, shape.front()))) {
      return {};
    }
    return scheduleProduct(gpuOf(op), x,
                           staticSize(shape.drop_back().drop_front()),
                           shapeOf(partsOp.getX()).back() / shape.front(),
                           shape.back(), shape.front());
  }
  bool takesSchedule(Operation *op, CudaScheduleAttr schedule) const {
    return isProductSchedule(gpuOf(op), op->getOperand(0), schedule) &&
           schedule.getCluster() == 1;
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    return gridOfProducts(op, schedule);
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto partsOp = cast<LinearPartsOp>(op);
    int64_t parts = shapeOf(partsOp.getResult()).front();
    int64_t size = shapeOf(partsOp.getX()).back() / parts;
    emitProductOfBlock(e, partOfBlock(e, partsOp.getX(), size),
                       partOfBlock(e, partsOp.getWeight(), size),
                       partsOp.getResult(),
                       /*isTransposed=*/true, e.rowMap(partsOp.getX()));
  }
  OperandReads getReads(Operation *op, unsigned index) const {
    return readsOf(index, cast<LinearPartsOp>(op).getTransposed());
  }
};

/// The rows of all parts are on their way before the first is added.
struct SumPartsRecipe : ElementsRecipe<SumPartsRecipe, SumPartsOp> {
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto sumOp = cast<SumPartsOp>(op);
    KernelBuilder &b = e.b;
    ArrayRef<int64_t> shape = shapeOf(sumOp.getResult());
    int64_t rows = staticSize(shape.drop_back());
    int64_t parts = shapeOf(sumOp.getX()).front();
    GroupPlace place = e.tilePlace(op);
    KernelBuilder::Values terms;
    for (int64_t part = 0; part < parts; ++part) {
      Value from =
          e.view(e.matrix(sumOp.getX()), part * rows, rows, 0, shape.back());
      terms.push_back(b.load(place.type, from, place.row, place.column,
                             place.rowsInside, place.columnsInside));
    }
    if (sumOp.getBias()) {
      terms.push_back(e.load(sumOp.getBias(), shape, place));
    }
    Value sum = b.map(place.type, terms, [&](Elements x, Expr, Expr) {
      Expr all = x[0];
      for (Expr term : x.drop_front()) {
        all = all + widen(b, term);
      }
      return all;
    });
    e.finishAndStore(sum, place);
  }
  TileScope getHeldScope(Operation *) const { return TileScope::row; }
};

//===----------------------------------------------------------------------===//
// ProjectTokensOp
//===----------------------------------------------------------------------===//

/// Sequences along z: each is the right operand of a product of its own, whose
/// left one is the weight, stored [projected][tokens].
struct ProjectTokensRecipe
    : CudaRecipeOpInterface::ExternalModel<ProjectTokensRecipe,
                                           ProjectTokensOp> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    auto projection = cast<ProjectTokensOp>(op);
    Type x = getElementTypeOrSelf(projection.getX());
    if (failed(checkWeightType(op, x, projection.getWeight())) ||
        failed(checkSequences(op, shapeOf(projection.getX())[0]))) {
      return {};
    }
    return scheduleInnerProduct(gpuOf(op), x, shapeOf(projection.getX())[1]);
  }
  bool takesSchedule(Operation *op, CudaScheduleAttr schedule) const {
    return isProductSchedule(gpuOf(op), op->getOperand(0), schedule) &&
           schedule.getColumnWarps() == 1 && !schedule.getUnderWay() &&
           schedule.getCluster() == 1;
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    return gridOfProducts(op, schedule);
  }
  void emitGroup(Operation *op, GroupEmitter &e) const {
    auto projection = cast<ProjectTokensOp>(op);
    emitProductOfBlock(e, e.matrix(projection.getWeight()),
                       e.sequenceOf(projection.getX()), projection.getResult(),
                       /*isTransposed=*/false);
  }
  OperandReads getReads(Operation *, unsigned index) const {
    return index == 1 ? OperandReads::packed : OperandReads::rows;
  }
};
} // namespace

void attachCudaProductRecipes(MLIRContext &context) {
  LinearOp::attachInterface<ProductRecipe>(context);
  LinearPartsOp::attachInterface<LinearPartsRecipe>(context);
  SumPartsOp::attachInterface<SumPartsRecipe>(context);
  ProjectTokensOp::attachInterface<ProjectTokensRecipe>(context);
}

} // namespace hova
