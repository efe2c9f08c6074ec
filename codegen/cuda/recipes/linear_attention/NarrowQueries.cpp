//===- NarrowQueries.cpp - Queries of narrow sums over keys, on a GPU -----===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/linear_attention/NarrowQueries.h"
#include <cmath>

using namespace mlir;

namespace hova {

NarrowQueryWriter::NarrowQueryWriter(GroupEmitter &e, SummaryAttentionOp op)
    : NarrowWriter(e, op, shapeOf(op.getQuery())[2] / op.getHeads(),
                   shapeOf(op.getSummary())[4] - 1),
      op(op), tokens(shapeOf(op.getQuery())[1]),
      turns(llvm::divideCeil(count, step)) {
  ArrayRef<int64_t> shape = shapeOf(op.getSummary());
  row = e.block(0) * chosen.getRows();
  Expr head = e.block(2) * shape[1] + e.block(1) / op.getGroup();
  Expr slot = head * shape[2];
  if (op.getMerged()) {
    slot = slot + e.block(0);
  }
  sums = e.view(e.matrix(op.getSummary()), slot * rows, rows, 0, shape[4]);
  queries = rowBoxes();
  if (weight) {
    projections = b.slots({1, step, keyColumns}, element);
  }
  means = b.slots({1, step, chosen.getColumns()}, element);
  // Of causal queries eps is relative to another maximum than the sums.
  if (hasMaximum() && eps != 0 && !op.getKey()) {
    auto plain = [&](int64_t column, int64_t columns, int64_t width) {
      return b.load(tileOf(1, columns, TileDistribution::row),
                    e.view(sums, 0, rows, column, width), count, 0, true,
                    columns == width);
    };
    plainValues = plain(0, chosen.getColumns(), valueWidth);
    plainOnes = plain(valueWidth, 1, 1);
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value NarrowQueryWriter::rowBoxes() {
  return weight ? b.slots({1, chosen.getRows(), keyColumns}, element)
                : b.slots({turns, chosen.getRows(), step}, element);
}

NarrowQueryWriter::Values NarrowQueryWriter::copyRows(Value matrix,
                                                      Value boxes) {
  auto box = cast<SlotsType>(boxes.getType());
  Values copies;
  for (int64_t slot = 0; slot < box.count(); ++slot) {
    copies.push_back(b.copy(matrix, row, slot * box.columns(), boxes, slot,
                            rowsInside(),
                            keyWidth == box.count() * box.columns()));
  }
  return copies;
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
// Turns
//===----------------------------------------------------------------------===//

NarrowQueryWriter::Values NarrowQueryWriter::bring(Expr turn, Brings what) {
  Values brought;
  Expr first = turn * step;
  bool inside = count % step == 0;
  if (weight) {
    brought.push_back(b.load(boxTile(keyColumns), weight, first, 0, inside,
                             keyWidth == keyColumns));
  }
  if (what != Brings::projections) {
    brought.push_back(b.load(boxTile(1), e.view(sums, 0, count, valueWidth, 1),
                             first, 0, inside, true));
  }
  if (what == Brings::all) {
    brought.push_back(b.load(boxTile(chosen.getColumns()),
                             e.view(sums, 0, count, 0, valueWidth), first, 0,
                             inside, valueWidth == chosen.getColumns()));
  }
  return brought;
}

/// A sum is multiplied with a power of two first, which keeps it and its
/// reciprocal away from the ends of f32. Where it is 0 so is what it divides.
Value NarrowQueryWriter::shareOut(Value sums, Value ones, Value added) {
  constexpr double kLarger = 0x1p40, kSmaller = 0x1p-16, kLeast = 0x1p-110;
  Value near = b.map(ones.getType(), ones, [](Elements x, Expr, Expr) {
    return select(x[0] < 1, kLarger, Expr(kSmaller));
  });
  Value inverse =
      b.map(ones.getType(), {ones, near}, [&](Elements x, Expr, Expr) {
        Expr one = 1 / max(x[0] * x[1], kLeast);
        Value(one).getDefiningOp<arith::DivFOp>().setFastmath(
            arith::FastMathFlags::arcp);
        return one;
      });
  return b.map(sums.getType(), {sums, near, inverse, plainValues, added},
               [&](Elements x, Expr, Expr) {
                 Expr sum = x[3] ? fma(x[3], x[4], x[0]) : x[0];
                 return sum * x[1] * x[2];
               });
}

Value NarrowQueryWriter::give(ValueRange brought, Expr turn, Brings what) {
  GroupWaitOp::create(b, ValueRange());
  if (weight) {
    GroupShareOp::create(b, narrow(brought.front()), projections, b.index(0));
    brought = brought.drop_front();
  }
  if (what == Brings::projections) {
    return {};
  }
  Value ones = brought[0], added;
  if (plainOnes) {
    // Not to what a turn has after the last feature, whose sums stay 0.
    added = b.map(ones.getType(), {}, [&](Elements, Expr i, Expr) {
      return count % step == 0
                 ? b.number(eps)
                 : select(turn * step + i < count, eps, Expr(0.0));
    });
    ones = b.map(ones.getType(), {ones, plainOnes, added},
                 [&](Elements x, Expr, Expr) { return fma(x[1], x[2], x[0]); });
  }
  if (what == Brings::all) {
    GroupShareOp::create(b, narrow(shareOut(brought[1], ones, added)), means,
                         b.index(0));
  }
  return GroupTransposeOp::create(b, rowTile(step), ones);
}

NarrowQueryWriter::Values NarrowQueryWriter::takeFeatures(Brings what,
                                                          ValueRange state,
                                                          TakeFeatures take) {
  Values carried = bring(b.index(0), what);
  size_t ahead = carried.size();
  llvm::append_range(carried, state);
  if (turns > 1) {
    carried =
        b.loop(turns - 1, carried, [&](Expr turn, ValueRange in) -> Values {
          Value ones = give(in.take_front(ahead), turn, what);
          Values next = bring(turn + 1, what);
          llvm::append_range(next, take(turn, ones, in.drop_front(ahead)));
          return next;
        });
  }
  Expr last = b.index(turns - 1);
  ValueRange in(carried);
  Value ones = give(in.take_front(ahead), last, what);
  Values made = take(last, ones, in.drop_front(ahead));
  GroupWaitOp::create(b, ValueRange());
  return made;
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

Value NarrowQueryWriter::featuresOf(Value products, Value shift) {
  return b.map(
      products.getType(), {products, shift}, [&](Elements x, Expr, Expr) {
        return x[1] ? b.power(fma(x[0], factor(), x[1])) : rectify(x[0]);
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

void NarrowQueryWriter::divideAndStore(Value result, Value denominator,
                                       Value scale) {
  double stabilizer = op.getStabilizer().convertToDouble();
  double constant = op.getDenominatorEps().convertToDouble();
  double share = 1.0 / featureNormalizer(map, count);
  // Exponentials of exp are relative to a maximum that it does not have.
  bool isRelative = map == FeatureMap::exp;
  Value whole =
      b.map(denominator.getType(), {denominator, most, half, scale},
            [&](Elements x, Expr, Expr) {
              Expr part = x[0] * share;
              Expr factor;
              if (isRelative && (stabilizer != 0 || constant != 0)) {
                factor = b.power(x[2] - x[1] + shift());
              }
              if (x[3]) {
                factor = factor ? factor * x[3] : x[3];
              }
              auto relative = [&](double number) {
                return factor ? number * factor : Expr(number);
              };
              if (stabilizer != 0) {
                Expr isSmall = abs(part) <= relative(stabilizer);
                part = part + select(isSmall, relative(2 * stabilizer), 0.0);
              }
              return constant != 0 ? part + relative(constant) : part;
            });
  Value divided =
      b.map(result.getType(), {result, whole}, [&](Elements x, Expr, Expr) {
        return select(x[1] == 0, 0, x[0] * share / x[1]);
      });
  Value to = e.headOf(op.getResult(), op.getHeads());
  b.storeRounded(divided, to, row, 0, rowsInside(),
                 valueWidth == chosen.getColumns());
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
            b.map(tile(step), {features, ones}, [&](Elements x, Expr, Expr) {
              return eps != 0 ? fma(x[0], x[1], x[1] * eps) : x[0] * x[1];
            });
        return addMeans(weights, before);
      });
  divideAndStore(made[0], made[1], scale);
}

} // namespace hova
