//===- FeatureRows.cpp - Features of tokens in scratch --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/FeatureRows.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/DenseOps.h"
#include <limits>

using namespace mlir;

namespace hova {

static IntegerAttr columnsOf(OpBuilder &builder, int64_t lanes, int64_t valid) {
  return valid < lanes ? builder.getI64IntegerAttr(valid) : IntegerAttr();
}

void FeatureRows::takeScratch(const FeatureSizes &sizes,
                              ScratchLayout &layout) {
  layout.take(sizes.block * sizes.stride);
  layout.take(sizes.block);
}

FeatureRows::FeatureRows(KernelEmitter &emitter, const FeatureSizes &sizes,
                         ScratchLayout &layout, Value tokens, Value weight)
    : e(emitter), b(emitter.builder), loc(emitter.loc), sizes(sizes),
      source(e.buffer(tokens)), weight(weight) {
  Type f32 = b.getF32Type();
  rows = e.scratchView(layout.take(sizes.block * sizes.stride),
                       {sizes.block, sizes.stride}, f32);
  halfNorms = e.scratchView(layout.take(sizes.block), {sizes.block, 1}, f32);
  SmallVector<int64_t> shape{sizes.count, sizes.block},
      strides{1, sizes.stride};
  auto type = MemRefType::get(
      shape, f32, StridedLayoutAttr::get(b.getContext(), 0, strides));
  columns = e.make<memref::ReinterpretCastOp>(type, rows, /*offset=*/0, shape,
                                              strides);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void FeatureRows::emitProducts(Value first, Value head, int64_t count) {
  int64_t lanes = e.schedule.tileColumns, features = sizes.count;
  int64_t whole = features / lanes * lanes;
  forEachEvenBlock(
      e, "tokens", count, e.schedule.tileRows, [&](Value row, int64_t height) {
        Value from = e.add(first, row);
        if (sizes.hasExponentials()) {
          emitHalfNorms(row, from, head, height);
        }
        if (whole) {
          e.forLoop("features", e.index(0), e.index(whole), lanes,
                    [&](Value column) {
                      emitTile(row, from, head, height, column, lanes, lanes);
                    });
        }
        if (int64_t rest = features - whole) {
          emitTile(row, from, head, height, e.index(whole),
                   llvm::PowerOf2Ceil(rest), rest);
        }
      });
}

/// halfNorms[row + i] = log2(e) |scale x_i|^2 / 2.
void FeatureRows::emitHalfNorms(Value row, Value from, Value head,
                                int64_t height) {
  int64_t width = sizes.keyWidth;
  Value sum;
  for (int64_t column = 0; column < width;) {
    int64_t lanes = std::min<int64_t>(e.schedule.tileColumns,
                                      llvm::PowerOf2Ceil(width - column));
    int64_t valid = std::min(lanes, width - column);
    Value tile = e.make<TileLoadOp>(
        VectorType::get({height, lanes}, b.getF32Type()), source, from,
        e.add(e.mul(head, width), column), columnsOf(b, lanes, valid));
    Value part =
        e.make<TileRowSumOp>(VectorType::get({height, 1}, b.getF32Type()),
                             e.make<arith::MulFOp>(tile, tile));
    sum = sum ? e.make<arith::AddFOp>(sum, part) : part;
    column += lanes;
  }
  double factor = llvm::numbers::log2e * sizes.scale * sizes.scale / 2;
  Value half = e.make<arith::MulFOp>(
      sum, e.splat(factor, cast<VectorType>(sum.getType())));
  e.make<TileStoreOp>(half, halfNorms, row, e.index(0), IntegerAttr());
}

/// A tile of x w, or of x.
Value FeatureRows::product(VectorType type, Value from, Value head,
                           Value column, IntegerAttr columns) {
  Value first = e.mul(head, sizes.keyWidth);
  if (!weight) {
    return e.make<TileLoadOp>(type, source, from, e.add(first, column),
                              columns);
  }
  int64_t panel = cast<MemRefType>(weight.getType()).getShape()[2];
  return e.make<TileProductOp>(
      type, source, from, first, weight,
      ValueRange{e.div(column, panel), e.index(0), e.rem(column, panel)},
      e.index(sizes.keyWidth));
}

void FeatureRows::emitTile(Value row, Value from, Value head, int64_t height,
                           Value column, int64_t lanes, int64_t valid) {
  auto type = VectorType::get({height, lanes}, b.getF32Type());
  IntegerAttr columns = columnsOf(b, lanes, valid);
  Value tile = product(type, from, head, column, columns);
  double factor =
      sizes.scale * (sizes.hasExponentials() ? llvm::numbers::log2e : 1);
  if (factor != 1) {
    tile = e.make<arith::MulFOp>(tile, e.splat(factor, type));
  }
  if (!sizes.hasExponentials()) {
    // NaN is not greater: it stays, where a maximum would lose it.
    Value zero = e.splat(0, type);
    Value isLess = e.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, tile, zero);
    tile = e.make<arith::SelectOp>(isLess, zero, tile);
    tile = e.make<arith::AddFOp>(tile, e.splat(sizes.eps, type));
  }
  e.make<TileStoreOp>(tile, rows, row, column, columns);
}

//===----------------------------------------------------------------------===//
// Row by row
//===----------------------------------------------------------------------===//

/// All lanes of the chunks of `width` columns, reduced to a scalar.
Value FeatureRows::reduce(int64_t width, vector::CombiningKind kind,
                          Chunk chunk) {
  using arith::FastMathFlags;
  bool adds = kind == vector::CombiningKind::ADD;
  auto flags =
      adds ? FastMathFlags::reassoc : FastMathFlags::nnan | FastMathFlags::nsz;
  auto flagsAttr = arith::FastMathFlagsAttr::get(b.getContext(), flags);
  double start = adds ? 0 : -std::numeric_limits<double>::infinity();
  int64_t lanes =
      std::min<int64_t>(e.schedule.lanes, llvm::PowerOf2Ceil(width));
  int64_t whole = width / lanes * lanes;
  Value all = e.splat(start, lanes);
  auto combine = [&](Value before, Value own) {
    return vector::makeArithReduction(b, loc, kind, before, own, flagsAttr);
  };
  if (whole > lanes) {
    all = e.forLoop("columns", e.index(0), e.index(whole), lanes, all,
                    [&](Value column, ValueRange carried) {
                      return SmallVector<Value>{
                          combine(carried[0], chunk(column, lanes, lanes))};
                    })[0];
  } else if (whole) {
    all = chunk(e.index(0), lanes, lanes);
  }
  if (int64_t rest = width - whole) {
    Value own = chunk(e.index(whole), lanes, rest);
    own = e.make<arith::SelectOp>(e.laneMask(lanes, rest), own,
                                  e.splat(start, lanes));
    all = combine(all, own);
  }
  return e.make<vector::ReductionOp>(kind, all, flags);
}

Value FeatureRows::maximum(Value i) {
  return reduce(sizes.count, vector::CombiningKind::MAXNUMF,
                [&](Value column, int64_t lanes, int64_t valid) {
                  return e.loadRow(rows, i, column, lanes, valid);
                });
}

Value FeatureRows::sum(Value i) {
  return reduce(sizes.count, vector::CombiningKind::ADD,
                [&](Value column, int64_t lanes, int64_t valid) {
                  return e.loadRow(rows, i, column, lanes, valid);
                });
}

Value FeatureRows::dot(Value i, Value other, int64_t count) {
  return reduce(count, vector::CombiningKind::ADD,
                [&](Value column, int64_t lanes, int64_t valid) -> Value {
                  return e.make<arith::MulFOp>(
                      e.loadRow(rows, i, column, lanes, valid),
                      e.loadRow(other, e.index(0), column, lanes, valid));
                });
}

/// Features of row `i` become what `body` makes of them.
void FeatureRows::rewrite(Value i,
                          llvm::function_ref<Value(Value, int64_t)> body) {
  e.forEachChunk(sizes.count, [&](Value column, int64_t lanes, int64_t valid) {
    Value own = e.loadRow(rows, i, column, lanes, valid);
    e.storeRow(body(own, lanes), rows, i, column, valid);
  });
}

/// 2^x of x that no maximum was subtracted from: above 127 hova.exp2 promises
/// nothing. There it is 16 times that of 4 less, which is infinite from 128 on.
Value FeatureRows::exponentialOfAny(Value x, int64_t lanes) {
  VectorType type = e.vectorType(lanes);
  auto select = [&](Value condition, Value ifTrue, Value ifFalse) {
    return e.make<arith::SelectOp>(condition, ifTrue, ifFalse);
  };
  auto isLess = [&](Value lhs, Value rhs) {
    return e.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, lhs, rhs);
  };
  // NaN is neither, and stays.
  Value most = e.splat(130, type);
  Value capped = select(isLess(most, x), most, x);
  Value isLarge = isLess(e.splat(126, type), capped);
  Value less = select(isLarge, e.splat(4, type), e.splat(0, type));
  Value factor = select(isLarge, e.splat(16, type), e.splat(1, type));
  Value power = e.make<Exp2Op>(e.make<arith::SubFOp>(capped, less));
  return e.make<arith::MulFOp>(power, factor);
}

