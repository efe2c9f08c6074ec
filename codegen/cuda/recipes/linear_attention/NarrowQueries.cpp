//===- NarrowQueries.cpp - Queries of narrow sums over keys, on a GPU -----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/linear_attention/NarrowQueries.h"

using namespace mlir;

namespace hova {

NarrowQueryWriter::NarrowQueryWriter(GroupEmitter &e, SummaryAttentionOp op)
    : NarrowTurns(e, op), queries(rowBoxes()) {}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value NarrowQueryWriter::rowBoxes() {
  return weight ? b.slots({1, chosen.getRows(), keyColumns}, element)
                : b.slots({turns, chosen.getRows(), step}, element);
}

Value NarrowQueryWriter::multiply(Value boxes, Expr turn) {
  TileType type = tile(step);
  if (weight) {
    return GroupProductOp::create(b, boxes, projections, b.index(0),
                                  b.fill(type, 0), b.index(0), true);
  }
  TileType stored = type.with(type.getShape(), element, type.getDistribution());
  Value features =
      GroupLoadOp::create(b, stored, boxes, Value(turn.in(b)), {false, false});
  return b.map(type, features,
               [&](Elements x, Expr, Expr) { return widen(b, x[0]); });
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

NarrowQueryWriter::Maxima NarrowQueryWriter::findMaxima(Value boxes) {
  bool isReached = isScaled() && boxes == queries;
  Value none = b.fill(tile(1, TileDistribution::partial),
                      hasExponentials() ? kNoKeyMaximum : 0);
  Values state{none};
  if (isReached) {
    state.push_back(none);
    state.push_back(
        b.fill(tileOf(1, 1, TileDistribution::product), 0)); // largest sum
  }
  auto take = [&](Expr turn, Value ones, ValueRange before) -> Values {
    Value sizes =
        b.map(tile(step), multiply(boxes, turn), [&](Elements x, Expr, Expr j) {
          Expr size = !hasExponentials() ? rectify(x[0]) + eps
                      : isReached        ? x[0] * factor()
                                         : beforeMaximum(x[0]);
          return count % step == 0
                     ? size
                     : select(isFeature(turn, j), size, kNoKeyMaximum);
        });
    Values next{b.combineRows(Combine::max, before[0], sizes)};
    if (isReached) {
      Value line = ones;
      if (hasExponentials()) {
        line = b.map(ones.getType(), ones, [&](Elements x, Expr, Expr) {
          return b.compute<math::Log2Op>(x[0]);
        });
      }
      Value reach =
          b.map(tile(step), {sizes, line}, [&](Elements x, Expr, Expr) {
            return hasExponentials() ? x[0] + x[1] : x[0] * x[1];
          });
      next.push_back(b.combineRows(Combine::max, before[1], reach));
      Value largest = b.reduce(Combine::max, ones, TileDistribution::product);
      next.push_back(b.combine(Combine::max, before[2], largest));
    }
    return next;
  };
  Values found =
      takeFeatures(isReached ? Brings::sums : Brings::projections, state, take);
  auto whole = [&](Value column) {
    return b.reduce(Combine::max, column, TileDistribution::product);
  };
  if (!isReached) {
    return {afterMaximum(whole(found[0])), Value()};
  }
  largestOne = found[2];
  return {whole(found[0]), whole(found[1])};
}

/// The largest weight is a feature times the sum of its keys' features, and at
/// most eps more.
void NarrowQueryWriter::findQueryMaxima() {
  if (!hasExponentials() && !isScaled()) {
    return;
  }
  Maxima found = findMaxima(queries);
  most = hasExponentials() ? found.most : Value();
  if (!isScaled()) {
    return;
  }
  Value norm = hasMaximum() ? half : Value();
  size = b.map(found.reach.getType(), {found.reach, most, norm, largestOne},
               [&](Elements x, Expr, Expr) {
                 Expr largest = x[0];
                 if (hasExponentials()) {
                   Expr exponent = x[0] - x[1];
                   largest = b.power(x[2] ? exponent - x[2] : exponent);
                   largest = eps != 0 ? fma(x[3], eps, largest) : largest;
                 }
                 return max(largest, 0x1p-126);
               });
  scale = b.map(size.getType(), size,
                [](Elements x, Expr, Expr) { return 1 / x[0]; });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value NarrowQueryWriter::shiftOf(Value most, Value half) {
  if (!hasExponentials()) {
    return {};
  }
  return b.map(most.getType(), {most, half}, [&](Elements x, Expr, Expr) {
    return x[1] ? -(x[0] + x[1]) : -x[0];
  });
}

/// Of exp the largest exponent is exactly 0: the product is rounded as its
/// maximum was, which may be large. Of softmax half the norm is far larger
/// then.
Value NarrowQueryWriter::featuresOf(Value products, Value shift) {
  return b.map(products.getType(), {products, shift},
               [&](Elements x, Expr, Expr) {
                 if (!hasExponentials()) {
                   return rectify(x[0]);
                 }
                 return b.power(hasMaximum() ? fma(x[0], factor(), x[1])
                                             : x[0] * factor() + x[1]);
               });
}

NarrowQueryWriter::Values NarrowQueryWriter::startSums() {
  return {b.fill(tile(chosen.getColumns()), 0), b.fill(tile(1), 0)};
}

NarrowQueryWriter::Values NarrowQueryWriter::addMeans(Value weights,
                                                      ValueRange before) {
  if (scale) {
    weights = b.map(weights.getType(), {weights, scale},
                    [](Elements x, Expr, Expr) { return x[0] * x[1]; });
  }
  weights = narrow(weights);
  Value result = GroupProductOp::create(b, weights, means, b.index(0),
                                        before[0], Value(), false);
  return {result, addSums(before[1], weights)};
}

void NarrowQueryWriter::write() {
  Values copies = copyRows(e.headOf(op.getQuery(), op.getHeads()), queries);
  GroupWaitOp::create(b, copies);
  if (hasExponentials()) {
    half = halfNormsOfBox(queries, 0);
  }
  findQueryMaxima();
  Value shift = shiftOf(most, hasMaximum() ? half : Value());
  Values made = takeFeatures(
      Brings::all, startSums(), [&](Expr turn, Value ones, ValueRange before) {
        Value features = featuresOf(multiply(queries, turn), shift);
        Value weights =
            b.map(tile(step), {features, ones}, [&](Elements x, Expr, Expr j) {
              Expr weight =
                  eps != 0 ? fma(x[0], x[1], x[1] * eps) : x[0] * x[1];
              // After the last feature exponents may be far above the maximum,
              // and infinity times a sum of 0 is no number.
              return count % step == 0 ? weight
                                       : select(isFeature(turn, j), weight, 0);
            });
        return addMeans(weights, before);
      });
  divideAndStore(op, row, {made[0], made[1], Value()}, most, half, scale);
}

} // namespace hova
