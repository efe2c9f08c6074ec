//===- TokenRecipes.cpp - Operations that move rows, on a GPU -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each element of the result is read from a place that follows from its own, or
// from several. A warp has a row, so that lanes read and write neighbours.

#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hova {

using Place = GroupEmitter::Place;

/// A tile of f32 of what was read.
static Value asF32(GroupEmitter &e, const Place &place, Value tile) {
  return e.b.map(place.type, tile, [&](ValueRange x, Value, Value) {
    return widen(e.b, e.b.getLoc(), x[0]);
  });
}

/// The tile whose elements stand in the matrix of `tensor` where `where` says
/// for the row and column of the result; 0 outside.
static Value
gather(GroupEmitter &e, const Place &place, Value tensor,
       llvm::function_ref<std::pair<Value, Value>(Value row, Value column)>
           where) {
  Value from = e.matrix(tensor);
  Type element = cast<MemRefType>(from.getType()).getElementType();
  TileType type =
      place.type.with(place.type.getShape(), element, TileLanes::row);
  return asF32(e, place, e.b.gather(type, from, [&](Value i, Value j) {
    return where(e.b.sum(place.row, i), e.b.sum(place.column, j));
  }));
}

//===----------------------------------------------------------------------===//
// The tiles
//===----------------------------------------------------------------------===//

static Value emitTile(GroupEmitter &e, UnfoldOp op, const Place &place) {
  KernelBuilder &b = e.b;
  ArrayRef<int64_t> image = shapeOf(op.getX());
  int64_t kernel = op.getKernel(), stride = op.getStride();
  int64_t height = image[2], width = image[3], padding = op.getPadding();
  int64_t across = (width + 2 * padding - kernel) / stride + 1;
  int64_t places = shapeOf(op.getResult())[1];
  return gather(e, place, op.getX(), [&](Value row, Value column) {
    Value batch = b.divIndex(row, places), square = b.remIndex(row, places);
    Value channel = b.divIndex(column, kernel * kernel);
    Value pixel = b.remIndex(column, kernel * kernel);
    Value y = b.addIndex(b.sum(b.mulIndex(b.divIndex(square, across), stride),
                               b.divIndex(pixel, kernel)),
                         -padding);
    Value x = b.addIndex(b.sum(b.mulIndex(b.remIndex(square, across), stride),
                               b.remIndex(pixel, kernel)),
                         -padding);
    Value plane = b.sum(b.mulIndex(batch, image[1]), channel);
    Value source = b.sum(b.mulIndex(plane, height), y);
    if (padding) {
      // Above and below an image is another one.
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, y,
                                           b.index(height));
      source = arith::SelectOp::create(b, inside, source, b.index(-1));
    }
    return std::pair(source, x);
  });
}

static Value emitTile(GroupEmitter &e, ClassTokenOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t tokens = shapeOf(op.getResult())[1];
  auto isToken = [&](Value row) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                 b.remIndex(row, tokens), b.index(0));
  };
  Value others = gather(e, place, op.getX(), [&](Value row, Value column) {
    // Of entry n, n + 1 rows of the result are tokens up to here.
    Value source =
        b.addIndex(b.sum(row, b.mulIndex(b.divIndex(row, tokens), -1)), -1);
    return std::pair<Value, Value>(
        arith::SelectOp::create(b, isToken(row), b.index(-1), source), column);
  });
  Value token = e.load(op.getToken(), shapeOf(op.getResult()), place);
  return b.map(
      place.type, {others, token}, [&](ValueRange x, Value i, Value) -> Value {
        return arith::SelectOp::create(b, isToken(b.sum(place.row, i)),
                                       widen(b, b.getLoc(), x[1]), x[0]);
      });
}

static Value emitTile(GroupEmitter &e, SliceOp op, const Place &place) {
  KernelBuilder &b = e.b;
  ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), offset = op.getOffset();
  if (op.takesColumns()) {
    return gather(e, place, op.getX(), [&](Value row, Value column) {
      return std::pair(row, b.addIndex(column, offset));
    });
  }
  // Rows of an entry of the axes before are neighbours in both.
  int64_t inner = staticSize(to.drop_back().drop_front(axis + 1));
  int64_t ownRows = to[axis] * inner, allRows = from[axis] * inner;
  return gather(e, place, op.getX(), [&](Value row, Value column) {
    Value entry = b.divIndex(row, ownRows);
    Value source = b.sum(b.mulIndex(entry, allRows),
                         b.addIndex(b.remIndex(row, ownRows), offset * inner));
    return std::pair(source, column);
  });
}

static Value emitTile(GroupEmitter &e, LayerPoolOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t layers = op.getLayers();
  Value most;
  for (int64_t layer = 0; layer < layers; ++layer) {
    Value own = gather(e, place, op.getX(), [&](Value row, Value column) {
      return std::pair(b.addIndex(b.mulIndex(row, layers), layer), column);
    });
    most = most ? b.map(place.type, {most, own},
                        [&](ValueRange x, Value, Value) -> Value {
                          // NaN stays, whichever it is.
                          return arith::MaximumFOp::create(b, x[0], x[1]);
                        })
                : own;
  }
  return most;
}

static Value emitTile(GroupEmitter &e, PoolOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t tokens = shapeOf(op.getX())[1];
  auto token = [&](Value number) {
    return gather(e, place, op.getX(), [&](Value row, Value column) {
      return std::pair(b.sum(b.mulIndex(row, tokens), number), column);
    });
  };
  if (op.getKind() == PoolKind::first) {
    return token(b.index(0));
  }
  Value sum =
      b.loop(tokens, b.fill(place.type, 0),
             [&](Value number, ValueRange carried) -> KernelBuilder::Values {
               Value own = token(number);
               return {b.map(place.type, {carried[0], own},
                             [&](ValueRange x, Value, Value) {
                               return b.add(x[0], x[1]);
                             })};
             })[0];
  return b.map(place.type, sum, [&](ValueRange x, Value, Value) {
    return b.mul(x[0], b.number(1.0 / tokens));
  });
}

//===----------------------------------------------------------------------===//
// What has no code
//===----------------------------------------------------------------------===//

static StringRef whatLacks(UnfoldOp op) {
  return op.getWithin() || op.getGrid() ? "squares or tokens of an image" : "";
}
template <typename OpT> static StringRef whatLacks(OpT) { return ""; }

namespace {
template <typename OpT>
struct TokenRecipe
    : CudaRecipeOpInterface::ExternalModel<TokenRecipe<OpT>, OpT> {
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
    Place place = emitter.tilePlace(op);
    emitter.finishAndStore(emitTile(emitter, cast<OpT>(op), place), place);
  }
};

template <typename... OpT> void attachTo(MLIRContext &context) {
  (OpT::template attachInterface<TokenRecipe<OpT>>(context), ...);
}
} // namespace

void attachCudaTokenRecipes(MLIRContext &context) {
  attachTo<ClassTokenOp, LayerPoolOp, PoolOp, SliceOp, UnfoldOp>(context);
}

} // namespace hova