void FeatureRows::exponentiate(Value i, Value shift, double eps) {
  Value half = e.loadScalar(halfNorms, i, 0);
  Value offset = e.make<arith::SubFOp>(shift, half);
  rewrite(i, [&](Value own, int64_t lanes) -> Value {
    Value exponent = e.make<arith::AddFOp>(own, e.splat(offset, lanes));
    Value feature = sizes.hasMaximum() ? e.make<Exp2Op>(exponent)
                                       : exponentialOfAny(exponent, lanes);
    return eps == 0 ? feature
                    : e.make<arith::AddFOp>(feature, e.splat(eps, lanes));
  });
}

void FeatureRows::keepIf(Value keep, Value i) {
  rewrite(i, [&](Value own, int64_t lanes) -> Value {
    return e.make<arith::SelectOp>(keep, own, e.splat(0, lanes));
  });
}

void FeatureRows::enlarge(Value i, Value factor, Value from, Value j) {
  Value most = e.scalar(std::numeric_limits<float>::max());
  e.forEachChunk(sizes.count + 1,
                 [&](Value column, int64_t lanes, int64_t valid) {
                   Value own = e.loadRow(from, j, column, lanes, valid);
                   own = e.make<arith::MulFOp>(own, e.splat(factor, lanes));
                   own = e.make<arith::MinNumFOp>(own, e.splat(most, lanes));
                   e.storeRow(own, rows, i, column, valid);
                 });
}

void FeatureRows::save(Value i, Value to) {
  e.forEachChunk(sizes.count + 1,
                 [&](Value column, int64_t lanes, int64_t valid) {
                   Value own = e.loadRow(rows, i, column, lanes, valid);
                   e.storeRow(own, to, e.index(0), column, valid);
                 });
}

void FeatureRows::scale(Value i, Value factor) {
  rewrite(i, [&](Value own, int64_t lanes) -> Value {
    return e.make<arith::MulFOp>(own, e.splat(factor, lanes));
  });
}

} // namespace hova
