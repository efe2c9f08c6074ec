//===- ProductRows.cpp - A tile's product, row by row ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   for k: b = rhs[k, ..] ; sum[i] = fma(lhs[i, k], b, sum[i]) for every row i
//
// from zero or from rows that are given.
//
// Or with pairs along k, as matrices of bf16 are packed:
//
//   for i: b = rhs[i, ..] ; sum[j] = pair_dot(lhs[j, 2i .. 2i+1], b, sum[j])
//
// Where the depth is a constant a turn of the loop takes two steps: 48
// multiply-adds for a tile of 6 x 64, so that the loop's own instructions no
// longer show (200 instead of 190 GFLOP/s of 218 on a Xeon).

#include "codegen/cpu/lower/ProductRows.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace hova {

/// `prefetcht1`: into the second-level cache, not the first, which the data in
/// use needs.
static constexpr unsigned kSecondLevel = 2;

VectorType rowType(Type tile) {
  auto type = cast<VectorType>(tile);
  return VectorType::get(type.getShape().drop_front(), type.getElementType());
}

namespace {
class ProductRows {
public:
  ProductRows(const FlatBuilder &flat, TileProductOp op, const FlatBuffer &lhs,
              const FlatBuffer &rhs, ArrayRef<Value> init,
              const ProductLoop &form)
      : flat(flat), b(flat.builder), loc(flat.loc), op(op), lhs(lhs), rhs(rhs),
        form(form),
        lanes(flat.lanesOf(rowType(op.getTile().getType()), op.getColumns())),
        pairs(rhs.element().isInteger(32)),
        lhsBase(flat.pin(flat.at(lhs, {op.getRow(), op.getColumn()}))),
        rhsBase(flat.pin(flat.at(rhs, op.getRhsIndices()))) {
    if (op.getPrefetchOffset() && form.lineElements) {
      prefetchBase = flat.pin(flat.plus(op.getPrefetchOffset(), rhs.offset));
    }
    if (!init.empty()) {
      sums.assign(init.begin(), init.end());
      return;
    }
    sums.assign(cast<VectorType>(op.getTile().getType()).getShape()[0],
                arith::ConstantOp::create(b, loc, b.getZeroAttr(lanes.type)));
  }

  SmallVector<Value> emit();

private:
  void loop(Value to, int64_t steps);
  void prefetch(Value k, int64_t steps);
  void multiply(Value k, int64_t steps);
  void addProducts(Value right, Value left);
  void addPairs(Value right, Value left, bool single);
  Value pairOf(Value index, bool single);

  const FlatBuilder &flat;
  OpBuilder &b;
  Location loc;
  TileProductOp op;
  const FlatBuffer &lhs, &rhs;
  const ProductLoop &form;
  Lanes lanes;
  bool pairs;
  Value lhsBase, rhsBase, prefetchBase;
  SmallVector<Value> sums;
};
} // namespace

/// One turn prefetches the lines of all its steps.
void ProductRows::prefetch(Value k, int64_t steps) {
  Value at = arith::AddIOp::create(
      b, loc, prefetchBase,
      arith::MulIOp::create(b, loc, k, op.getPrefetchStep()));
  int64_t elements = steps * *op.getPrefetchMost();
  for (int64_t i = 0; i < elements; i += form.lineElements) {
    memref::PrefetchOp::create(b, loc, rhs.memory, flat.plus(at, i),
                               /*isWrite=*/false, kSecondLevel,
                               /*isDataCache=*/true);
  }
}

/// Steps k, .., k + steps - 1.
void ProductRows::multiply(Value k, int64_t steps) {
  Value right = arith::AddIOp::create(
      b, loc, rhsBase,
      b.createOrFold<arith::MulIOp>(loc, k, flat.index(rhs.rowStride())));
  int64_t stride = pairs ? 2 : lhs.strides.back();
  Value first = stride == 1
                    ? k
                    : b.createOrFold<arith::MulIOp>(loc, k, flat.index(stride));
  Value left = arith::AddIOp::create(b, loc, lhsBase, first);
  for (int64_t step = 0; step < steps; ++step) {
    Value row = flat.plus(right, step * rhs.rowStride());
    if (pairs) {
      addPairs(row, flat.plus(left, stride * step), /*single=*/false);
    } else {
      addProducts(row, flat.plus(left, stride * step));
    }
  }
}

