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

void copyRow(KernelEmitter &e, Value source, Value sourceRow,
             Value sourceColumn, Value row, Value column, int64_t width) {
  e.forEachChunk(width, [&](Value offset, int64_t lanes, int64_t valid) {
    TilePlace place{row, e.add(column, offset), 1, lanes, valid};
    Value chunk =
        e.loadRow(source, sourceRow, e.add(sourceColumn, offset), lanes, valid);
    e.finishAndStoreTile(place, e.asTile(chunk));
  });
}

void zeroRow(KernelEmitter &e, Value row, Value column, int64_t width) {
  e.forEachChunk(width, [&](Value offset, int64_t lanes, int64_t valid) {
    TilePlace place{row, e.add(column, offset), 1, lanes, valid};
    Value zeros = e.splat(0, lanes);
    e.finishAndStoreTile(place, e.asTile(zeros));
  });
}

static Value compare(KernelEmitter &e, arith::CmpIPredicate predicate, Value a,
                     Value b) {
  return e.make<arith::CmpIOp>(predicate, a, b);
}

/// Elements of a copied column: all pairs are whole.
static int64_t columnElements(int64_t depth) {
  return llvm::alignTo(depth, int64_t(2));
}

/// Copies a column of a matrix, in panels or not, to scratch, as f32. Elements,
/// or pairs of them, lie a row apart, each in a cache line of its own, which
/// the processor does not foresee: meanwhile those of column `next` are
/// prefetched.
static Value copyColumn(KernelEmitter &e, Value matrix, Value column,
                        Value next, int64_t depth) {
  OpBuilder &b = e.builder;
  ArrayRef<int64_t> shape = cast<MemRefType>(matrix.getType()).getShape();
  Value copy = e.scratchView(0, {1, columnElements(depth)}, b.getF32Type());
  Value zero = e.index(0);
  auto store = [&](Value element, Value at) {
    e.make<memref::StoreOp>(element, copy, ValueRange{zero, at});
  };
  auto placeOf = [&](Value column, Value row) -> SmallVector<Value> {
    if (shape.size() == 2) {
      return {row, column};
    }
    return {e.div(column, shape[2]), row, e.rem(column, shape[2])};
  };
  e.forLoop(
      "rows", zero, e.index(*std::prev(shape.end(), 2)), 1, [&](Value row) {
        e.prefetch(matrix, placeOf(next, row));
        Value element = e.make<memref::LoadOp>(matrix, placeOf(column, row));
        if (!element.getType().isInteger()) {
          return store(e.widen(element), row);
        }
        // A number of bf16 is the upper half of one of f32.
        auto half = [&](Value bits) -> Value {
          return e.make<arith::BitcastOp>(b.getF32Type(), bits);
        };
        auto constant = [&](int64_t value) -> Value {
          return e.make<arith::ConstantIntOp>(value, 32);
        };
        Value even = e.mul(row, 2);
        store(half(e.make<arith::ShLIOp>(element, constant(16))), even);
        store(half(e.make<arith::AndIOp>(element, constant(-65536))),
              e.add(even, 1));
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

static void emit(KernelEmitter &e, EmbeddingOp op) {
  Value ids = e.buffer(op.getIds()), table = e.buffer(op.getTable());
  int64_t tokens = shapeOf(op.getIds()).back();
  int64_t width = shapeOf(op.getResult()).back();
  auto idOf = [&](Value row) -> Value {
    Value id = e.loadScalar(ids, e.div(row, tokens), e.rem(row, tokens));
    return e.make<arith::IndexCastOp>(e.builder.getIndexType(), id);
  };
  // The row `distance` rows after `row`, or the last one.
  auto following = [&](Value row, int64_t distance) -> Value {
    return e.make<arith::MinUIOp>(e.add(row, distance), e.add(e.end, -1));
  };
  e.forEachRow([&](Value row) {
    Value id = idOf(row), zero = e.index(0);
    if (op.getTransposed()) {
      Value next = idOf(following(row, 1));
      Value copy = copyColumn(e, table, id, next, width);
      return copyRow(e, copy, zero, zero, row, zero, width);
    }
    if (isLarge(table)) {
      Value prefetched = idOf(following(row, CpuFacts::prefetchDistance));
      e.prefetchRow(table, prefetched, zero, width);
    }
    copyRow(e, table, id, zero, row, zero, width);
  });
}

static void emit(KernelEmitter &e, PaddingMaskOp op) {
  OpBuilder &builder = e.builder;
  Value ids = e.buffer(op.getIds()), out = e.buffer(op.getResult());
  Type element = cast<MemRefType>(ids.getType()).getElementType();
  auto store = [&](Value row, Value token, Value column) {
    Value id = e.loadScalar(ids, row, token);
    Value pad = e.make<arith::ConstantOp>(
        builder.getIntegerAttr(element, static_cast<int64_t>(op.getPad())));
    Value keep = e.make<arith::ExtUIOp>(
        builder.getI8Type(), compare(e, arith::CmpIPredicate::ne, id, pad));
    e.make<memref::StoreOp>(keep, out, ValueRange{row, column});
  };
  e.forEachRow([&](Value row) {
    if (op.getClassToken()) {
      store(row, e.index(0), e.index(0));
    }
    int64_t first = op.getClassToken() ? 1 : 0;
    e.forLoop("columns", e.index(0), e.index(shapeOf(op.getIds()).back()), 1,
              [&](Value token) { store(row, token, e.add(token, first)); });
  });
}

/// Whether token `column` of row `row` of a mask is true.
static Value isValidAt(KernelEmitter &e, Value valid, Value row, Value column) {
  Value byte = e.loadScalar(valid, row, column);
  Value zero = e.make<arith::ConstantIntOp>(0, 8);
  return compare(e, arith::CmpIPredicate::ne, byte, zero);
}

static void emit(KernelEmitter &e, PositionIdsOp op) {
  OpBuilder &builder = e.builder;
  Value valid = e.buffer(op.getValid()), out = e.buffer(op.getResult());
  e.forEachRow([&](Value row) {
    e.forLoop("columns", e.index(0), e.index(shapeOf(op.getResult()).back()), 1,
              [&](Value token) {
                Value position = e.make<arith::IndexCastOp>(
                    builder.getI32Type(), e.add(token, 1));
                Value padding = e.make<arith::ConstantIntOp>(0, 32);
                Value id = e.make<arith::SelectOp>(
                    isValidAt(e, valid, row, token), position, padding);
                e.make<memref::StoreOp>(id, out, ValueRange{row, token});
              });
  });
}

static void emit(KernelEmitter &e, MaskFactorsOp op) {
  Value valid = e.buffer(op.getValid()), out = e.buffer(op.getResult());
  int64_t tokens = shapeOf(op.getValid()).back();
  e.forEachRow([&](Value row) {
    Value isValid = isValidAt(e, valid, e.div(row, tokens), e.rem(row, tokens));
    Value factor = e.make<arith::SelectOp>(isValid, e.scalar(1), e.scalar(0));
    e.make<memref::StoreOp>(factor, out, ValueRange{row, e.index(0)});
  });
}

/// One of two bodies.
static void branch(KernelEmitter &e, Value condition,
                   llvm::function_ref<void()> then,
                   llvm::function_ref<void()> otherwise) {
  auto branch = e.make<scf::IfOp>(condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(branch.thenYield());
  then();
  e.builder.setInsertionPoint(branch.elseYield());
  otherwise();
}

static void emit(KernelEmitter &e, ClassTokenOp op) {
  int64_t tokens = shapeOf(op.getX())[1], width = shapeOf(op.getX())[2];
  Value x = e.buffer(op.getX()), token = e.buffer(op.getToken());
  e.forEachRow([&](Value row) {
    Value batch = e.div(row, tokens + 1);
    Value position = e.rem(row, tokens + 1);
    Value zero = e.index(0);
    branch(
        e, compare(e, arith::CmpIPredicate::eq, position, zero),
        [&] { copyRow(e, token, zero, zero, row, zero, width); },
        [&] {
          Value before = e.make<arith::SubIOp>(position, e.index(1));
          Value from = e.add(e.mul(batch, tokens), before);
          copyRow(e, x, from, zero, row, zero, width);
        });
  });
}

/// Folds rows `first .. first + count - 1` of a chunk of columns.
static Value foldRows(KernelEmitter &e, Value matrix, Value first,
                      int64_t count, Value column, int64_t lanes, int64_t valid,
                      llvm::function_ref<Value(Value, Value)> fold) {
  Value start = e.loadRow(matrix, first, column, lanes, valid);
  return e.forLoop("rows", e.index(1), e.index(count), 1, start,
                   [&](Value i, ValueRange carried) {
                     Value next = e.loadRow(matrix, e.add(first, i), column,
                                            lanes, valid);
                     return SmallVector<Value>{fold(carried[0], next)};
                   })[0];
}

static void emit(KernelEmitter &e, PoolOp op) {
  int64_t tokens = shapeOf(op.getX())[1], width = shapeOf(op.getX())[2];
  Value x = e.buffer(op.getX());
  e.forEachRow([&](Value row) {
    Value first = e.mul(row, tokens), zero = e.index(0);
    if (op.getKind() == PoolKind::first) {
      return copyRow(e, x, first, zero, row, zero, width);
    }
    e.forEachChunk(width, [&](Value column, int64_t lanes, int64_t valid) {
      Value sum = foldRows(e, x, first, tokens, column, lanes, valid,
                           [&](Value a, Value b) -> Value {
                             return e.make<arith::AddFOp>(a, b);
                           });
      Value mean = e.make<arith::MulFOp>(sum, e.splat(1.0 / tokens, lanes));
      e.finishAndStoreTile({row, column, 1, lanes, valid}, e.asTile(mean));
    });
  });
}

static void emit(KernelEmitter &e, LayerPoolOp op) {
  Value x = e.buffer(op.getX());
  int64_t layers = op.getLayers();
  e.forEachRow([&](Value row) {
    e.forEachChunk(shapeOf(op.getX()).back(), [&](Value column, int64_t lanes,
                                                  int64_t valid) {
      Value top = foldRows(e, x, e.mul(row, layers), layers, column, lanes,
                           valid, [&](Value a, Value b) -> Value {
                             return e.make<arith::MaximumFOp>(a, b);
                           });
      e.finishAndStoreTile({row, column, 1, lanes, valid}, e.asTile(top));
    });
  });
}

static void emit(KernelEmitter &e, IndexSortOp op) {
  int64_t layers = op.getStates().size();
  int64_t width = shapeOf(op.getResult()).back();
  e.forEachRow([&](Value row) {
    // Row (b*tokens + i)*layers + l is row b*tokens + i of state l.
    Value sourceRow = e.div(row, layers), layer = e.rem(row, layers);
    Value zero = e.index(0);
    for (auto [i, state] : llvm::enumerate(op.getStates())) {
      Value source = e.buffer(state);
      Value isOwn = compare(e, arith::CmpIPredicate::eq, layer, e.index(i));
      e.ifThen(isOwn,
               [&] { copyRow(e, source, sourceRow, zero, row, zero, width); });
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
static Value rowAt(KernelEmitter &e, Value row, const RowAxis &result,
                   int64_t size, Value j) {
  Value outer = e.div(row, result.size * result.inner);
  Value entry = e.add(e.mul(outer, size), j);
  return e.add(e.mul(entry, result.inner), e.rem(row, result.inner));
}

static void emit(KernelEmitter &e, ConcatOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), width = shape.back();
  bool columns = axis + 1 == static_cast<int64_t>(shape.size());
  e.forEachRow([&](Value row) {
    Value zero = e.index(0);
    int64_t offset = 0;
    for (Value input : op.getInputs()) {
      Value source = e.buffer(input);
      int64_t size = shapeOf(input)[axis];
      if (columns) {
        copyRow(e, source, row, zero, row, e.index(offset), size);
      } else {
        RowAxis result(shape, axis);
        Value j = e.rem(e.div(row, result.inner), result.size);
        Value own = e.make<arith::SubIOp>(j, e.index(offset));
        // Entries before the input wrap around to large numbers.
        Value isOwn = compare(e, arith::CmpIPredicate::ult, own, e.index(size));
        e.ifThen(isOwn, [&] {
          copyRow(e, source, rowAt(e, row, result, size, own), zero, row, zero,
                  width);
        });
      }
      offset += size;
    }
  });
}

static void emit(KernelEmitter &e, SliceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), offset = op.getOffset();
  Value source = e.buffer(op.getX());
  e.forEachRow([&](Value row) {
    Value zero = e.index(0);
    if (axis + 1 == static_cast<int64_t>(shape.size())) {
      return copyRow(e, source, row, e.index(offset), row, zero, shape.back());
    }
    RowAxis result(shape, axis);
    Value j = e.rem(e.div(row, result.inner), result.size);
    Value sourceRow =
        rowAt(e, row, result, shapeOf(op.getX())[axis], e.add(j, offset));
    copyRow(e, source, sourceRow, zero, row, zero, shape.back());
  });
}

static void emit(KernelEmitter &e, PadOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), shape = shapeOf(op.getResult());
  int64_t axis = op.getAxis(), before = op.getBefore(), size = x[axis];
  Value source = e.buffer(op.getX());
  e.forEachRow([&](Value row) {
    Value zero = e.index(0);
    if (axis + 1 == static_cast<int64_t>(shape.size())) {
      zeroRow(e, row, zero, before);
      copyRow(e, source, row, zero, row, e.index(before), size);
      return zeroRow(e, row, e.index(before + size),
                     shape.back() - before - size);
    }
    RowAxis result(shape, axis);
    Value j = e.rem(e.div(row, result.inner), result.size);
    Value own = e.make<arith::SubIOp>(j, e.index(before));
    // Entries in front of x wrap around to large numbers.
    branch(
        e, compare(e, arith::CmpIPredicate::ult, own, e.index(size)),
        [&] {
          copyRow(e, source, rowAt(e, row, result, size, own), zero, row, zero,
                  x.back());
        },
        [&] { zeroRow(e, row, zero, x.back()); });
  });
}

static void emit(KernelEmitter &e, RepeatOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX());
  Value source = e.buffer(op.getX());
  int64_t rows = staticSize(x.drop_back());
  e.forEachRow([&](Value row) {
    Value zero = e.index(0);
    copyRow(e, source, e.rem(row, rows), zero, row, zero, x.back());
  });
}

/// In the longest pieces that end where rows of x and of the result end.
static void emit(KernelEmitter &e, ReshapeOp op) {
  int64_t from = shapeOf(op.getX()).back(), to = shapeOf(op.getResult()).back();
  int64_t piece = std::gcd(from, to);
  Value source = e.buffer(op.getX());
  e.forEachRow([&](Value row) {
    e.forLoop("pieces", e.index(0), e.index(to / piece), 1, [&](Value i) {
      Value column = e.mul(i, piece);
      Value element = e.add(e.mul(row, to), column);
      copyRow(e, source, e.div(element, from), e.rem(element, from), row,
              column, piece);
    });
  });
}

/// The rows of a source side by side, where the table says.
static LogicalResult emit(KernelEmitter &e, RearrangeOp op) {
  if (!op.getTable()) {
    return op.emitOpError("has no table of rows: run assign first");
  }
  Value source = e.buffer(op.getX());
  Value table = e.buffer(op.getTable());
  int64_t segments = op.getPlacement().getSegments();
  int64_t width = shapeOf(op.getX()).back();
  e.forEachRow([&](Value row) {
    Value first = e.mul(row, segments), zero = e.index(0);
    for (int64_t i = 0; i < segments; ++i) {
      Value number = e.loadScalar(table, zero, e.add(first, i));
      Value from = e.make<arith::IndexCastOp>(e.builder.getIndexType(), number);
      copyRow(e, source, from, zero, row, e.index(i * width), width);
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
