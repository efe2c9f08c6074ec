//===- ProductKernel.cpp - Products with their epilogue -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The ring of slots holds one part of the inner dimension each. In a turn all
// wait for the oldest part, begin to copy the one that is stages - 1 ahead into
// the slot that was read last, and multiply.

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

namespace {
class ProductWriter {
public:
  ProductWriter(ModuleOp module, StringRef name, const ProductKernel &kernel);
  func::FuncOp write();

private:
  using Values = KernelBuilder::Values;
  TileType tile(int64_t rows, Type element);
  /// Begins to copy part `turn` of both operands; two tokens.
  Values copyPart(Value turn, Value slot);
  Value multiply();
  Value finish(Value sums);

  ProductKernel own;
  MLIRContext *context;
  KernelBuilder b;
  int64_t turns;
  bool rowsInside, columnsInside, innerInside;
  Value row, column, xs, ws;
};
} // namespace

static SmallVector<Type> matricesOf(const ProductKernel &own, Builder b) {
  auto matrix = [](int64_t rows, int64_t columns, Type element) {
    return MemRefType::get({rows, columns}, element);
  };
  SmallVector<Type> types{matrix(own.rows, own.inner, b.getBF16Type()),
                          matrix(own.columns, own.inner, b.getBF16Type())};
  if (own.bias) {
    types.push_back(matrix(1, own.columns, b.getF32Type()));
  }
  types.push_back(matrix(own.rows, own.columns,
                         own.wide ? Type(b.getF32Type()) : b.getBF16Type()));
  return types;
}

ProductWriter::ProductWriter(ModuleOp module, StringRef name,
                             const ProductKernel &kernel)
    : own(kernel), context(module.getContext()),
      b(module, name, matricesOf(own, Builder(context)), 2),
      turns(llvm::divideCeil(own.inner, own.step)),
      rowsInside(own.rows % own.blockRows == 0),
      columnsInside(own.columns % own.blockColumns == 0),
      innerInside(own.inner % own.step == 0) {}

TileType ProductWriter::tile(int64_t rows, Type element) {
  return TileType::get(context, {rows, own.blockColumns}, element,
                       TileLanes::product, own.rowWarps, own.columnWarps);
}

ProductWriter::Values ProductWriter::copyPart(Value turn, Value slot) {
  // Behind the last part it is copied again: nobody reads that.
  Value k = b.mulIndex(b.atMost(turn, turns - 1), own.step);
  return {
      b.copy(b.argument(0), row, k, xs, slot, rowsInside, innerInside),
      b.copy(b.argument(1), column, k, ws, slot, columnsInside, innerInside)};
}

Value ProductWriter::multiply() {
  auto slots = [&](int64_t rows) {
    return GroupAllocOp::create(
        b, SlotsType::get(context, {own.stages, rows, own.step}, b.bf16()));
  };
  xs = slots(own.blockRows);
  ws = slots(own.blockColumns);
  Values carried{b.fill(tile(own.blockRows, b.f32()), 0), b.index(0)};
  for (int64_t stage = 0; stage < own.stages - 1; ++stage) {
    llvm::append_range(carried, copyPart(b.index(stage), b.index(stage)));
  }
  carried = b.loop(turns, carried, [&](Value turn, ValueRange state) -> Values {
    Value slot = state[1];
    GroupWaitOp::create(b, state.slice(2, 2));
    Values copies = copyPart(b.addIndex(turn, own.stages - 1),
                             b.previous(slot, own.stages));
    Value sum = GroupProductOp::create(b, xs, ws, slot, state[0], slot, true);
    Values next{sum, b.next(slot, own.stages)};
    llvm::append_range(next, state.drop_front(4));
    llvm::append_range(next, copies);
    return next;
  });
  GroupWaitOp::create(b, ArrayRef(carried).drop_front(2));
  return carried[0];
}

/// Bias and activation, element by element.
Value ProductWriter::finish(Value sums) {
  Values operands{sums};
  if (own.bias) {
    operands.push_back(b.load(tile(1, b.f32()), b.argument(2), b.index(0),
                              column, true, columnsInside));
  }
  return b.map(tile(own.blockRows, own.wide ? b.f32() : b.bf16()), operands,
               [&](ValueRange elements, Value, Value) {
                 Value x = elements[0];
                 if (own.bias) {
                   x = b.add(x, elements[1]);
                 }
                 if (own.gelu) {
                   Value e = math::ErfOp::create(
                       b, b.mul(x, b.number(0.70710678118654752)));
                   x = b.mul(b.mul(x, b.number(0.5)), b.add(e, b.number(1)));
                 }
                 return x;
               });
}

func::FuncOp ProductWriter::write() {
  int64_t matrices = own.bias ? 4 : 3;
  row = b.mulIndex(b.argument(matrices), own.blockRows);
  column = b.mulIndex(b.argument(matrices + 1), own.blockColumns);
  Value result = finish(multiply());
  b.store(result, b.argument(matrices - 1), row, column, rowsInside,
          columnsInside);
  return b.finish();
}

func::FuncOp buildProductKernel(ModuleOp module, StringRef name,
                                const ProductKernel &kernel) {
  return ProductWriter(module, name, kernel).write();
}

} // namespace hova
