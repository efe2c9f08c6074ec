//===- KernelBuilder.cpp - What kernels of group operations are written with =//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/KernelBuilder.h"
#include "dialect/dense/DenseOps.h"
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

Expr KernelBuilder::next(Expr x, int64_t count) {
  return select(x == count - 1, 0, x + 1);
}
Expr KernelBuilder::previous(Expr x, int64_t count) {
  return select(x == 0, count - 1, x - 1);
}

Expr KernelBuilder::power(Expr x, Expr most, double factor) {
  return power((x - most) * (factor * llvm::numbers::log2e));
}

/// The operation is on tiles; here a tile is one element.
Expr KernelBuilder::activate(ActivationKind kind, Expr x) {
  Type tile = VectorType::get({1, 1}, f32());
  Expr made = compute<ActivationOp>(tile, kind, x.broadcast(tile));
  return compute<vector::ExtractOp>(made, ArrayRef<int64_t>{0, 0});
}

/// Opens the body of an operation on elements of `operands`, which its block
/// has as arguments, with a position after them; closes it with what `body`
/// makes of them.
static void
writeBody(KernelBuilder &b, Region &region, ValueRange operands,
          llvm::function_ref<KernelBuilder::Values(KernelBuilder::Elements,
                                                   Expr i, Expr j)>
              body) {
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&region);
  SmallVector<Expr> elements;
  auto add = [&](Type type) {
    elements.push_back(b(block->addArgument(type, b.getLoc())));
  };
  for (Value operand : operands) {
    Type type = operand.getType();
    auto tile = dyn_cast<TileType>(type);
    add(tile ? tile.getElementType() : getElementTypeOrSelf(type));
  }
  add(b.getIndexType());
  add(b.getIndexType());
  Expr j = elements.pop_back_val(), i = elements.pop_back_val();
  GroupYieldOp::create(b, body(elements, i, j));
}

Value KernelBuilder::map(Type result, ValueRange operands, Body body) {
  Values given = llvm::filter_to_vector<4>(
      operands, [](Value operand) { return operand != nullptr; });
  auto op = GroupMapOp::create(*this, result, given);
  Type element = cast<TileType>(result).getElementType();
  writeBody(*this, op.getBody(), given,
            [&](Elements x, Expr i, Expr j) -> Values {
              auto next = x.begin();
              auto all = llvm::map_to_vector(operands, [&](Value operand) {
                return operand ? *next++ : Expr();
              });
              Expr made = body(all, i, j).in(*this, element);
              return {made.getType() == element
                          ? Value(made)
                          : Value(compute<arith::TruncFOp>(element, made))};
            });
  return op;
}

Value KernelBuilder::combine(Combine combine, Value x, Value y) {
  return map(x.getType(), {x, y}, [&](Elements pair, Expr, Expr) {
    return combine == Combine::add ? pair[0] + pair[1] : max(pair[0], pair[1]);
  });
}

Value KernelBuilder::combineRows(Combine how, Value column, Value terms) {
  auto type = cast<TileType>(column.getType());
  return combine(how, column, reduce(how, terms, type.getDistribution()));
}

Value KernelBuilder::fill(Type result, double value) {
  Expr constant = number(value);
  return map(result, {}, [&](Elements, Expr, Expr) { return constant; });
}

Value KernelBuilder::exchange(Value tile) {
  return GroupExchangeOp::create(*this, tile);
}

Value KernelBuilder::half(Value tile, bool isSecond) {
  auto type = cast<TileType>(tile.getType());
  return GroupHalfOp::create(*this,
                             type.with({type.rows(), type.columns() / 2},
                                       type.getElementType(),
                                       type.getDistribution()),
                             tile, isSecond);
}

Value KernelBuilder::slots(std::array<int64_t, 3> shape, Type element) {
  return GroupAllocOp::create(*this,
                              SlotsType::get(getContext(), shape, element));
}

