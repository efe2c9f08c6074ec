//===- NormKernel.cpp - Normalised rows -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A warp holds its row, so that the mean is there before the squares are
// summed.

#include "codegen/cuda/recipes/CudaKernels.h"

using namespace mlir;

namespace hova {

using Elements = KernelBuilder::Elements;

Value emitNormFactors(KernelBuilder &b, Value total, const RowNorm &norm) {
  double share = 1.0 / norm.columns;
  return b.map(total.getType(), total, [&](Elements e, Expr, Expr) {
    if (norm.kind == NormKind::l2) {
      Expr eps = b.number(norm.eps);
      return 1.0 / b.compute<arith::MaximumFOp>(sqrt(e[0]), eps);
    }
    return b.compute<math::RsqrtOp>(fma(e[0], share, norm.eps));
  });
}

Value emitCentered(KernelBuilder &b, Value x, int64_t columns,
                   llvm::function_ref<Expr(Expr)> isThere) {
  auto type = cast<TileType>(x.getType());
  double share = 1.0 / columns;
  Value sum = b.reduce(Combine::add, x, type.getDistribution());
  // After the row there is nothing, not even a distance from the mean.
  return b.map(type, {x, sum}, [&](Elements e, Expr, Expr j) {
    return select(isThere(j), e[0] - e[1] * share, 0);
  });
}

Value emitNormalised(KernelBuilder &b, Value x, const RowNorm &norm,
                     llvm::function_ref<Expr(Expr)> counts) {
  auto type = cast<TileType>(x.getType());
  bool isWhole = !counts && norm.columns == type.columns();
  auto isThere = [&](Expr j) {
    return isWhole ? Expr() : counts ? counts(j) : j < norm.columns;
  };
  Value apart = x;
  if (counts) {
    apart = b.map(type, x, [&](Elements e, Expr, Expr j) {
      return select(isThere(j), e[0], 0);
    });
  }
  if (norm.kind == NormKind::standard) {
    apart = emitCentered(b, apart, norm.columns, isThere);
  }
  Value squares =
      b.map(type, apart, [](Elements e, Expr, Expr) { return e[0] * e[0]; });
  Value total = b.reduce(Combine::add, squares, type.getDistribution());
  return b.map(type, {apart, emitNormFactors(b, total, norm)},
               [](Elements e, Expr, Expr) { return e[0] * e[1]; });
}

} // namespace hova
