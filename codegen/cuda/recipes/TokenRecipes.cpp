//===- TokenRecipes.cpp - Operations that move rows, on a GPU -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each element of the result is read from a place that follows from its own, or
// from several. A warp has a row, so that lanes read and write neighbours.

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "codegen/cuda/recipes/Recipe.h"
#include "dialect/PlacementOps.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"
#include "dialect/Unfold.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hova {

using Place = GroupEmitter::Place;

/// Bytes of group memory that leave room for several blocks.
static constexpr int64_t kMostPixelBytes = 32 * 1024;

/// A tile of f32 of what was read.
static Value asF32(GroupEmitter &e, const Place &place, Value tile) {
  return e.b.map(place.type, tile, [&](ValueRange x, Value, Value) {
    return widen(e.b, e.b.getLoc(), x[0]);
  });
}

/// The tile whose elements stand in the matrix of `tensor` where `where` says
/// for the elements of the tiles `by`, and the row and column of the result; 0
/// outside.
static Value gather(
    GroupEmitter &e, const Place &place, Value tensor, ValueRange by,
    llvm::function_ref<KernelBuilder::Cell(ValueRange, Value row, Value column)>
        where) {
  Value from = e.matrix(tensor);
  Type element = cast<MemRefType>(from.getType()).getElementType();
  TileType type =
      place.type.with(place.type.getShape(), element, TileDistribution::row);
  return asF32(
      e, place, e.b.gather(type, from, by, [&](ValueRange x, Value i, Value j) {
        return where(x, e.b.sum(place.row, i), e.b.sum(place.column, j));
      }));
}

static Value
gather(GroupEmitter &e, const Place &place, Value tensor,
       llvm::function_ref<KernelBuilder::Cell(Value row, Value column)> where) {
  return gather(e, place, tensor, {}, [&](ValueRange, Value row, Value column) {
    return where(row, column);
  });
}

/// The elements of `own` where `isOwn` says so of the row and column of the
/// result, of `before` elsewhere.
static Value choose(GroupEmitter &e, const Place &place, Value before,
                    Value own,
                    llvm::function_ref<Value(Value row, Value column)> isOwn) {
  KernelBuilder &b = e.b;
  return b.map(
      place.type, {before, own}, [&](ValueRange x, Value i, Value j) -> Value {
        Value condition = isOwn(b.sum(place.row, i), b.sum(place.column, j));
        return arith::SelectOp::create(b, condition, x[1], x[0]);
      });
}

static Value compare(KernelBuilder &b, arith::CmpIPredicate predicate, Value x,
                     int64_t y) {
  return arith::CmpIOp::create(b, predicate, x, b.index(y));
}

namespace {
/// An axis of a tensor. If it is not the last, row `(outer*size + j)*inner + q`
/// has entry j.
struct Axis {
  Axis(ArrayRef<int64_t> shape, int64_t axis)
      : isLast(axis + 1 == static_cast<int64_t>(shape.size())),
        size(shape[axis]),
        inner(isLast ? 1 : staticSize(shape.drop_back().drop_front(axis + 1))) {
  }
  Value entryOf(KernelBuilder &b, Value row) const {
    return b.remIndex(b.divIndex(row, inner), size);
  }
  /// The row of another tensor, with `size` entries, at entry `j`.
  Value rowAt(KernelBuilder &b, Value row, int64_t others, Value j) const {
    Value outer = b.divIndex(row, size * inner);
    Value entry = b.sum(b.mulIndex(outer, others), j);
    return b.sum(b.mulIndex(entry, inner), b.remIndex(row, inner));
  }
  bool isLast;
  int64_t size, inner;
};
} // namespace

//===----------------------------------------------------------------------===//
// The tiles
//===----------------------------------------------------------------------===//