void ProductRows::addProducts(Value right, Value left) {
  Value row = flat.load(rhs, right, lanes);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value scalar = flat.loadScalar(lhs, flat.plus(left, i * lhs.rowStride()));
    Value splat = vector::BroadcastOp::create(b, loc, lanes.type, scalar);
    sum = vector::FMAOp::create(b, loc, splat, row, sum);
  }
}

/// Two elements of lhs as one i32; a single one with a zero beside it, since
/// nothing is known of what follows it in memory.
Value ProductRows::pairOf(Value index, bool single) {
  Type i32 = b.getI32Type();
  if (single) {
    Value element = memref::LoadOp::create(b, loc, lhs.memory, index);
    Value bits = arith::BitcastOp::create(b, loc, b.getI16Type(), element);
    return arith::ExtUIOp::create(b, loc, i32, bits);
  }
  Value elements = vector::LoadOp::create(
      b, loc, VectorType::get({2}, lhs.element()), lhs.memory, index);
  Value bits =
      vector::BitCastOp::create(b, loc, VectorType::get({1}, i32), elements);
  return vector::ExtractOp::create(b, loc, bits, 0);
}

void ProductRows::addPairs(Value right, Value left, bool single) {
  int64_t columns = lanes.type.getNumElements();
  auto bits = VectorType::get({columns}, b.getI32Type());
  auto elements = VectorType::get({2 * columns}, lhs.element());
  auto asElements = [&](Value value) -> Value {
    return vector::BitCastOp::create(b, loc, elements, value);
  };
  Value row = asElements(flat.load(rhs, right, Lanes{bits, lanes.mask}));
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value pair = pairOf(flat.plus(left, i * lhs.rowStride()), single);
    Value splat = asElements(vector::BroadcastOp::create(b, loc, bits, pair));
    sum = PairDotOp::create(b, loc, splat, row, sum);
  }
}

void ProductRows::loop(Value to, int64_t steps) {
  auto loop =
      scf::ForOp::create(b, loc, flat.index(0), to, flat.index(steps), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  if (prefetchBase) {
    prefetch(loop.getInductionVar(), steps);
  }
  multiply(loop.getInductionVar(), steps);
  scf::YieldOp::create(b, loc, sums);
  sums.assign(loop.getResults().begin(), loop.getResults().end());
}

SmallVector<Value> ProductRows::emit() {
  IntegerAttr depth;
  if (!matchPattern(op.getDepth(), m_Constant(&depth))) {
    Value steps = op.getDepth();
    if (pairs) {
      steps = arith::DivUIOp::create(b, loc, steps, flat.index(2));
    }
    loop(steps, 1);
    return sums;
  }
  int64_t steps = pairs ? depth.getInt() / 2 : depth.getInt();
  int64_t whole = steps / form.steps * form.steps;
  if (whole) {
    loop(flat.index(whole), form.steps);
  }
  if (whole < steps) {
    multiply(flat.index(whole), steps - whole);
  }
  if (pairs && depth.getInt() % 2) {
    addPairs(flat.plus(rhsBase, steps * rhs.rowStride()),
             flat.plus(lhsBase, 2 * steps), /*single=*/true);
  }
  return sums;
}

SmallVector<Value> emitProductRows(const FlatBuilder &flat, TileProductOp op,
                                   const FlatBuffer &lhs, const FlatBuffer &rhs,
                                   ArrayRef<Value> init,
                                   const ProductLoop &form) {
  return ProductRows(flat, op, lhs, rhs, init, form).emit();
}

} // namespace hova
