//===- TokenRecipes.cpp - Loops of operations that move rows --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each copies chunks of rows from where its operand has them; what follows on
// the chunk (a position added, an activation) is the stage's business.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "dialect/Shapes.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/token/TokenOps.h"
#include <limits>
#include <numeric>

using namespace mlir;

namespace hova {

/// Copies a column of a matrix, in panels or not, to scratch, as f32. Elements,
/// or pairs of them, lie a row apart, each in a cache line of its own, which
/// the processor does not foresee: meanwhile those of column `next` are
/// prefetched.
static Value copyColumn(KernelEmitter &e, Value matrix, Expr column,
                        Expr next) {
  auto type = cast<MemRefType>(matrix.getType());
  int64_t rows = *std::prev(type.getShape().end(), 2);
  bool hasPairs = type.getElementType().isInteger();
  Value copy = e.scratchView(0, {1, hasPairs ? 2 * rows : rows});
  auto placeOf = [&](Expr row, Expr column) {
    return type.getRank() == 2 ? SmallVector<Expr, 3>{row, column}
                               : placeInPanels(matrix, row, column).position;
  };
  e.forLoop("rows", rows, [&](Expr row) {
    e.prefetch(matrix, placeOf(row, next));
    Expr element =
        e.compute<memref::LoadOp>(matrix, e.valuesOf(placeOf(row, column)));
    if (!hasPairs) {
      return e.store(e.widen(element), copy, 0, row);
    }
    // A number of bf16 is the upper half of one of f32.
    auto number = [&](Expr bits) {
      return e.compute<arith::BitcastOp>(e.builder.getF32Type(), bits);
    };
    Expr even = row * 2, half = Expr(16).in(e.builder, element.getType());
    e.store(number(e.compute<arith::ShLIOp>(element, half)), copy, 0, even);
    e.store(number(element & -65536), copy, 0, even + 1);
  });
  return copy;
}

/// Of a matrix [items, tokens] the element of row `row`, which is a token.
/// Where items have any number of tokens, those of all are one after the other.
static Expr loadToken(KernelEmitter &e, Value matrix, Expr row,
                      int64_t tokens) {
  return e.haveTokenRanges() ? e.load(matrix, 0, row)
                             : e.load(matrix, row / tokens, row % tokens);
}

/// The element of a tensor [items, tokens] for token `token` of item `item`,
/// and where it is stored.
static Expr loadTokenOf(KernelEmitter &e, Value tensor, Expr item, Expr token) {
  Value matrix = e.buffer(tensor);
  return e.haveTokenRanges()
             ? e.load(matrix, 0, e.rowsOfItem(item, 0, tensor).first + token)
             : e.load(matrix, item, token);
}
static void storeToken(KernelEmitter &e, Expr value, Value tensor, Expr item,
                       Expr token) {
  Value matrix = e.buffer(tensor);
  if (e.haveTokenRanges()) {
    return e.store(value, matrix, 0,
                   e.rowsOfItem(item, 0, tensor).first + token);
  }
  e.store(value, matrix, item, token);
}

static int64_t scratchBytes(EmbeddingOp op, const CpuSchedule &) {
  // All pairs are whole.
  int64_t elements = llvm::alignTo(shapeOf(op.getResult()).back(), int64_t(2));
  return op.getTransposed() ? 4 * elements : 0;
}

static void emitEmbedding(KernelEmitter &e, EmbeddingOp op) {
  Value ids = e.buffer(op.getIds()), table = e.buffer(op.getTable());
  int64_t tokens = shapeOf(op.getIds()).back();
  int64_t width = shapeOf(op.getResult()).back();
  auto idOf = [&](Expr row) { return toIndex(loadToken(e, ids, row, tokens)); };
  // Of the row `distance` rows after `row`, or of the last one.
  auto idAfter = [&](Expr row, int64_t distance) {
    return idOf(min(row + distance, e.end - 1));
  };
  e.forEachRow([&](Expr row) {
    Expr id = idOf(row);
    MatrixPlace source{table, {id, 0}};
    if (op.getTransposed()) {
      source = {copyColumn(e, table, id, idAfter(row, 1)), {0, 0}};
    } else {
      Expr later = idAfter(row, CpuFacts::prefetchDistance);
      e.prefetchLarge(op.getTable(), later, 0, width);
    }
    e.copyRow(source, row, width);
  });
}

static void emit(KernelEmitter &e, PaddingMaskOp op) {
  int64_t tokens = shapeOf(op.getIds()).back();
  int64_t first = op.getClassToken() ? 1 : 0;
  Type byte = e.builder.getI8Type();
  auto store = [&](Expr row, Expr token, Expr column) {
    Expr keep = loadTokenOf(e, op.getIds(), row, token) != op.getPad();
    storeToken(e, e.compute<arith::ExtUIOp>(byte, keep), op.getResult(), row,
               column);
  };
  e.forEachRow([&](Expr row) {
    if (op.getClassToken()) {
      store(row, 0, 0);
    }
    e.forLoop("columns", e.rowsOfItem(row, tokens, op.getIds()).count,
              [&](Expr token) { store(row, token, token + first); });
  });
}

static void emit(KernelEmitter &e, PositionIdsOp op) {
  int64_t tokens = shapeOf(op.getResult()).back();
  Type i32 = e.builder.getI32Type();
  Expr masked = Expr(op.getOffset() - 1).in(e.builder, i32);
  auto store = [&](Expr row, Expr token, Expr next) {
    Expr isValid = loadTokenOf(e, op.getValid(), row, token) != 0;
    storeToken(e, select(isValid, next, masked), op.getResult(), row, token);
    return isValid;
  };
  e.forEachRow([&](Expr row) {
    Expr count = e.rowsOfItem(row, tokens, op.getResult()).count;
    if (!op.getCounted()) {
      e.forLoop("columns", count, [&](Expr token) {
        store(row, token, toInteger(token + op.getOffset(), i32));
      });
      return;
    }
    // The last position so far.
    e.fold("columns", 0, count, 1, masked, [&](Expr token, Expr last) {
      Expr next = last + 1;
      return select(store(row, token, next), next, last);
    });
  });
}

static void emit(KernelEmitter &e, MaskFactorsOp op) {
  Value valid = e.buffer(op.getValid()), out = e.buffer(op.getResult());
  int64_t tokens = shapeOf(op.getValid()).back();
  e.forEachRow([&](Expr row) {
    Expr isValid = loadToken(e, valid, row, tokens) != 0;
    e.store(select(isValid, 1.0, 0.0), out, row, 0);
  });
}

static void emit(KernelEmitter &e, ClassTokenOp op) {
  int64_t tokens = shapeOf(op.getX())[1], width = shapeOf(op.getX())[2];
  Value x = e.buffer(op.getX()), token = e.buffer(op.getToken());
  e.forEachRow([&](Expr row) {
    Expr batch = row / (tokens + 1), position = row % (tokens + 1);
    e.ifThen(
        position == 0, [&] { e.copyRow({token, {0, 0}}, row, width); },
        [&] {
          Expr before = position - 1;
          e.copyRow({x, {batch * tokens + before, 0}}, row, width);
        });
  });
}

/// One over a number of rows.
static Expr inverseOf(KernelEmitter &e, Expr count) {
  Expr integer = toInteger(count, e.builder.getI32Type());
  return e.scalar(1) /
         e.compute<arith::SIToFPOp>(e.builder.getF32Type(), integer);
}

/// The maximum of the rows of x that each row is for; with `factorOf`, of their
/// number, their sum times that.
static void poolRows(KernelEmitter &e, Value x,
                     llvm::function_ref<RowsOf(Expr)> rowsOf,
                     llvm::function_ref<Expr(Expr)> factorOf = {}) {
  Value source = e.buffer(x);
  e.forEachRow([&](Expr row) {
    RowsOf rows = rowsOf(row);
    Expr first = rows.first, count = rows.count;
    Expr factor = factorOf ? factorOf(count) : Expr();
    e.forEachChunk(shapeOf(x).back(), [&](const Chunk &at) {
      Expr start = e.load(source, first, at);
      Expr all = e.fold("rows", 1, count, 1, start, [&](Expr i, Expr before) {
        Expr tile = e.load(source, first + i, at);
        return factor ? before + tile
                      : e.compute<arith::MaximumFOp>(before, tile);
      });
      e.finishAndStoreTile({row, at}, factor ? all * factor : all);
    });
  });
}

/// The same of the rows that a mask keeps; 0 where it keeps none.
static void poolKeptRows(KernelEmitter &e, PoolOp op) {
  Value x = e.buffer(op.getX()), by = op.getBy();
  bool takesMean = op.getKind() == PoolKind::mean;
  double neutral = takesMean ? 0 : -std::numeric_limits<double>::infinity();
  e.forEachRow([&](Expr row) {
    RowsOf rows = e.rowsOfItem(row, shapeOf(op.getX())[1], op.getX());
    Expr first = rows.first, tokens = rows.count;
    auto isKept = [&](Expr i) { return loadTokenOf(e, by, row, i) != 0; };
    Expr count =
        e.fold("kept", 0, tokens, 1, e.scalar(0), [&](Expr i, Expr before) {
          return select(isKept(i), before + 1.0, before);
        });
    e.forEachChunk(shapeOf(op.getX()).back(), [&](const Chunk &at) {
      Expr start = e.splat(neutral, at.lanes);
      Expr all =
          e.fold("tokens", 0, tokens, 1, start, [&](Expr i, Expr before) {
            Expr tile = e.load(x, first + i, at);
            Expr next = takesMean ? before + tile
                                  : e.compute<arith::MaximumFOp>(before, tile);
            return select(isKept(i), next, before);
          });
      e.finishAndStoreTile({row, at}, takesMean
                                          ? all / max(count, 1.0)
                                          : select(count > 0.0, all, 0.0));
    });
  });
}

/// The token of item `row` that a kind picks; the first where there is none.
static Expr pickToken(KernelEmitter &e, PoolOp op, Expr row) {
  Expr tokens = e.rowsOfItem(row, shapeOf(op.getX())[1], op.getX()).count;
  auto at = [&](Expr token) { return loadTokenOf(e, op.getBy(), row, token); };
  auto pick = [&](llvm::function_ref<Expr(Expr token, Expr before)> next) {
    return e.fold("tokens", 0, tokens, 1, e.index(0), next);
  };
  if (op.getKind() == PoolKind::last) {
    return pick([&](Expr token, Expr before) {
      return select(at(token) != 0, token, before);
    });
  }
  if (!op.getId()) {
    return pick([&](Expr token, Expr before) {
      return select(at(token) > at(before), token, before);
    });
  }
  // From the end on, so that the first one stays.
  Expr last = tokens - 1;
  return pick([&](Expr i, Expr before) {
    Expr token = last - i;
    return select(at(token) == *op.getId(), token, before);
  });
}

static void emit(KernelEmitter &e, PoolOp op) {
  int64_t tokens = shapeOf(op.getX())[1], width = shapeOf(op.getX())[2];
  if (op.movesData()) {
    Value x = e.buffer(op.getX());
    return e.forEachRow([&](Expr row) {
      Expr token = op.getBy() ? pickToken(e, op, row) : Expr(0);
      Expr first = e.rowsOfItem(row, tokens, op.getX()).first;
      e.copyRow({x, {first + token, 0}}, row, width);
    });
  }
  if (op.getBy()) {
    return poolKeptRows(e, op);
  }
  auto rowsOf = [&](Expr item) {
    return e.rowsOfItem(item, tokens, op.getX());
  };
  auto inverse = [&](Expr count) {
    return e.haveTokenRanges() ? inverseOf(e, count) : Expr(1.0 / tokens);
  };
  if (op.getKind() == PoolKind::mean) {
    return poolRows(e, op.getX(), rowsOf, inverse);
  }
  poolRows(e, op.getX(), rowsOf);
}

static void emit(KernelEmitter &e, LayerPoolOp op) {
  // Of each token, wherever its item is.
  int64_t layers = op.getLayers();
  poolRows(e, op.getX(),
           [&](Expr token) { return RowsOf{token * layers, layers}; });
}

static void emit(KernelEmitter &e, IndexSortOp op) {
  int64_t layers = op.getStates().size();
  int64_t width = shapeOf(op.getResult()).back();
  e.forEachRow([&](Expr row) {
    // Row (b*tokens + i)*layers + l is row b*tokens + i of state l.
    Expr from = row / layers, layer = row % layers;
    for (int64_t i = 0; i < layers; ++i) {
      Value state = e.buffer(op.getStates()[i]);
      e.ifThen(layer == i, [&] { e.copyRow({state, {from, 0}}, row, width); });
    }
  });
}

namespace {
/// Entries of an axis that a result has from an operand.
struct Entries {
  Value x;
  int64_t first; ///< of x
  int64_t count;
  int64_t place; ///< of the first in the result
};
} // namespace

/// Hands to the stage what of a row is from the operand: columns if the axis is
/// the last one, else all or nothing. Where nothing is, `otherwise` follows.
static void copyEntries(KernelEmitter &e, Value result, int64_t axis, Expr row,
                        const Entries &entries,
                        llvm::function_ref<void()> otherwise = {}) {
  ArrayRef<int64_t> shape = shapeOf(result);
  Value source = e.buffer(entries.x);
  if (axis + 1 == static_cast<int64_t>(shape.size())) {
    return e.copyRow({source, {row, entries.first}}, row, entries.count,
                     entries.place);
  }
  // The row is number (outer*size + j)*inner + q. Entries in front of those of
  // the operand wrap around to large numbers.
  int64_t size = shape[axis];
  int64_t inner = staticSize(shape.drop_back().drop_front(axis + 1));
  Expr entry = row / inner % size - entries.place;
  Expr isOfOperand = entries.count < size ? entry < entries.count : Expr();
  auto copy = [&] {
    Expr j = entry + entries.first, outer = row / (size * inner);
    Expr from = (outer * shapeOf(entries.x)[axis] + j) * inner + row % inner;
    e.copyRow({source, {from, 0}}, row, shape.back());
  };
  e.ifThen(isOfOperand, copy, otherwise);
}

static void emit(KernelEmitter &e, ConcatOp op) {
  int64_t axis = op.getAxis();
  e.forEachRow([&](Expr row) {
    int64_t place = 0;
    for (Value input : op.getInputs()) {
      int64_t count = shapeOf(input)[axis];
      copyEntries(e, op.getResult(), axis, row, {input, 0, count, place});
      place += count;
    }
  });
}

static void emit(KernelEmitter &e, SliceOp op) {
  int64_t axis = op.getAxis(), first = op.getOffset();
  int64_t count = shapeOf(op.getResult())[axis];
  e.forEachRow([&](Expr row) {
    copyEntries(e, op.getResult(), axis, row, {op.getX(), first, count, 0});
  });
}

static void emit(KernelEmitter &e, PadOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), before = op.getBefore();
  int64_t count = shapeOf(op.getX())[axis], after = before + count;
  bool hasColumns = axis + 1 == static_cast<int64_t>(shape.size());
  e.forEachRow([&](Expr row) {
    e.copyRow({}, row, hasColumns ? before : 0);
    copyEntries(e, op.getResult(), axis, row, {op.getX(), 0, count, before},
                [&] { e.copyRow({}, row, shape.back()); });
    e.copyRow({}, row, hasColumns ? shape.back() - after : 0, after);
  });
}