static Value emitTile(GroupEmitter &e, EmbeddingOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t tokens = shapeOf(op.getIds()).back();
  TileType one = place.type.with({place.type.rows(), 1}, b.getI32Type(),
                                 TileDistribution::row);
  Value ids = b.gather(one, e.matrix(op.getIds()), [&](Value i, Value) {
    Value row = b.sum(place.row, i);
    return std::pair(b.divIndex(row, tokens), b.remIndex(row, tokens));
  });
  // A transposed table is the weight of a product, which has its columns as
  // rows here.
  return gather(
      e, place, op.getTable(), ids, [&](ValueRange id, Value, Value column) {
        Value own = arith::IndexCastOp::create(b, b.getIndexType(), id[0]);
        return std::pair(own, column);
      });
}

/// Where the element of an unfolded image is read that stands in `row` of the
/// result, from `pixel` of the kernel and of `channel`.
static KernelBuilder::Cell cellOf(KernelBuilder &b, UnfoldOp op, Value row,
                                  Value pixel, Value channel) {
  Unfolding of = Unfolding::get(op);
  int64_t kernel = of.kernel, across = of.placesAcross();
  int64_t squaresAcross = of.squaresAcross();
  int64_t squares = of.squaresDown() * squaresAcross;
  int64_t places = shapeOf(op.getResult())[1];
  auto below = [&](Value x, int64_t size) {
    return compare(b, arith::CmpIPredicate::ult, x, size);
  };
  Value entry = b.divIndex(row, places), number = b.remIndex(row, places);
  Value batch = b.divIndex(entry, squares), square = b.remIndex(entry, squares);
  // Within the square, and within the image.
  auto along = [&](Value step, Value own) {
    return b.addIndex(b.sum(b.mulIndex(step, of.stride), own), -of.padding);
  };
  Value y = along(b.divIndex(number, across), b.divIndex(pixel, kernel));
  Value x = along(b.remIndex(number, across), b.remIndex(pixel, kernel));
  Value line =
      b.sum(b.mulIndex(b.divIndex(square, squaresAcross), of.squareHeight), y);
  Value spot =
      b.sum(b.mulIndex(b.remIndex(square, squaresAcross), of.squareWidth), x);
  Value source, to = spot;
  if (of.isOfTokens) {
    Value token = b.sum(b.mulIndex(line, of.width), spot);
    source = b.sum(b.mulIndex(batch, of.height * of.width), token);
    to = channel;
  } else {
    Value plane = b.sum(b.mulIndex(batch, of.channels), channel);
    source = b.sum(b.mulIndex(plane, of.height), line);
  }
  if (of.padding) {
    // Beyond the border of a square are other pixels; beyond the sides of a
    // whole image there is nothing.
    Value inside = below(y, of.squareHeight);
    if (squares > 1 || of.isOfTokens) {
      inside = arith::AndIOp::create(b, inside, below(x, of.squareWidth));
    }
    source = arith::SelectOp::create(b, inside, source, b.index(-1));
  }
  return {source, to};
}

/// Rows and columns of a box with the pixels of all rows of a tile, where
/// pixels are rows of all channels: neighbours in a row of the result come from
/// different ones. Nothing where they do not, or the tile has no whole rows.
static std::optional<std::array<int64_t, 2>> boxOfPixels(UnfoldOp op,
                                                         const Place &place) {
  Unfolding of = Unfolding::get(op);
  int64_t pixels = of.kernel * of.kernel;
  bool hasWholeRows = place.type.columns() >= shapeOf(op.getResult()).back();
  if (!of.isOfTokens || pixels == 1 || !hasWholeRows ||
      of.channels > kMostHeadColumns) {
    return std::nullopt;
  }
  int64_t rows = llvm::alignTo(place.type.rows() * pixels, 16);
  std::array<int64_t, 2> box{rows, boxColumns(of.channels)};
  int64_t bytes = box[0] * box[1] *
                  getElementTypeOrSelf(op.getX()).getIntOrFloatBitWidth() / 8;
  return bytes <= kMostPixelBytes ? std::optional(box) : std::nullopt;
}

