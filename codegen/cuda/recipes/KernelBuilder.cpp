//===- KernelBuilder.cpp - What kernels of group operations are written with =//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/KernelBuilder.h"
#include "dialect/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

KernelBuilder::KernelBuilder(ModuleOp module, StringRef name,
                             ArrayRef<Type> matrices, int64_t coordinates)
    : ImplicitLocOpBuilder(module.getLoc(), module.getContext()) {
  setInsertionPointToEnd(module.getBody());
  SmallVector<Type> inputs(matrices);
  inputs.append(coordinates, getIndexType());
  function = func::FuncOp::create(*this, name, getFunctionType(inputs, {}));
  setInsertionPointToStart(function.addEntryBlock());
}

func::FuncOp KernelBuilder::finish() {
  func::ReturnOp::create(*this);
  return function;
}

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}
Value KernelBuilder::number(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}
Value KernelBuilder::addIndex(Value x, int64_t y) {
  return createOrFold<arith::AddIOp>(x, index(y));
}
Value KernelBuilder::mulIndex(Value x, int64_t y) {
  return createOrFold<arith::MulIOp>(x, index(y));
}
Value KernelBuilder::sum(Value x, Value y) {
  return createOrFold<arith::AddIOp>(x, y);
}
Value KernelBuilder::divIndex(Value x, int64_t y) {
  return createOrFold<arith::DivUIOp>(x, index(y));
}
Value KernelBuilder::remIndex(Value x, int64_t y) {
  return createOrFold<arith::RemUIOp>(x, index(y));
}
Value KernelBuilder::atMost(Value x, int64_t most) {
  return createOrFold<arith::MinUIOp>(x, index(most));
}
Value KernelBuilder::next(Value x, int64_t count) {
  return choose(isEqual(x, index(count - 1)), index(0), addIndex(x, 1));
}
Value KernelBuilder::previous(Value x, int64_t count) {
  return choose(isEqual(x, index(0)), index(count - 1), addIndex(x, -1));
}
Value KernelBuilder::isEqual(Value x, Value y) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, x, y);
}
Value KernelBuilder::isBelow(Value x, Value y) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, x, y);
}
Value KernelBuilder::choose(Value condition, Value x, Value y) {
  return arith::SelectOp::create(*this, condition, x, y);
}
Value KernelBuilder::add(Value x, Value y) {
  return arith::AddFOp::create(*this, x, y);
}
Value KernelBuilder::subtract(Value x, Value y) {
  return arith::SubFOp::create(*this, x, y);
}
Value KernelBuilder::mul(Value x, Value y) {
  return arith::MulFOp::create(*this, x, y);
}
Value KernelBuilder::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(*this, x, y, z);
}

Value KernelBuilder::power(Value x, Value most, double factor) {
  return math::Exp2Op::create(
      *this, mul(subtract(x, most), number(factor * llvm::numbers::log2e)));
}

/// The operation is on tiles; here a tile is one element.
Value KernelBuilder::activate(ActivationKind kind, Value x) {
  Type tile = VectorType::get({1, 1}, f32());
  Value wide = vector::BroadcastOp::create(*this, tile, x);
  Value made = ActivationOp::create(*this, tile, kind, wide);
  return vector::ExtractOp::create(*this, made, ArrayRef<int64_t>{0, 0});
}

Value KernelBuilder::map(Type result, ValueRange operands, Body body) {
  auto op = GroupMapOp::create(*this, result, operands);
  OpBuilder::InsertionGuard guard(*this);
  Block *block = createBlock(&op.getBody());
  for (Value operand : operands) {
    block->addArgument(cast<TileType>(operand.getType()).getElementType(),
                       getLoc());
  }
  Value i = block->addArgument(getIndexType(), getLoc());
  Value j = block->addArgument(getIndexType(), getLoc());
  Value made = body(block->getArguments().drop_back(2), i, j);
  if (cast<TileType>(result).getElementType() != made.getType()) {
    made = arith::TruncFOp::create(
        *this, cast<TileType>(result).getElementType(), made);
  }
  GroupYieldOp::create(*this, made);
  return op;
}

Value KernelBuilder::fill(Type result, double value) {
  Value constant = number(value);
  return map(result, {}, [&](ValueRange, Value, Value) { return constant; });
}

Value KernelBuilder::reduce(Combine combine, Value tile,
                            TileDistribution lanes) {
  auto type = cast<TileType>(tile.getType());
  return GroupReduceOp::create(
      *this, type.with({type.rows(), 1}, type.getElementType(), lanes), combine,
      tile);
}

