//===- NormKernel.cpp - Normalised rows -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A warp holds its row, so that the mean is there before the squares are
// summed.

#include "codegen/cuda/recipes/CudaKernels.h"

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;

Value emitNormalised(KernelBuilder &b, Value x, int64_t columns, double eps) {
  auto type = cast<TileType>(x.getType());
  double share = 1.0 / columns;
  Value sum = b.reduce(Combine::add, x, type.getDistribution());
  // After the row there is nothing, not even a distance from the mean.
  Value apart = b.map(type, {x, sum}, [&](Elements e, Expr, Expr j) {
    Expr there = columns == type.columns() ? Expr() : j < columns;
    return select(there, e[0] - e[1] * share, 0);
  });
  Value squares =
      b.map(type, apart, [](Elements e, Expr, Expr) { return e[0] * e[0]; });
  Value total = b.reduce(Combine::add, squares, type.getDistribution());
  Value factor = b.map(total.getType(), total, [&](Elements e, Expr, Expr) {
    return b.compute<math::RsqrtOp>(fma(e[0], share, eps));
  });
  return b.map(type, {apart, factor},
               [](Elements e, Expr, Expr) { return e[0] * e[1]; });
}

} // namespace hova
