//===- MaskRecipes.cpp - Masks and what follows from them, on a GPU -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Booleans and integers of tokens, one by one. A warp has a row.

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/token/TokenOps.h"
#include <limits>

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;
using Place = GroupEmitter::Place;

/// A tile of i32, of what a matrix of integers has where `cell` says for each
/// row and column of the result.
static Value
integers(GroupEmitter &e, const Place &place, Value tensor,
         llvm::function_ref<KernelBuilder::Cell(Expr row, Expr column)> cell) {
  KernelBuilder &b = e.b;
  TileType type = place.type.with(place.type.getShape(), b.getI32Type(),
                                  TileDistribution::row);
  return b.gather(type, e.matrix(tensor), [&](Expr i, Expr j) {
    return cell(place.row + i, place.column + j);
  });
}

/// Stores what `body` makes of the integers of tiles and their column.
static void
storeIntegers(GroupEmitter &e, const Place &place, ValueRange tiles,
              Value result,
              llvm::function_ref<Expr(Elements x, Expr column)> body) {
  Value made =
      e.b.map(tiles[0].getType(), tiles, [&](Elements x, Expr, Expr j) {
        return body(x, place.column + j);
      });
  e.b.store(made, e.matrix(result), place.row, place.column, place.rowsInside,
            place.columnsInside);
}

//===----------------------------------------------------------------------===//
// The tiles
//===----------------------------------------------------------------------===//

static void emitMask(GroupEmitter &e, PaddingMaskOp op, const Place &place) {
  KernelBuilder &b = e.b;
  Value ids = integers(e, place, op.getIds(), [&](Expr row, Expr column) {
    // The class token counts where the first one does.
    return std::pair(row, op.getClassToken() ? max(column, 1) - 1 : column);
  });
  storeIntegers(e, place, ids, op.getResult(), [&](Elements id, Expr) {
    return b.compute<arith::ExtUIOp>(b.getI32Type(), id[0] != op.getPad());
  });
}

/// The same where items differ in length, and each token has a row: one after
/// the other of those before it in its item is added, from itself on back.
static Value countValidBefore(GroupEmitter &e, Value valid, Value positions,
                              const Place &place) {
  KernelBuilder &b = e.b;
  Type column = positions.getType();
  Value none = b.map(column, {}, [](Elements, Expr, Expr) { return Expr(0); });
  auto add = [&](Expr back, ValueRange count) -> KernelBuilder::Values {
    Value isValid =
        b.gather(cast<TileType>(column), e.matrix(valid), positions,
                 [&](Elements position, Expr i, Expr) {
                   Expr isOfItem = back <= toIndex(position[0]);
                   return std::pair(select(isOfItem, place.row + i - back, -1),
                                    b.index(0));
                 });
    return {b.map(column, {count[0], isValid}, [&](Elements x, Expr, Expr) {
      return select(x[1] != 0, x[0] + 1, x[0]);
    })};
  };
  return b.loop(shapeOf(valid).back(), none, add)[0];
}

/// How many of a row's tokens are valid up to each column: every token adds to
/// those at its place and after it.
static Value countValid(GroupEmitter &e, Value valid, const Place &place) {
  KernelBuilder &b = e.b;
  TileType type = place.type.with(place.type.getShape(), b.getI32Type(),
                                  TileDistribution::row);
  TileType one =
      type.with({type.rows(), 1}, b.getI32Type(), TileDistribution::row);
  Value none = b.map(type, {}, [](Elements, Expr, Expr) { return Expr(0); });
  Expr tokens = b.index(shapeOf(valid).back());
  Expr end = min(place.column + type.columns(), tokens);
  auto add = [&](Expr token, ValueRange count) -> KernelBuilder::Values {
    Value isValid = b.gather(one, e.matrix(valid), [&](Expr i, Expr) {
      return std::pair(place.row + i, token);
    });
    return {b.map(type, {count[0], isValid}, [&](Elements x, Expr, Expr j) {
      return select((x[1] != 0) & (token <= place.column + j), x[0] + 1, x[0]);
    })};
  };
  return b.loop(0, end, none, add)[0];
}

static void emitMask(GroupEmitter &e, PositionIdsOp op, const Place &place) {
  int64_t masked = op.getOffset() - 1;
  SmallVector<Value> tiles = {
      integers(e, place, op.getValid(),
               [](Expr row, Expr column) { return std::pair(row, column); })};
  bool isByTable = e.haveTokenRanges();
  Value positions = isByTable ? e.positionTile(place) : Value();
  if (op.getCounted()) {
    tiles.push_back(isByTable
                        ? countValidBefore(e, op.getValid(), positions, place)
                        : countValid(e, op.getValid(), place));
  } else if (isByTable) {
    tiles.push_back(positions);
  }
  storeIntegers(e, place, tiles, op.getResult(), [&](Elements x, Expr column) {
    Expr position = op.getCounted() ? x[1] + masked
                    : isByTable
                        ? x[1] + op.getOffset()
                        : toInteger(column + op.getOffset(), e.b.getI32Type());
    return select(x[0] != 0, position, masked);
  });
}

static void emitMask(GroupEmitter &e, MaskFactorsOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t tokens = shapeOf(op.getValid()).back();
  Value valid = integers(e, place, op.getValid(), [&](Expr row, Expr) {
    return e.cellOfToken(row, tokens);
  });
  Value factors =
      b.map(place.type, valid, [&](KernelBuilder::Elements x, Expr, Expr) {
        return select(x[0] != 0, b.number(1), 0);
      });
  e.finishAndStore(factors, place);
}

//===----------------------------------------------------------------------===//
// What has no code
//===----------------------------------------------------------------------===//

/// Ids of 64 bits are gathered as i32, where the least one stands for all
/// others.
static StringRef whatLacks(PaddingMaskOp op) {
  using Narrow = std::numeric_limits<int32_t>;
  int64_t pad = op.getPad();
  bool isNarrow = pad > Narrow::min() && pad <= Narrow::max();
  bool isWide = getElementTypeOrSelf(op.getIds()).isInteger(64);
  return isWide && !isNarrow ? "ids of i64 and a pad outside 32 bits" : "";
}
template <typename OpT> static StringRef whatLacks(OpT) { return ""; }

namespace {
template <typename OpT>
struct MaskRecipe : ElementsRecipe<MaskRecipe<OpT>, OpT> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    if (StringRef lack = whatLacks(cast<OpT>(op)); !lack.empty()) {
      op->emitOpError("has no code for a GPU yet with ")
          << lack << "; a CPU runs it (--target=cpu)";
      return {};
    }
    return scheduleElements(op);
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
