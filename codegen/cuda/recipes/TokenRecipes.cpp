//===- TokenRecipes.cpp - Operations that move rows, on a GPU -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each element of the result is read from a place that follows from its own, or
// from several. A warp has a row, so that lanes read and write neighbours.

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "dialect/token/TokenOps.h"
#include "dialect/token/Unfold.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;

namespace hova {

using Cell = KernelBuilder::Cell;
using Elements = KernelBuilder::Elements;
using Place = GroupEmitter::Place;

/// A tile of f32 of what was read.
static Value asF32(GroupEmitter &e, const Place &place, Value tile) {
  return e.b.map(place.type, tile,
                 [&](Elements x, Expr, Expr) { return widen(e.b, x[0]); });
}

/// The tile whose elements stand in `tensor`, as a matrix whose rows may be
/// placed, where `where` says for the elements of the tiles `by`, and the row
/// and column of the result; 0 outside.
static Value
gather(GroupEmitter &e, const Place &place, Value tensor, ValueRange by,
       llvm::function_ref<Cell(Elements, Expr row, Expr column)> where) {
  Value from = e.matrix(tensor);
  TileType type = place.type.with(
      place.type.getShape(), getElementTypeOrSelf(from), TileDistribution::row);
  KernelBuilder::RowMap placed = e.rowMap(tensor);
  return asF32(e, place,
               e.b.gather(type, from, by, [&](Elements x, Expr i, Expr j) {
                 auto [row, column] = where(x, place.row + i, place.column + j);
                 return std::pair(placed ? placed(row) : row, column);
               }));
}

static Value gather(GroupEmitter &e, const Place &place, Value tensor,
                    llvm::function_ref<Cell(Expr row, Expr column)> where) {
  return gather(e, place, tensor, {}, [&](Elements, Expr row, Expr column) {
    return where(row, column);
  });
}

/// The elements of `table` where `isOfTable` says so of the row and column of
/// the result, and those of `before`, of f32, elsewhere; without it all of
/// `table`.
static Value choose(GroupEmitter &e, const Place &place, Value before,
                    Value table,
                    llvm::function_ref<Expr(Expr row, Expr column)> isOfTable) {
  if (!before) {
    return table;
  }
  return e.b.map(place.type, {before, table}, [&](Elements x, Expr i, Expr j) {
    Expr condition = isOfTable(place.row + i, place.column + j);
    return select(condition, widen(e.b, x[1]), x[0]);
  });
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
  /// Of an element, whose column is its entry on the last axis.
  Expr entryOf(Expr row, Expr column) const {
    return isLast ? column : row / inner % size;
  }
  /// Where another tensor, with `others` entries, has its entry `j`.
  Cell cellAt(Expr row, Expr column, int64_t others, Expr j) const {
    if (isLast) {
      return {row, j};
    }
    Expr outer = row / (size * inner);
    return {(outer * others + j) * inner + row % inner, column};
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
  Value ids = b.gather(one, e.matrix(op.getIds()), [&](Expr i, Expr) {
    return e.cellOfToken(place.row + i, tokens);
  });
  // A transposed table is the weight of a product, which has its columns as
  // rows here.
  return gather(e, place, op.getTable(), ids,
                [&](Elements id, Expr, Expr column) {
                  return std::pair(toIndex(id[0]), column);
                });
}

/// Where the element of an unfolded image is read that stands in `row` of the
/// result, from `pixel` of the kernel and of `channel`.
static Cell cellOf(UnfoldOp op, Expr row, Expr pixel, Expr channel) {
  Unfolding of = Unfolding::get(op);
  int64_t kernel = of.kernel.across, across = of.placesAcross();
  int64_t squaresAcross = of.squaresAcross();
  int64_t squares = of.squaresDown() * squaresAcross;
  int64_t places = shapeOf(op.getResult())[1];
  Expr entry = row / places, number = row % places;
  Expr batch = entry / squares, square = entry % squares;
  // Within the square, and within the image.
  auto along = [&](Expr step, Expr offset, int64_t Sides::*axis) {
    int64_t dilation = of.dilation.*axis;
    Expr seen = dilation == 1 ? offset : offset * dilation;
    return step * (of.stride.*axis) + seen - of.padding.*axis;
  };
  Expr y = along(number / across, pixel / kernel, &Sides::down);
  Expr x = along(number % across, pixel % kernel, &Sides::across);
  Expr line = square / squaresAcross * of.squareHeight + y;
  Expr spot = square % squaresAcross * of.squareWidth + x;
  // Beyond the border of a square are other pixels; beyond the sides of a
  // whole image there is nothing.
  Expr inside = of.isPadded() ? y < of.squareHeight : Expr();
  if (of.isPadded() && (squares > 1 || of.isOfTokens)) {
    inside = inside & (x < of.squareWidth);
  }
  if (of.isOfTokens) {
    Expr token = batch * (of.height * of.width) + (line * of.width + spot);
    return {select(inside, token, -1), channel};
  }
  Expr plane = batch * of.channels + channel;
  return {select(inside, plane * of.height + line, -1), spot};
}

/// Rows and columns of a box with the pixels of all rows of a tile, where
/// pixels are rows of all channels: neighbours in a row of the result come from
/// different ones. Nothing where they do not, or the tile has no whole rows.
static std::optional<std::array<int64_t, 2>> boxOfPixels(UnfoldOp op,
                                                         const Place &place) {
  Unfolding of = Unfolding::get(op);
  int64_t pixels = of.kernel.countPixels();
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
  int64_t pixels = of.kernel.countPixels();
  Value from = e.matrix(op.getX());
  Type element = getElementTypeOrSelf(from);
  Value slots = b.slots({1, box[0], box[1]}, element);
  auto sourceRow = [&](Expr row) {
    Expr pixelRow = place.row + row / pixels;
    Expr source = cellOf(op, pixelRow, row % pixels, 0).first;
    return select(row < place.type.rows() * pixels, source, -1);
  };
  GroupWaitOp::create(
      b, b.copy(from, 0, 0, slots, 0, false, of.channels == box[1], sourceRow));
  TileType type =
      place.type.with(place.type.getShape(), element, TileDistribution::row);
  auto pixelOf = [&](Expr i, Expr j) {
    return std::pair(i * pixels + j % pixels, j / pixels);
  };
  return asF32(e, place, b.gatherOfBox(type, slots, 0, pixelOf, false));
}

static Value emitTile(GroupEmitter &e, UnfoldOp op, const Place &place) {
  if (std::optional<std::array<int64_t, 2>> box = boxOfPixels(op, place)) {
    return gatherFromBox(e, op, place, *box);
  }
  int64_t pixels = Unfolding::get(op).kernel.countPixels();
  return gather(e, place, op.getX(), [&](Expr row, Expr column) {
    return cellOf(op, row, column % pixels, column / pixels);
  });
}

static Value emitTile(GroupEmitter &e, ClassTokenOp op, const Place &place) {
  int64_t tokens = shapeOf(op.getResult())[1];
  auto isToken = [&](Expr row, Expr) { return row % tokens == 0; };
  Value others = gather(e, place, op.getX(), [&](Expr row, Expr column) {
    // Of entry n, n + 1 rows of the result are tokens up to here.
    Expr source = row - row / tokens - 1;
    return std::pair(select(isToken(row, column), -1, source), column);
  });
  Value token = e.load(op.getToken(), shapeOf(op.getResult()), place);
  return choose(e, place, others, token, isToken);
}

static Value emitTile(GroupEmitter &e, SliceOp op, const Place &place) {
  int64_t axis = op.getAxis(), from = shapeOf(op.getX())[axis];
  Axis axes(shapeOf(op.getResult()), axis);
  return gather(e, place, op.getX(), [&](Expr row, Expr column) {
    Expr entry = axes.entryOf(row, column) + op.getOffset();
    return axes.cellAt(row, column, from, entry);
  });
}

static Value emitTile(GroupEmitter &e, ConcatOp op, const Place &place) {
  int64_t axis = op.getAxis(), offset = 0;
  Axis all(shapeOf(op.getResult()), axis);
  Value result;
  for (Value input : op.getInputs()) {
    int64_t size = shapeOf(input)[axis];
    Value tile = gather(e, place, input, [&](Expr row, Expr column) {
      Expr entry = all.entryOf(row, column) - offset;
      return all.cellAt(row, column, size, entry);
    });
    // Later inputs have the rest.
    result = choose(e, place, result, tile, [&](Expr row, Expr column) {
      return all.entryOf(row, column) >= offset;
    });
    offset += size;
  }
  return result;
}

static Value emitTile(GroupEmitter &e, PadOp op, const Place &place) {
  int64_t axis = op.getAxis(), before = op.getBefore();
  int64_t size = shapeOf(op.getX())[axis];
  Axis all(shapeOf(op.getResult()), axis);
  return gather(e, place, op.getX(), [&](Expr row, Expr column) {
    Expr entry = all.entryOf(row, column) - before;
    auto [source, cell] = all.cellAt(row, column, size, entry);
    // In front of x and after it are other rows of it.
    Expr inside = all.isLast ? Expr() : entry < size;
    return std::pair(select(inside, source, -1), cell);
  });
}

/// Rows side by side stand in columns of their own.
static Value emitTile(GroupEmitter &e, RearrangeOp op, const Place &place) {
  int64_t width = shapeOf(op.getX()).back();
  bool isPermutation = op.getPlacement().isPermutation();
  return gather(e, place, op.getX(), [&](Expr row, Expr column) {
    Expr segment = isPermutation ? e.b.index(0) : column / width;
    Expr source = op.getPlacement().emitRow(e.b, row, segment);
    return std::pair(source, isPermutation ? column : column % width);
  });
}

static Value emitTile(GroupEmitter &e, RepeatOp op, const Place &place) {
  int64_t rows = staticSize(shapeOf(op.getX()).drop_back());
  return gather(e, place, op.getX(), [&](Expr row, Expr column) {
    return std::pair(row % rows, column);
  });
}

static Value emitTile(GroupEmitter &e, ReshapeOp op, const Place &place) {
  int64_t from = shapeOf(op.getX()).back(), to = shapeOf(op.getResult()).back();
  return gather(e, place, op.getX(), [&](Expr row, Expr column) {
    Expr element = row * to + column;
    // After a row of the result is the next one.
    Expr source = select(column < to, element / from, -1);
    return std::pair(source, element % from);
  });
}

/// Row (b*tokens + i)*layers + l is row b*tokens + i of state l.
static Value emitTile(GroupEmitter &e, IndexSortOp op, const Place &place) {
  int64_t layers = op.getStates().size();
  Value all;
  for (int64_t layer = 0; layer < layers; ++layer) {
    Value tile =
        gather(e, place, op.getStates()[layer], [&](Expr row, Expr column) {
          return std::pair(row / layers, column);
        });
    all = choose(e, place, all, tile,
                 [&](Expr row, Expr) { return row % layers == layer; });
  }
  return all;
}

static Value emitTile(GroupEmitter &e, LayerPoolOp op, const Place &place) {
  KernelBuilder &b = e.b;
  int64_t layers = op.getLayers();
  Value most;
  for (int64_t layer = 0; layer < layers; ++layer) {
    Value tile = gather(e, place, op.getX(), [&](Expr row, Expr column) {
      return std::pair(row * layers + layer, column);
    });
    // NaN stays, whichever it is.
    most = most ? b.map(place.type, {most, tile},
                        [&](Elements x, Expr, Expr) {
                          return b.compute<arith::MaximumFOp>(x[0], x[1]);
                        })
                : tile;
  }
  return most;
}

namespace {
/// Rows for all tokens of an item. Where items differ in length, loops go on
/// until the longest of a tile has ended, and take nothing of those that have.
class TokenPool {
public:
  TokenPool(GroupEmitter &e, PoolOp op, const Place &place)
      : e(e), b(e.b), op(op), place(place), tokens(shapeOf(op.getX())[1]),
        one(place.type.with({place.type.rows(), 1}, e.b.getI32Type(),
                            TileDistribution::row)),
        end(tokens) {
    if (e.haveTokenRanges()) {
      items = e.itemTiles(extentOf(op.getX()), place);
      end = items->longest;
    }
  }

  Value emit() {
    if (op.movesData()) {
      return rows(op.getBy() ? pick() : Value());
    }
    return op.getBy() ? reduceKept() : reduceAll();
  }

private:
  /// What `by` has of a token of each row.
  Value chosenBy(Expr token) {
    if (items) {
      return b.gather(one, e.matrix(op.getBy()), {items->first, items->count},
                      [&](Elements item, Expr, Expr) {
                        return std::pair(rowIn(item, token), b.index(0));
                      });
    }
    return b.gather(one, e.matrix(op.getBy()), [&](Expr i, Expr) {
      return std::pair(place.row + i, token);
    });
  }
  /// The row of a token of an item, and none after the item's last.
  Expr rowIn(Elements item, Expr token) {
    Expr first = toIndex(item[0]), count = toIndex(item[1]);
    return select(token < count, first + token, -1);
  }
  /// How many tokens the item of each row has: null, and `end`, where all have
  /// as many.
  Value counts() { return items ? items->count : Value(); }
  /// Whether an item, of so many tokens, has a token; null: it has.
  Expr has(Expr count, Expr token) {
    return count ? toInteger(token, b.getI32Type()) < count : Expr();
  }
  Value zeros() {
    return b.map(one, {}, [](Elements, Expr, Expr) { return Expr(0); });
  }
  /// The rows of a token, the same of all items or of each its own.
  Value rowsOf(Expr token) {
    if (items) {
      return gather(e, place, op.getX(), {items->first, items->count},
                    [&](Elements item, Expr, Expr column) {
                      return std::pair(rowIn(item, token), column);
                    });
    }
    return gather(e, place, op.getX(), [&](Expr row, Expr column) {
      return std::pair(row * tokens + token, column);
    });
  }
  Value rows(Value picked) {
    if (picked && items) {
      return gather(e, place, op.getX(), {items->first, picked},
                    [&](Elements x, Expr, Expr column) {
                      return std::pair(toIndex(x[0] + x[1]), column);
                    });
    }
    return picked ? gather(e, place, op.getX(), picked,
                           [&](Elements token, Expr row, Expr column) {
                             return std::pair(row * tokens + toIndex(token[0]),
                                              column);
                           })
                  : rowsOf(0);
  }

  /// One over the tokens of an item, or over all.
  Expr shareOf(Expr count) {
    if (!count) {
      return b.number(1.0 / tokens);
    }
    // Rounded to nearest, which a reciprocal of a GPU is not.
    return b.number(-1) / -b.compute<arith::SIToFPOp>(b.f32(), count);
  }

  Value pick();
  Value pickLargest();
  Value reduceAll();
  Value reduceKept();
  /// An element more of a sum or of a maximum, which keeps NaN.
  Expr add(Expr before, Expr next) {
    return isMean() ? before + next
                    : b.compute<arith::MaximumFOp>(before, next);
  }
  bool isMean() { return op.getKind() == PoolKind::mean; }

  GroupEmitter &e;
  KernelBuilder &b;
  PoolOp op;
  const Place &place;
  int64_t tokens;
  TileType one; ///< an integer for each row
  Expr end;     ///< of the longest item's tokens
  std::optional<GroupEmitter::ItemTiles> items; ///< that differ in length
};
} // namespace

/// The token that each item has; the first where there is none.
Value TokenPool::pick() {
  bool isLast = op.getKind() == PoolKind::last;
  if (!isLast && !op.getId()) {
    return pickLargest();
  }
  auto next = [&](Expr i, ValueRange picked) -> KernelBuilder::Values {
    // The first one stays where the loop comes from the end.
    Expr token = isLast ? i : end - 1 - i;
    return {b.map(one, {picked[0], chosenBy(token), counts()},
                  [&](Elements x, Expr, Expr) {
                    Expr isIt = isLast ? x[1] != 0 : x[1] == *op.getId();
                    Expr number = toInteger(token, b.getI32Type());
                    return select(isIt & has(x[2], token), number, x[0]);
                  })};
  };
  return b.loop(0, end, zeros(), next)[0];
}

Value TokenPool::pickLargest() {
  auto next = [&](Expr token, ValueRange best) -> KernelBuilder::Values {
    Value id = chosenBy(token);
    Value picked = b.map(
        one, {best[0], best[1], id, counts()}, [&](Elements x, Expr, Expr) {
          Expr number = toInteger(token, b.getI32Type());
          return select((x[2] > x[1]) & has(x[3], token), number, x[0]);
        });
    Value most =
        b.map(one, {best[1], id, counts()}, [&](Elements x, Expr, Expr) {
          return select((x[1] > x[0]) & has(x[2], token), x[1], x[0]);
        });
    return {picked, most};
  };
  return b.loop(1, end, {zeros(), chosenBy(0)}, next)[0];
}

Value TokenPool::reduceAll() {
  auto next = [&](Expr token, ValueRange all) -> KernelBuilder::Values {
    return {b.map(place.type, {all[0], rowsOf(token), counts()},
                  [&](Elements x, Expr, Expr) {
                    return select(has(x[2], token), add(x[0], x[1]), x[0]);
                  })};
  };
  Value start = isMean() ? b.fill(place.type, 0) : rowsOf(0);
  Value all = b.loop(isMean() ? 0 : 1, end, start, next)[0];
  return isMean() ? b.map(place.type, {all, counts()},
                          [&](Elements x, Expr, Expr) {
                            return x[0] * shareOf(x[1]);
                          })
                  : all;
}

Value TokenPool::reduceKept() {
  double neutral = isMean() ? 0 : -std::numeric_limits<double>::infinity();
  auto next = [&](Expr token, ValueRange before) -> KernelBuilder::Values {
    Value kept = chosenBy(token);
    Value all = b.map(place.type, {before[0], rowsOf(token), kept},
                      [&](Elements x, Expr, Expr) {
                        return select(x[2] != 0, add(x[0], x[1]), x[0]);
                      });
    Value count = b.map(one, {before[1], kept}, [&](Elements x, Expr, Expr) {
      return select(x[1] != 0, x[0] + 1, x[0]);
    });
    return {all, count};
  };
  KernelBuilder::Values all =
      b.loop(0, end, {b.fill(place.type, neutral), zeros()}, next);
  return b.map(place.type, all, [&](Elements x, Expr, Expr) {
    if (!isMean()) {
      return select(x[1] != 0, x[0], 0.0);
    }
    Expr count = b.compute<arith::SIToFPOp>(b.f32(), select(x[1] > 1, x[1], 1));
    return x[0] / count;
  });
}

static Value emitTile(GroupEmitter &e, PoolOp op, const Place &place) {
  return TokenPool(e, op, place).emit();
}

/// Ids of 64 bits are gathered as i32, where the least one stands for all
/// others: they have no order, and an id that is none of i32 is not found.
static bool looksForWideId(Operation *op) {
  auto pool = dyn_cast<PoolOp>(op);
  bool isWide =
      pool && pool.getBy() && getElementTypeOrSelf(pool.getBy()).isInteger(64);
  using Narrow = std::numeric_limits<int32_t>;
  int64_t id = isWide ? pool.getId().value_or(Narrow::min()) : 0;
  return isWide && (id <= Narrow::min() || id > Narrow::max());
}

namespace {
template <typename OpT>
struct TokenRecipe : ElementsRecipe<TokenRecipe<OpT>, OpT> {
  CudaScheduleAttr chooseSchedule(Operation *op) const {
    if (looksForWideId(op)) {
      op->emitOpError("has no code for a GPU yet with ids of i64 and no id of "
                      "32 bits to find; a CPU runs it (--target=cpu)");
      return {};
    }
    return scheduleElements(op);
  }
  void emitGroup(Operation *op, GroupEmitter &emitter) const {
    Place place = emitter.tilePlace(op);
    emitter.finishAndStore(emitTile(emitter, cast<OpT>(op), place), place);
  }
  TileScope getHeldScope(Operation *) const { return TileScope::row; }
  OperandReads getReads(Operation *op, unsigned index) const {
    // Ids are read by token, not by row.
    if (auto embedding = dyn_cast<EmbeddingOp>(op)) {
      return embedding.getTransposed() && index == 1 ? OperandReads::packed
                                                     : OperandReads::rows;
    }
    auto structured = dyn_cast<StructuredOpInterface>(op);
    return structured && structured.getIterationSpace().readsSameRow(index)
               ? OperandReads::placed
               : OperandReads::rows;
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