/// By way of a box: row r k k + p has pixel p of row r of the tile.
static Value gatherFromBox(GroupEmitter &e, UnfoldOp op, const Place &place,
                           std::array<int64_t, 2> box) {
  KernelBuilder &b = e.b;
  Unfolding of = Unfolding::get(op);
  int64_t pixels = of.kernel * of.kernel;
  Value from = e.matrix(op.getX()), first = b.index(0);
  Type element = cast<MemRefType>(from.getType()).getElementType();
  Value slots = GroupAllocOp::create(
      b, SlotsType::get(b.getContext(), {1, box[0], box[1]}, element));
  auto sourceRow = [&](Value row) -> Value {
    Value own = b.sum(place.row, b.divIndex(row, pixels));
    Value pixel = b.remIndex(row, pixels);
    Value source = cellOf(b, op, own, pixel, first).first;
    Value isPixel =
        compare(b, arith::CmpIPredicate::ult, row, place.type.rows() * pixels);
    return arith::SelectOp::create(b, isPixel, source, b.index(-1));
  };
  GroupWaitOp::create(b, b.copy(from, first, first, slots, first, false,
                                of.channels == box[1], sourceRow));
  TileType type =
      place.type.with(place.type.getShape(), element, TileDistribution::row);
  auto pixelOf = [&](Value i, Value j) {
    Value row = b.sum(b.mulIndex(i, pixels), b.remIndex(j, pixels));
    return KernelBuilder::Cell(row, b.divIndex(j, pixels));
  };
  Value tile = b.gatherOfBox(type, slots, first, pixelOf, false);
  return asF32(e, place, tile);
}

static Value emitTile(GroupEmitter &e, UnfoldOp op, const Place &place) {
  if (std::optional<std::array<int64_t, 2>> box = boxOfPixels(op, place)) {
    return gatherFromBox(e, op, place, *box);
  }
  KernelBuilder &b = e.b;
  int64_t pixels = Unfolding::get(op).kernel * Unfolding::get(op).kernel;
  return gather(e, place, op.getX(), [&](Value row, Value column) {
    Value channel = b.divIndex(column, pixels);
    Value pixel = b.remIndex(column, pixels);
    return cellOf(b, op, row, pixel, channel);
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
  Axis rows(to, axis);
  return gather(e, place, op.getX(), [&](Value row, Value column) {
    Value entry = b.addIndex(rows.entryOf(b, row), offset);
    return std::pair(rows.rowAt(b, row, from[axis], entry), column);
  });
}

static Value emitTile(GroupEmitter &e, ConcatOp op, const Place &place) {
  KernelBuilder &b = e.b;
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), offset = 0;
  Axis rows(shape, axis);
  Value all;
  for (Value input : op.getInputs()) {
    int64_t size = shapeOf(input)[axis];
    Value own = gather(e, place, input, [&](Value row, Value column) {
      if (rows.isLast) {
        return std::pair(row, b.addIndex(column, -offset));
      }
      Value entry = b.addIndex(rows.entryOf(b, row), -offset);
      return std::pair(rows.rowAt(b, row, size, entry), column);
    });
    // Later inputs have the rest.
    all = all ? choose(e, place, all, own,
                       [&](Value row, Value column) {
                         return compare(b, arith::CmpIPredicate::uge,
                                        rows.isLast ? column
                                                    : rows.entryOf(b, row),
                                        offset);
                       })
              : own;
    offset += size;
  }
  return all;
}

static Value emitTile(GroupEmitter &e, PadOp op, const Place &place) {
  KernelBuilder &b = e.b;
  ArrayRef<int64_t> x = shapeOf(op.getX()), shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), before = op.getBefore();
  Axis rows(shape, axis);
  return gather(e, place, op.getX(), [&](Value row, Value column) {
    if (rows.isLast) {
      return std::pair(row, b.addIndex(column, -before));
    }
    Value entry = b.addIndex(rows.entryOf(b, row), -before);
    // In front of x and after it are other rows of it.
    Value inside = compare(b, arith::CmpIPredicate::ult, entry, x[axis]);
    Value source = rows.rowAt(b, row, x[axis], entry);
    return std::pair<Value, Value>(
        arith::SelectOp::create(b, inside, source, b.index(-1)), column);
  });
}