Value KernelBuilder::reduce(Combine combine, Value tile,
                            TileDistribution lanes) {
  auto type = cast<TileType>(tile.getType());
  return GroupReduceOp::create(
      *this, type.with({type.rows(), 1}, type.getElementType(), lanes), combine,
      tile);
}

Value KernelBuilder::load(Type tile, Value matrix, Expr row, Expr column,
                          bool rowsInside, bool columnsInside) {
  return GroupLoadOp::create(*this, tile, matrix,
                             ValueRange{row.in(*this), column.in(*this)},
                             {rowsInside, columnsInside});
}

void KernelBuilder::store(Value tile, Value matrix, Expr row, Expr column,
                          bool rowsInside, bool columnsInside) {
  GroupStoreOp::create(*this, tile, matrix, row.in(*this), column.in(*this),
                       {rowsInside, columnsInside});
}

void KernelBuilder::storeRounded(Value tile, Value matrix, Expr row,
                                 Expr column, bool rowsInside,
                                 bool columnsInside) {
  Type element = cast<MemRefType>(matrix.getType()).getElementType();
  auto type = cast<TileType>(tile.getType());
  if (type.getElementType() != element) {
    tile = map(type.with(type.getShape(), element, type.getDistribution()),
               tile, [](Elements x, Expr, Expr) { return x[0]; });
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
                            llvm::function_ref<Cell(Expr, Expr)> place) {
  return gather(tile, matrix, ValueRange(),
                [&](Elements, Expr i, Expr j) { return place(i, j); });
}

Value KernelBuilder::gather(
    Type tile, Value matrix, ValueRange operands,
    llvm::function_ref<Cell(Elements, Expr, Expr)> place,
    std::array<bool, 2> inBounds) {
  return gather(
      GroupGatherOp::create(*this, tile, matrix, Value(), operands, inBounds),
      place);
}

Value KernelBuilder::gatherOfBox(Type tile, Value slots, Expr slot,
                                 llvm::function_ref<Cell(Expr, Expr)> place,
                                 bool columnsInside) {
  return gather(GroupGatherOp::create(*this, tile, slots, slot.in(*this),
                                      ValueRange(), {true, columnsInside}),
                [&](Elements, Expr i, Expr j) { return place(i, j); });
}

Value KernelBuilder::gather(
    GroupGatherOp op, llvm::function_ref<Cell(Elements, Expr, Expr)> place) {
  writeBody(*this, op.getBody(), op.getBy(),
            [&](Elements x, Expr i, Expr j) -> Values {
              auto [row, column] = place(x, i, j);
              return {row.in(*this), column.in(*this)};
            });
  return op;
}

Value KernelBuilder::copy(Value matrix, Expr row, Expr column, Value slots,
                          Expr slot, bool rowsInside, bool columnsInside,
                          const RowMap &sourceRow) {
  auto op = GroupCopyOp::create(*this, CopyTokenType::get(getContext()), matrix,
                                row.in(*this), column.in(*this), slots,
                                slot.in(*this), {rowsInside, columnsInside});
  if (sourceRow) {
    OpBuilder::InsertionGuard guard(*this);
    Block *block = createBlock(&op.getRows());
    Value counter = block->addArgument(getIndexType(), getLoc());
    GroupYieldOp::create(*this, Value(sourceRow((*this)(counter)).in(*this)));
  }
  return op;
}

KernelBuilder::Values KernelBuilder::loop(Expr from, Expr to, ValueRange inits,
                                          Turn body) {
  auto loop =
      scf::ForOp::create(*this, from.in(*this), to.in(*this), index(1), inits);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Values next = body((*this)(loop.getInductionVar()), loop.getRegionIterArgs());
  // A loop that carries nothing has its yield already.
  if (!inits.empty()) {
    scf::YieldOp::create(*this, next);
  }
  return Values(loop.getResults());
}

} // namespace hova
