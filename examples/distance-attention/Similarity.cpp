//===- Similarity.cpp - Minus the distance of query and key ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The term of a column, twice: as operations, which kernels of every target are
// made of, and as a number, which they are verified against.

#include "Similarity.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace distattn;

#include "distattnDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "distattnAttrs.cpp.inc"

void DistAttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "distattnAttrs.cpp.inc"
      >();
}

Value LaplaceAttr::addTerm(ImplicitLocOpBuilder &builder, Value query,
                           Value key, Value, Value sum) const {
  Value difference = arith::SubFOp::create(builder, query, key);
  return arith::SubFOp::create(builder, sum,
                               math::AbsFOp::create(builder, difference));
}

double LaplaceAttr::evaluateTerm(double query, double key, double) const {
  return -std::fabs(query - key);
}

bool WeightedAttr::hasVector() const { return true; }

Value WeightedAttr::addTerm(ImplicitLocOpBuilder &builder, Value query,
                            Value key, Value weight, Value sum) const {
  Value difference = arith::SubFOp::create(builder, query, key);
  Value distance = math::AbsFOp::create(builder, difference);
  return arith::SubFOp::create(
      builder, sum, arith::MulFOp::create(builder, weight, distance));
}

double WeightedAttr::evaluateTerm(double query, double key,
                                  double weight) const {
  return -weight * std::fabs(query - key);
}
