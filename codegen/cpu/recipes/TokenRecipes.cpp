//===- TokenRecipes.cpp - Loops of operations that move rows --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each copies chunks of rows from where its operand has them; what follows on
// the chunk (a position added, an activation) is the stage's business.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowCopies.h"
#include "dialect/PlacementOps.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"
#include <numeric>

using namespace mlir;

namespace hova {

void copyRow(KernelEmitter &emitter, Value source, Value sourceRow,
             Value sourceColumn, Value row, Value column, int64_t width) {
  emitter.forEachChunk(width, [&](Value offset, int64_t lanes, int64_t valid) {
    TilePlace place{row, emitter.add(column, offset), 1, lanes, valid};
    Value chunk = emitter.loadRow(
        source, sourceRow, emitter.add(sourceColumn, offset), lanes, valid);
    emitter.finishAndStoreTile(place, emitter.asTile(chunk));
  });
}

void zeroRow(KernelEmitter &emitter, Value row, Value column, int64_t width) {
  emitter.forEachChunk(width, [&](Value offset, int64_t lanes, int64_t valid) {
    TilePlace place{row, emitter.add(column, offset), 1, lanes, valid};
    Value zeros = emitter.splat(0, emitter.vectorType(lanes));
    emitter.finishAndStoreTile(place, emitter.asTile(zeros));
  });
}

static Value compare(KernelEmitter &emitter, arith::CmpIPredicate predicate,
                     Value a, Value b) {
  return arith::CmpIOp::create(emitter.builder, emitter.loc, predicate, a, b);
}

/// Elements of a copied column: all pairs are whole.
static int64_t columnElements(int64_t depth) {
  return llvm::alignTo(depth, int64_t(2));
}

/// Copies a column of a matrix, in panels or not, to scratch, as f32. Elements,
/// or pairs of them, lie a row apart, each in a cache line of its own, which
/// the processor does not foresee: meanwhile those of column `next` are
/// prefetched.
static Value copyColumn(KernelEmitter &emitter, Value matrix, Value column,
                        Value next, int64_t depth) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc;
  ArrayRef<int64_t> shape = cast<MemRefType>(matrix.getType()).getShape();
  Value copy =
      emitter.scratchView(0, {1, columnElements(depth)}, b.getF32Type());
  Value zero = emitter.index(0);
  auto store = [&](Value element, Value at) {
    memref::StoreOp::create(b, loc, element, copy, ValueRange{zero, at});
  };
  auto placeOf = [&](Value column, Value row) -> SmallVector<Value> {
    if (shape.size() == 2) {
      return {row, column};
    }
    return {emitter.div(column, shape[2]), row, emitter.rem(column, shape[2])};
  };
  emitter.forLoop(
      "rows", zero, emitter.index(*std::prev(shape.end(), 2)), 1,
      [&](Value row) {
        emitter.prefetch(matrix, placeOf(next, row));
        Value element =
            memref::LoadOp::create(b, loc, matrix, placeOf(column, row));
        if (!element.getType().isInteger()) {
          return store(emitter.widen(element), row);
        }
        // A number of bf16 is the upper half of one of f32.
        auto half = [&](Value bits) -> Value {
          return arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
        };
        auto constant = [&](int64_t value) -> Value {
          return arith::ConstantIntOp::create(b, loc, value, 32);
        };
        Value even = emitter.mul(row, 2);
        store(half(arith::ShLIOp::create(b, loc, element, constant(16))), even);
        store(half(arith::AndIOp::create(b, loc, element, constant(-65536))),
              emitter.add(even, 1));
      });
  return copy;
}

static int64_t scratchBytes(EmbeddingOp op, const CpuSchedule &) {
  return op.getTransposed() ? 4 * columnElements(shapeOf(op.getResult()).back())
                            : 0;
}

