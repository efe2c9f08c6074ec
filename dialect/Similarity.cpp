//===- Similarity.cpp - What makes raw scores of queries and keys ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Similarity.h"
#include "dialect/HovaDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

#include "dialect/SimilarityInterface.cpp.inc"

namespace hova {

bool DotAttr::isProduct() const { return true; }

Value DotAttr::addTerm(ImplicitLocOpBuilder &builder, Value query, Value key,
                       Value, Value sum) const {
  return math::FmaOp::create(builder, query, key, sum);
}

bool AdditiveAttr::hasVector() const { return true; }

Value AdditiveAttr::addTerm(ImplicitLocOpBuilder &builder, Value query,
                            Value key, Value weight, Value sum) const {
  Value shifted = arith::AddFOp::create(builder, query, key);
  return math::FmaOp::create(builder, weight,
                             math::TanhOp::create(builder, shifted), sum);
}

} // namespace hova