/// Rows side by side stand in columns of their own.
static Value emitTile(GroupEmitter &e, RearrangeOp op, const Place &place) {
  int64_t width = shapeOf(op.getX()).back();
  bool isPermutation = op.getPlacement().isPermutation();
  return gather(e, place, op.getX(), [&](Value row, Value column) {
    Value segment = isPermutation ? e.b.index(0) : e.b.divIndex(column, width);
    return std::pair(op.getPlacement().emitRow(e.b, row, segment),
                     isPermutation ? column : e.b.remIndex(column, width));
  });
}

static Value emitTile(GroupEmitter &e, RepeatOp op, const Place &place) {
  int64_t rows = staticSize(shapeOf(op.getX()).drop_back());
  return gather(e, place, op.getX(), [&](Value row, Value column) {
    return std::pair(e.b.remIndex(row, rows), column);
  });
}

static Value emitTile(GroupEmitter &e, ReshapeOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t from = shapeOf(op.getX()).back(), to = shapeOf(op.getResult()).back();
  return gather(e, place, op.getX(), [&](Value row, Value column) {
    Value element = b.sum(b.mulIndex(row, to), column);
    // After a row of the result is the next one.
    Value inside = compare(b, arith::CmpIPredicate::ult, column, to);
    Value source = arith::SelectOp::create(b, inside, b.divIndex(element, from),
                                           b.index(-1));
    return std::pair(source, b.remIndex(element, from));
  });
}

/// Row (b*tokens + i)*layers + l is row b*tokens + i of state l.
static Value emitTile(GroupEmitter &e, IndexSortOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t layers = op.getStates().size();
  Value all;
  for (auto [layer, state] : llvm::enumerate(op.getStates())) {
    Value own = gather(e, place, state, [&](Value row, Value column) {
      return std::pair(b.divIndex(row, layers), column);
    });
    int64_t number = layer;
    all = all ? choose(e, place, all, own,
                       [&](Value row, Value) {
                         return compare(b, arith::CmpIPredicate::eq,
                                        b.remIndex(row, layers), number);
                       })
              : own;
  }
  return all;
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

namespace {
template <typename OpT>
struct TokenRecipe
    : CudaRecipeOpInterface::ExternalModel<TokenRecipe<OpT>, OpT> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    return scheduleElements(op);
  }
  Grid getGrid(Operation *op, CudaScheduleAttr schedule) const {
    return gridOfTiles(op, schedule);
  }
  void emitGroup(Operation *op, GroupEmitter &emitter) const {
    Place place = emitter.tilePlace(op);
    emitter.finishAndStore(emitTile(emitter, cast<OpT>(op), place), place);
  }
  bool makesRows(Operation *) const { return true; }
  bool readsTransposed(Operation *op, unsigned index) const {
    auto embedding = dyn_cast<EmbeddingOp>(op);
    return embedding && embedding.getTransposed() && index == 1;
  }
};

template <typename... OpT> void attachTo(MLIRContext &context) {
  (OpT::template attachInterface<TokenRecipe<OpT>>(context), ...);
}
} // namespace

void attachCudaTokenRecipes(MLIRContext &context) {
  attachTo<ClassTokenOp, ConcatOp, EmbeddingOp, IndexSortOp, LayerPoolOp, PadOp,
           PoolOp, RearrangeOp, RepeatOp, ReshapeOp, SliceOp, UnfoldOp>(
      context);
}

} // namespace hova