/// Whether a table does not stay in the caches by itself.
static bool isLarge(Value table) {
  auto type = cast<MemRefType>(table.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8 >
         CpuFacts::cachedTableBytes;
}

static void emit(KernelEmitter &emitter, EmbeddingOp op) {
  Value ids = emitter.buffer(op.getIds()),
        table = emitter.buffer(op.getTable());
  int64_t tokens = shapeOf(op.getIds()).back();
  int64_t width = shapeOf(op.getResult()).back();
  auto idOf = [&](Value row) -> Value {
    Value id = emitter.loadScalar(ids, emitter.div(row, tokens),
                                  emitter.rem(row, tokens));
    return arith::IndexCastOp::create(emitter.builder, emitter.loc,
                                      emitter.builder.getIndexType(), id);
  };
  // The row `distance` rows after `row`, or the last one.
  auto following = [&](Value row, int64_t distance) -> Value {
    return arith::MinUIOp::create(emitter.builder, emitter.loc,
                                  emitter.add(row, distance),
                                  emitter.add(emitter.end, -1));
  };
  emitter.forEachRow([&](Value row) {
    Value id = idOf(row), zero = emitter.index(0);
    if (op.getTransposed()) {
      Value next = idOf(following(row, 1));
      Value copy = copyColumn(emitter, table, id, next, width);
      return copyRow(emitter, copy, zero, zero, row, zero, width);
    }
    if (isLarge(table)) {
      Value prefetched = idOf(following(row, CpuFacts::prefetchDistance));
      emitter.prefetchRow(table, prefetched, zero, width);
    }
    copyRow(emitter, table, id, zero, row, zero, width);
  });
}

static void emit(KernelEmitter &emitter, PaddingMaskOp op) {
  OpBuilder &builder = emitter.builder;
  Value ids = emitter.buffer(op.getIds()), out = emitter.buffer(op.getResult());
  Type element = cast<MemRefType>(ids.getType()).getElementType();
  auto store = [&](Value row, Value token, Value column) {
    Value id = emitter.loadScalar(ids, row, token);
    Value pad = arith::ConstantOp::create(
        builder, emitter.loc,
        builder.getIntegerAttr(element, static_cast<int64_t>(op.getPad())));
    Value keep = arith::ExtUIOp::create(
        builder, emitter.loc, builder.getI8Type(),
        compare(emitter, arith::CmpIPredicate::ne, id, pad));
    memref::StoreOp::create(builder, emitter.loc, keep, out,
                            ValueRange{row, column});
  };
  emitter.forEachRow([&](Value row) {
    if (op.getClassToken()) {
      store(row, emitter.index(0), emitter.index(0));
    }
    int64_t first = op.getClassToken() ? 1 : 0;
    emitter.forLoop(
        "columns", emitter.index(0), emitter.index(shapeOf(op.getIds()).back()),
        1, [&](Value token) { store(row, token, emitter.add(token, first)); });
  });
}

/// Whether token `column` of row `row` of a mask is true.
static Value isValidAt(KernelEmitter &emitter, Value valid, Value row,
                       Value column) {
  Value byte = emitter.loadScalar(valid, row, column);
  Value zero = arith::ConstantIntOp::create(emitter.builder, emitter.loc, 0, 8);
  return compare(emitter, arith::CmpIPredicate::ne, byte, zero);
}

static void emit(KernelEmitter &emitter, PositionIdsOp op) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Value valid = emitter.buffer(op.getValid()),
        out = emitter.buffer(op.getResult());
  emitter.forEachRow([&](Value row) {
    emitter.forLoop(
        "columns", emitter.index(0),
        emitter.index(shapeOf(op.getResult()).back()), 1, [&](Value token) {
          Value position = arith::IndexCastOp::create(
              builder, loc, builder.getI32Type(), emitter.add(token, 1));
          Value padding = arith::ConstantIntOp::create(builder, loc, 0, 32);
          Value id = arith::SelectOp::create(
              builder, loc, isValidAt(emitter, valid, row, token), position,
              padding);
          memref::StoreOp::create(builder, loc, id, out,
                                  ValueRange{row, token});
        });
  });
}

static void emit(KernelEmitter &emitter, MaskFactorsOp op) {
  Value valid = emitter.buffer(op.getValid()),
        out = emitter.buffer(op.getResult());
  int64_t tokens = shapeOf(op.getValid()).back();
  emitter.forEachRow([&](Value row) {
    Value isValid = isValidAt(emitter, valid, emitter.div(row, tokens),
                              emitter.rem(row, tokens));
    Value factor =
        arith::SelectOp::create(emitter.builder, emitter.loc, isValid,
                                emitter.scalar(1), emitter.scalar(0));
    memref::StoreOp::create(emitter.builder, emitter.loc, factor, out,
                            ValueRange{row, emitter.index(0)});
  });
}

