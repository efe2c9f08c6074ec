//===- NormKernel.cpp - Normalised rows -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A warp holds its row, so that the mean is there before the squares are
// summed.

#include "codegen/cuda/recipes/CudaKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace hova {

Value emitNormalised(KernelBuilder &b, Value x, int64_t columns, double eps) {
  auto type = cast<TileType>(x.getType());
  Value sum = b.reduce(Combine::add, x, type.getDistribution());
  Value part = b.number(1.0 / columns);
  bool whole = columns == type.columns();
  Value width = whole ? Value() : b.index(columns);
  // After the row there is nothing, not even a distance from the mean.
  Value apart =
      b.map(type, {x, sum}, [&](ValueRange e, Value, Value j) -> Value {
        Value mean = b.mul(e[1], part);
        Value distance = arith::SubFOp::create(b, e[0], mean);
        if (whole) {
          return distance;
        }
        Value there =
            arith::CmpIOp::create(b, arith::CmpIPredicate::ult, j, width);
        return arith::SelectOp::create(b, there, distance, b.number(0));
      });
  Value squares = b.map(type, apart, [&](ValueRange e, Value, Value) {
    return b.mul(e[0], e[0]);
  });
  Value total = b.reduce(Combine::add, squares, type.getDistribution());
  Value factor =
      b.map(total.getType(), total, [&](ValueRange e, Value, Value) -> Value {
        Value variance = b.fma(e[0], part, b.number(eps));
        return math::RsqrtOp::create(b, variance);
      });
  return b.map(type, {apart, factor},
               [&](ValueRange e, Value, Value) { return b.mul(e[0], e[1]); });
}

} // namespace hova
