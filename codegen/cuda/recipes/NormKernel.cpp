//===- NormKernel.cpp - Layer norm along rows -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A warp holds its row, so that the mean is there before the squares are
// summed.

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace hova {

func::FuncOp buildNormKernel(ModuleOp module, StringRef name,
                             const NormKernel &own) {
  MLIRContext *context = module.getContext();
  Builder types(context);
  auto matrix = [&](int64_t rows, Type element) {
    return MemRefType::get({rows, own.columns}, element);
  };
  KernelBuilder b(module, name,
                  {matrix(own.rows, types.getBF16Type()),
                   matrix(1, types.getF32Type()), matrix(1, types.getF32Type()),
                   matrix(own.rows, types.getBF16Type())},
                  1);
  auto tile = [&](int64_t rows, Type element) {
    return TileType::get(context, {rows, own.columns}, element, TileLanes::row,
                         own.warps, 1);
  };
  bool inside = own.rows % own.warps == 0;
  Value row = b.mulIndex(b.argument(4), own.warps), first = b.index(0);
  Value x = b.load(tile(own.warps, b.bf16()), b.argument(0), row, first, inside,
                   true);
  Value gain =
      b.load(tile(1, b.f32()), b.argument(1), first, first, true, true);
  Value bias =
      b.load(tile(1, b.f32()), b.argument(2), first, first, true, true);
  Value wide = b.map(tile(own.warps, b.f32()), x,
                     [&](ValueRange e, Value, Value) -> Value {
                       return arith::ExtFOp::create(b, b.f32(), e[0]);
                     });
  Value sum = b.reduce(Combine::add, wide, TileLanes::row);
  Value part = b.number(1.0 / own.columns);
  Value apart =
      b.map(wide.getType(), {wide, sum}, [&](ValueRange e, Value, Value) {
        Value mean = b.mul(e[1], part);
        return Value(arith::SubFOp::create(b, e[0], mean));
      });
  Value squares = b.map(wide.getType(), apart, [&](ValueRange e, Value, Value) {
    return b.mul(e[0], e[0]);
  });
  Value total = b.reduce(Combine::add, squares, TileLanes::row);
  Value factor =
      b.map(total.getType(), total, [&](ValueRange e, Value, Value) -> Value {
        Value variance = b.fma(e[0], part, b.number(own.eps));
        return math::RsqrtOp::create(b, variance);
      });
  Value result = b.map(tile(own.warps, b.bf16()), {apart, factor, gain, bias},
                       [&](ValueRange e, Value, Value) {
                         return b.fma(b.mul(e[0], e[1]), e[2], e[3]);
                       });
  b.store(result, b.argument(3), row, first, inside, true);
  return b.finish();
}

} // namespace hova