/// One of two bodies.
static void branch(KernelEmitter &emitter, Value condition,
                   llvm::function_ref<void()> then,
                   llvm::function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(emitter.builder, emitter.loc, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(emitter.builder);
  emitter.builder.setInsertionPoint(branch.thenYield());
  then();
  emitter.builder.setInsertionPoint(branch.elseYield());
  otherwise();
}

static void emit(KernelEmitter &emitter, ClassTokenOp op) {
  int64_t tokens = shapeOf(op.getX())[1], width = shapeOf(op.getX())[2];
  Value x = emitter.buffer(op.getX()), token = emitter.buffer(op.getToken());
  emitter.forEachRow([&](Value row) {
    Value batch = emitter.div(row, tokens + 1);
    Value position = emitter.rem(row, tokens + 1);
    Value zero = emitter.index(0);
    branch(
        emitter, compare(emitter, arith::CmpIPredicate::eq, position, zero),
        [&] { copyRow(emitter, token, zero, zero, row, zero, width); },
        [&] {
          Value before = arith::SubIOp::create(emitter.builder, emitter.loc,
                                               position, emitter.index(1));
          Value from = emitter.add(emitter.mul(batch, tokens), before);
          copyRow(emitter, x, from, zero, row, zero, width);
        });
  });
}

/// Folds rows `first .. first + count - 1` of a chunk of columns.
static Value foldRows(KernelEmitter &emitter, Value matrix, Value first,
                      int64_t count, Value column, int64_t lanes, int64_t valid,
                      llvm::function_ref<Value(Value, Value)> fold) {
  Value start = emitter.loadRow(matrix, first, column, lanes, valid);
  return emitter.forLoop("rows", emitter.index(1), emitter.index(count), 1,
                         start, [&](Value i, ValueRange carried) {
                           Value next =
                               emitter.loadRow(matrix, emitter.add(first, i),
                                               column, lanes, valid);
                           return SmallVector<Value>{fold(carried[0], next)};
                         })[0];
}

static void emit(KernelEmitter &emitter, PoolOp op) {
  OpBuilder &builder = emitter.builder;
  int64_t tokens = shapeOf(op.getX())[1], width = shapeOf(op.getX())[2];
  Value x = emitter.buffer(op.getX());
  emitter.forEachRow([&](Value row) {
    Value first = emitter.mul(row, tokens), zero = emitter.index(0);
    if (op.getKind() == PoolKind::first) {
      return copyRow(emitter, x, first, zero, row, zero, width);
    }
    emitter.forEachChunk(width, [&](Value column, int64_t lanes,
                                    int64_t valid) {
      Value sum =
          foldRows(emitter, x, first, tokens, column, lanes, valid,
                   [&](Value a, Value b) -> Value {
                     return arith::AddFOp::create(builder, emitter.loc, a, b);
                   });
      Value mean = arith::MulFOp::create(
          builder, emitter.loc, sum,
          emitter.splat(1.0 / tokens, emitter.vectorType(lanes)));
      emitter.finishAndStoreTile({row, column, 1, lanes, valid},
                                 emitter.asTile(mean));
    });
  });
}

static void emit(KernelEmitter &emitter, LayerPoolOp op) {
  Value x = emitter.buffer(op.getX());
  int64_t layers = op.getLayers();
  emitter.forEachRow([&](Value row) {
    emitter.forEachChunk(shapeOf(op.getX()).back(), [&](Value column,
                                                        int64_t lanes,
                                                        int64_t valid) {
      Value top = foldRows(emitter, x, emitter.mul(row, layers), layers, column,
                           lanes, valid, [&](Value a, Value b) -> Value {
                             return arith::MaximumFOp::create(
                                 emitter.builder, emitter.loc, a, b);
                           });
      emitter.finishAndStoreTile({row, column, 1, lanes, valid},
                                 emitter.asTile(top));
    });
  });
}

static void emit(KernelEmitter &emitter, IndexSortOp op) {
  int64_t layers = op.getStates().size();
  int64_t width = shapeOf(op.getResult()).back();
  emitter.forEachRow([&](Value row) {
    // Row (b*tokens + i)*layers + l is row b*tokens + i of state l.
    Value sourceRow = emitter.div(row, layers),
          layer = emitter.rem(row, layers);
    Value zero = emitter.index(0);
    for (auto [i, state] : llvm::enumerate(op.getStates())) {
      Value source = emitter.buffer(state);
      Value isOwn =
          compare(emitter, arith::CmpIPredicate::eq, layer, emitter.index(i));
      emitter.ifThen(isOwn, [&] {
        copyRow(emitter, source, sourceRow, zero, row, zero, width);
      });
    }
  });
}

/// Rows of a tensor joined or cut along an axis other than the last: result row
/// `(outer*size + j)*inner + q`.
struct RowAxis {
  int64_t size = 1, inner = 1;
  RowAxis(ArrayRef<int64_t> shape, int64_t axis)
      : size(shape[axis]),
        inner(staticSize(shape.drop_back().drop_front(axis + 1))) {}
};

/// The row of a tensor with `size` entries on the axis, at entry `j`.
static Value rowAt(KernelEmitter &emitter, Value row, const RowAxis &result,
                   int64_t size, Value j) {
  Value outer = emitter.div(row, result.size * result.inner);
  Value entry = emitter.add(emitter.mul(outer, size), j);
  return emitter.add(emitter.mul(entry, result.inner),
                     emitter.rem(row, result.inner));
}

static void emit(KernelEmitter &emitter, ConcatOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), width = shape.back();
  bool columns = axis + 1 == static_cast<int64_t>(shape.size());
  emitter.forEachRow([&](Value row) {
    Value zero = emitter.index(0);
    int64_t offset = 0;
    for (Value input : op.getInputs()) {
      Value source = emitter.buffer(input);
      int64_t size = shapeOf(input)[axis];
      if (columns) {
        copyRow(emitter, source, row, zero, row, emitter.index(offset), size);
      } else {
        RowAxis result(shape, axis);
        Value j = emitter.rem(emitter.div(row, result.inner), result.size);
        Value own = arith::SubIOp::create(emitter.builder, emitter.loc, j,
                                          emitter.index(offset));
        // Entries before the input wrap around to large numbers.
        Value isOwn = compare(emitter, arith::CmpIPredicate::ult, own,
                              emitter.index(size));
        emitter.ifThen(isOwn, [&] {
          copyRow(emitter, source, rowAt(emitter, row, result, size, own), zero,
                  row, zero, width);
        });
      }
      offset += size;
    }
  });
}