Value KernelBuilder::load(Type tile, Value matrix, Value row, Value column,
                          bool rowsInside, bool columnsInside) {
  return GroupLoadOp::create(*this, tile, matrix, ValueRange{row, column},
                             {rowsInside, columnsInside});
}

void KernelBuilder::store(Value tile, Value matrix, Value row, Value column,
                          bool rowsInside, bool columnsInside) {
  GroupStoreOp::create(*this, tile, matrix, row, column,
                       {rowsInside, columnsInside});
}

void KernelBuilder::storeRounded(Value tile, Value matrix, Value row,
                                 Value column, bool rowsInside,
                                 bool columnsInside) {
  Type element = cast<MemRefType>(matrix.getType()).getElementType();
  auto type = cast<TileType>(tile.getType());
  if (type.getElementType() != element) {
    tile = map(type.with(type.getShape(), element, type.getDistribution()),
               tile, [](ValueRange x, Value, Value) { return x[0]; });
  }
  store(tile, matrix, row, column, rowsInside, columnsInside);
}

Value KernelBuilder::where(Value condition, llvm::function_ref<Value()> body) {
  auto column = cast<TileType>(condition.getType());
  TileType result = column.with(column.getShape(), column.getElementType(),
                                TileDistribution::partial);
  auto op = GroupWhereOp::create(*this, result, condition);
  OpBuilder::InsertionGuard guard(*this);
  createBlock(&op.getBody());
  GroupYieldOp::create(*this, body());
  return op;
}

Value KernelBuilder::gather(Type tile, Value matrix,
                            llvm::function_ref<Cell(Value, Value)> place) {
  return gather(tile, matrix, ValueRange(),
                [&](ValueRange, Value i, Value j) { return place(i, j); });
}

Value KernelBuilder::gather(
    Type tile, Value matrix, ValueRange operands,
    llvm::function_ref<Cell(ValueRange, Value, Value)> place,
    std::array<bool, 2> inBounds) {
  return gather(
      GroupGatherOp::create(*this, tile, matrix, Value(), operands, inBounds),
      place);
}

Value KernelBuilder::gatherOfBox(Type tile, Value slots, Value slot,
                                 llvm::function_ref<Cell(Value, Value)> place,
                                 bool columnsInside) {
  return gather(GroupGatherOp::create(*this, tile, slots, slot, ValueRange(),
                                      {true, columnsInside}),
                [&](ValueRange, Value i, Value j) { return place(i, j); });
}

Value KernelBuilder::gather(
    GroupGatherOp op,
    llvm::function_ref<Cell(ValueRange, Value, Value)> place) {
  OpBuilder::InsertionGuard guard(*this);
  Block *block = createBlock(&op.getBody());
  for (Value operand : op.getBy()) {
    block->addArgument(getElementTypeOrSelf(operand.getType()), getLoc());
  }
  Value i = block->addArgument(getIndexType(), getLoc());
  Value j = block->addArgument(getIndexType(), getLoc());
  auto elements = block->getArguments().drop_back(2);
  auto [row, column] = place(Values(elements.begin(), elements.end()), i, j);
  GroupYieldOp::create(*this, ValueRange{row, column});
  return op;
}

Value KernelBuilder::copy(Value matrix, Value row, Value column, Value slots,
                          Value slot, bool rowsInside, bool columnsInside,
                          const RowMap &sourceRow) {
  auto op =
      GroupCopyOp::create(*this, CopyTokenType::get(getContext()), matrix, row,
                          column, slots, slot, {rowsInside, columnsInside});
  if (sourceRow) {
    OpBuilder::InsertionGuard guard(*this);
    Block *block = createBlock(&op.getRows());
    Value own = block->addArgument(getIndexType(), getLoc());
    GroupYieldOp::create(*this, sourceRow(own));
  }
  return op;
}

KernelBuilder::Values
KernelBuilder::loop(int64_t count, ValueRange inits,
                    llvm::function_ref<Values(Value, ValueRange)> body) {
  return loop(index(0), index(count), inits, body);
}

KernelBuilder::Values
KernelBuilder::loop(Value from, Value to, ValueRange inits,
                    llvm::function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, from, to, index(1), inits);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  // A loop that carries nothing has its yield already.
  if (!inits.empty()) {
    scf::YieldOp::create(*this, next);
  }
  return Values(loop.getResults());
}

} // namespace hova