static void emit(KernelEmitter &e, RepeatOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX());
  Value source = e.buffer(op.getX());
  int64_t rows = staticSize(x.drop_back());
  e.forEachRow(
      [&](Expr row) { e.copyRow({source, {row % rows, 0}}, row, x.back()); });
}

/// In the longest pieces that end where rows of x and of the result end.
static void emit(KernelEmitter &e, ReshapeOp op) {
  int64_t from = shapeOf(op.getX()).back(), to = shapeOf(op.getResult()).back();
  int64_t piece = std::gcd(from, to);
  Value source = e.buffer(op.getX());
  e.forEachRow([&](Expr row) {
    e.forLoop("pieces", to / piece, [&](Expr i) {
      Expr column = i * piece, element = row * to + column;
      e.copyRow({source, {element / from, element % from}}, row, piece, column);
    });
  });
}

/// The rows of a source side by side, where the table says.
static LogicalResult emit(KernelEmitter &e, RearrangeOp op) {
  if (!op.getTable()) {
    return op.emitOpError("has no table of rows: run assign first");
  }
  Value source = e.buffer(op.getX()), table = e.buffer(op.getTable());
  int64_t segments = op.getPlacement().getSegments();
  int64_t width = shapeOf(op.getX()).back();
  e.forEachRow([&](Expr row) {
    for (int64_t i = 0; i < segments; ++i) {
      Expr from = toIndex(e.load(table, 0, row * segments + i));
      e.copyRow({source, {from, 0}}, row, width, i * width);
    }
  });
  return success();
}