static void emit(KernelEmitter &emitter, SliceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), offset = op.getOffset();
  Value source = emitter.buffer(op.getX());
  emitter.forEachRow([&](Value row) {
    Value zero = emitter.index(0);
    if (axis + 1 == static_cast<int64_t>(shape.size())) {
      return copyRow(emitter, source, row, emitter.index(offset), row, zero,
                     shape.back());
    }
    RowAxis result(shape, axis);
    Value j = emitter.rem(emitter.div(row, result.inner), result.size);
    Value sourceRow = rowAt(emitter, row, result, shapeOf(op.getX())[axis],
                            emitter.add(j, offset));
    copyRow(emitter, source, sourceRow, zero, row, zero, shape.back());
  });
}

static void emit(KernelEmitter &emitter, PadOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), before = op.getBefore(), size = x[axis];
  Value source = emitter.buffer(op.getX());
  emitter.forEachRow([&](Value row) {
    Value zero = emitter.index(0);
    if (axis + 1 == static_cast<int64_t>(shape.size())) {
      zeroRow(emitter, row, zero, before);
      copyRow(emitter, source, row, zero, row, emitter.index(before), size);
      return zeroRow(emitter, row, emitter.index(before + size),
                     shape.back() - before - size);
    }
    RowAxis result(shape, axis);
    Value j = emitter.rem(emitter.div(row, result.inner), result.size);
    Value own = arith::SubIOp::create(emitter.builder, emitter.loc, j,
                                      emitter.index(before));
    // Entries in front of x wrap around to large numbers.
    branch(
        emitter,
        compare(emitter, arith::CmpIPredicate::ult, own, emitter.index(size)),
        [&] {
          copyRow(emitter, source, rowAt(emitter, row, result, size, own), zero,
                  row, zero, x.back());
        },
        [&] { zeroRow(emitter, row, zero, x.back()); });
  });
}

