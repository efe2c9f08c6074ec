//===- MaskRecipes.cpp - Masks and what follows from them, on a GPU -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Booleans and integers of tokens, one by one. A warp has a row.

#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;

namespace hova {

using Place = GroupEmitter::Place;

/// A tile of i32, of what a matrix of integers has in the same rows, at the
/// columns that `where` says.
static Value integers(GroupEmitter &e, const Place &place, Value tensor,
                      llvm::function_ref<Value(Value column)> where) {
  KernelBuilder &b = e.b;
  TileType type = place.type.with(place.type.getShape(), b.getI32Type(),
                                  TileDistribution::row);
  return b.gather(type, e.matrix(tensor), [&](Value i, Value j) {
    return std::pair(b.sum(place.row, i), where(b.sum(place.column, j)));
  });
}

/// Stores what `body` makes of each integer and its column.
static void
storeIntegers(GroupEmitter &e, const Place &place, Value tile, Value result,
              llvm::function_ref<Value(Value x, Value column)> body) {
  KernelBuilder &b = e.b;
  Value made =
      b.map(tile.getType(), tile, [&](ValueRange x, Value, Value j) -> Value {
        return body(x[0], b.sum(place.column, j));
      });
  b.store(made, e.matrix(result), place.row, place.column, place.rowsInside,
          place.columnsInside);
}

static Value i32(KernelBuilder &b, int64_t value) {
  return arith::ConstantOp::create(
      b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

static Value isNot(KernelBuilder &b, Value x, int64_t value) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, i32(b, value));
}

//===----------------------------------------------------------------------===//
// The tiles
//===----------------------------------------------------------------------===//

static void emitMask(GroupEmitter &e, PaddingMaskOp op, const Place &place) {
  KernelBuilder &b = e.b;
  Value ids = integers(e, place, op.getIds(), [&](Value column) -> Value {
    if (!op.getClassToken()) {
      return column;
    }
    // The class token counts where the first one does.
    return b.addIndex(arith::MaxUIOp::create(b, column, b.index(1)), -1);
  });
  storeIntegers(e, place, ids, op.getResult(), [&](Value id, Value) -> Value {
    return arith::ExtUIOp::create(b, b.getI32Type(), isNot(b, id, op.getPad()));
  });
}

static void emitMask(GroupEmitter &e, PositionIdsOp op, const Place &place) {
  KernelBuilder &b = e.b;
  Value valid =
      integers(e, place, op.getValid(), [](Value column) { return column; });
  storeIntegers(e, place, valid, op.getResult(),
                [&](Value own, Value column) -> Value {
                  Value position = arith::IndexCastOp::create(
                      b, b.getI32Type(), b.addIndex(column, 1));
                  return arith::SelectOp::create(b, isNot(b, own, 0), position,
                                                 i32(b, 0));
                });
}

static void emitMask(GroupEmitter &e, MaskFactorsOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t tokens = shapeOf(op.getValid()).back();
  TileType type = place.type.with(place.type.getShape(), b.getI32Type(),
                                  TileDistribution::row);
  Value valid = b.gather(type, e.matrix(op.getValid()), [&](Value i, Value) {
    Value row = b.sum(place.row, i);
    return std::pair(b.divIndex(row, tokens), b.remIndex(row, tokens));
  });
  Value factors =
      b.map(place.type, valid, [&](ValueRange x, Value, Value) -> Value {
        return arith::SelectOp::create(b, isNot(b, x[0], 0), b.number(1),
                                       b.number(0));
      });
  e.finishAndStore(factors, place);
}

//===----------------------------------------------------------------------===//
// What has no code
//===----------------------------------------------------------------------===//

/// Ids of 64 bits are gathered as i32, where -1 stands for all others.
static StringRef whatLacks(PaddingMaskOp op) {
  int64_t pad = op.getPad();
  bool isNarrow = pad >= 0 && pad <= std::numeric_limits<int32_t>::max();
  bool isWide = getElementTypeOrSelf(op.getIds()).isInteger(64);
  return isWide && !isNarrow ? "ids of i64 and a pad that is no id" : "";
}
template <typename OpT> static StringRef whatLacks(OpT) { return ""; }

namespace {
template <typename OpT>
struct MaskRecipe : CudaRecipeOpInterface::ExternalModel<MaskRecipe<OpT>, OpT> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    if (StringRef lack = whatLacks(cast<OpT>(op)); !lack.empty()) {
      op->emitOpError("has no code for a GPU yet with ")
          << lack << "; a CPU runs it (--target=cpu)";
      return {};
    }
    return scheduleElements(op);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    return gridOfTiles(op, schedule);
  }
  void emitGroup(Operation *op, GroupEmitter &emitter) const {
    emitMask(emitter, cast<OpT>(op), emitter.tilePlace(op));
  }
};
} // namespace

void attachCudaMaskRecipes(MLIRContext &context) {
  MaskFactorsOp::attachInterface<MaskRecipe<MaskFactorsOp>>(context);
  PaddingMaskOp::attachInterface<MaskRecipe<PaddingMaskOp>>(context);
  PositionIdsOp::attachInterface<MaskRecipe<PositionIdsOp>>(context);
}

} // namespace hova