namespace {
struct EmbeddingRecipe
    : CpuRecipe<EmbeddingRecipe, EmbeddingOp, emitEmbedding, scratchBytes> {
  /// The columns of a table that a product multiplies with.
  OperandReads getReads(Operation *op, unsigned index) const {
    return cast<EmbeddingOp>(op).getTransposed() && index == 1
               ? OperandReads::packed
               : OperandReads::rows;
  }
};

/// Writes numbers one by one, not tiles that others could join.
template <typename OpT>
struct ScalarRecipe
    : StoringCpuRecipe<ScalarRecipe<OpT>, OpT,
                       static_cast<void (*)(KernelEmitter &, OpT)>(emit)> {};
} // namespace

template <typename... OpTs> static void attachAll(MLIRContext &context) {
  (attachRecipe<OpTs, emit>(context), ...);
}

void attachTokenRecipes(MLIRContext &context) {
  EmbeddingOp::attachInterface<EmbeddingRecipe>(context);
  PaddingMaskOp::attachInterface<ScalarRecipe<PaddingMaskOp>>(context);
  PositionIdsOp::attachInterface<ScalarRecipe<PositionIdsOp>>(context);
  MaskFactorsOp::attachInterface<ScalarRecipe<MaskFactorsOp>>(context);
  attachAll<ClassTokenOp, ConcatOp, IndexSortOp, LayerPoolOp, PadOp, PoolOp,
            RearrangeOp, RepeatOp, ReshapeOp, SliceOp>(context);
}

} // namespace hova