static void emit(KernelEmitter &emitter, RepeatOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX());
  Value source = emitter.buffer(op.getX());
  int64_t rows = staticSize(x.drop_back());
  emitter.forEachRow([&](Value row) {
    Value zero = emitter.index(0);
    copyRow(emitter, source, emitter.rem(row, rows), zero, row, zero, x.back());
  });
}

/// In the longest pieces that end where rows of x and of the result end.
static void emit(KernelEmitter &emitter, ReshapeOp op) {
  int64_t from = shapeOf(op.getX()).back(), to = shapeOf(op.getResult()).back();
  int64_t piece = std::gcd(from, to);
  Value source = emitter.buffer(op.getX());
  emitter.forEachRow([&](Value row) {
    emitter.forLoop("pieces", emitter.index(0), emitter.index(to / piece), 1,
                    [&](Value i) {
                      Value column = emitter.mul(i, piece);
                      Value element = emitter.add(emitter.mul(row, to), column);
                      copyRow(emitter, source, emitter.div(element, from),
                              emitter.rem(element, from), row, column, piece);
                    });
  });
}

/// The rows of a source side by side, where the table says.
static LogicalResult emit(KernelEmitter &emitter, RearrangeOp op) {
  if (!op.getTable()) {
    return op.emitOpError("has no table of rows: run assign first");
  }
  Value source = emitter.buffer(op.getX());
  Value table = emitter.buffer(op.getTable());
  int64_t segments = op.getPlacement().getSegments();
  int64_t width = shapeOf(op.getX()).back();
  emitter.forEachRow([&](Value row) {
    Value first = emitter.mul(row, segments), zero = emitter.index(0);
    for (int64_t i = 0; i < segments; ++i) {
      Value number = emitter.loadScalar(table, zero, emitter.add(first, i));
      Value from = arith::IndexCastOp::create(
          emitter.builder, emitter.loc, emitter.builder.getIndexType(), number);
      copyRow(emitter, source, from, zero, row, emitter.index(i * width),
              width);
    }
  });
  return success();
}

namespace {
struct EmbeddingRecipe
    : CpuRecipe<EmbeddingRecipe, EmbeddingOp,
                static_cast<void (*)(KernelEmitter &, EmbeddingOp)>(emit),
                scratchBytes> {
  /// The columns of a table that a product multiplies with.
  bool readsPanels(Operation *op, unsigned) const {
    return cast<EmbeddingOp>(op).getTransposed();
  }
};

/// Writes numbers one by one, not tiles that others could join.
template <typename OpT>
struct ScalarRecipe
    : CpuRecipe<ScalarRecipe<OpT>, OpT,
                static_cast<void (*)(KernelEmitter &, OpT)>(emit)> {
  bool takesJoins(Operation *) const { return false; }
};
} // namespace

void attachTokenRecipes(MLIRContext &context) {
  EmbeddingOp::attachInterface<EmbeddingRecipe>(context);
  PaddingMaskOp::attachInterface<ScalarRecipe<PaddingMaskOp>>(context);
  PositionIdsOp::attachInterface<ScalarRecipe<PositionIdsOp>>(context);
  MaskFactorsOp::attachInterface<ScalarRecipe<MaskFactorsOp>>(context);
  attachRecipe<RearrangeOp, emit>(context);
  attachRecipe<ClassTokenOp, emit>(context);
  attachRecipe<PoolOp, emit>(context);
  attachRecipe<LayerPoolOp, emit>(context);
  attachRecipe<IndexSortOp, emit>(context);
  attachRecipe<ConcatOp, emit>(context);
  attachRecipe<SliceOp, emit>(context);
  attachRecipe<PadOp, emit>(context);
  attachRecipe<ReshapeOp, emit>(context);
  attachRecipe<RepeatOp, emit>(context);
}

} // namespace hova
