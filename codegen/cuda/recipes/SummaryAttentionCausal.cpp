//===- SummaryAttentionCausal.cpp - Queries of the keys so far, on a GPU --===//
// SPDX-License-Identifier: Apache-2.0
//
// A block of threads has a block of tokens, its queries and its keys alike. A
// turn takes the features of both, and multiplies those of the queries with the
// sums over the keys before the block, and with those of the block's keys:
// these products are scores, of which each query reads those up to its token.
//
// Softmax features are relative to the maximum of the keys up to the query,
// which grows along the block. Those of key j are made relative to the maximum
// up to j, so that none leaves f32, and a score of query i is multiplied by two
// to the power of the difference, which is 1 at most.

#include "codegen/cuda/recipes/SummaryAttentionWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace hova {

CausalSummaryWriter::CausalSummaryWriter(GroupEmitter &e, SummaryAttentionOp op)
    : SummaryAttentionWriter(e, op) {
  keys =
      rowsOf(e.headOf(op.getKey(), shapeOf(op.getSummary())[1], op.getGroup()));
  keyFeatures = slots(1, own.getRows(), kSumsStep);
}

//===----------------------------------------------------------------------===//
// Which keys count
//===----------------------------------------------------------------------===//

Value CausalSummaryWriter::validKeys(TileType type) {
  if (!op.getKeyValid()) {
    return {};
  }
  Value from = e.matrix(op.getKeyValid());
  Type ints =
      type.with(type.getShape(), b.getI32Type(), type.getDistribution());
  return b.gather(ints, from, [&](Value i, Value j) {
    return std::pair(e.block(2), b.sum(row, type.rows() == 1 ? j : i));
  });
}

Value CausalSummaryWriter::counts(Value k, Value valid) {
  Value there = b.isBelow(b.sum(row, k), b.index(shapeOf(op.getQuery())[1]));
  if (!valid) {
    return there;
  }
  Value isValid = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, valid,
                                        arith::ConstantIntOp::create(b, 0, 32));
  return arith::AndIOp::create(b, there, isValid);
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

void CausalSummaryWriter::findKeyMaxima(Value maxima) {
  TileType column = tile(1);
  Value least = b.number(kNoKeyMaximum);
  SmallVector<Value> operands{maxima};
  if (Value valid = validKeys(column)) {
    operands.push_back(valid);
  }
  Value counted = b.map(column, operands, [&](ValueRange t, Value i, Value) {
    return b.choose(counts(i, t.size() > 1 ? t[1] : Value()), t[0], least);
  });
  Value line = GroupTransposeOp::create(b, rowTile(own.getRows()), counted);
  Value upTo =
      b.map(tile(own.getRows()), line, [&](ValueRange t, Value i, Value j) {
        return b.choose(b.isBelow(i, j), least, t[0]);
      });
  Value before = b.gather(column, sums, [&](Value, Value) {
    return std::pair(b.index(count + 1), zero);
  });
  keyMost = b.map(
      column, {b.reduce(Combine::max, upTo, TileDistribution::product), before},
      [&](ValueRange t, Value, Value) -> Value {
        return arith::MaxNumFOp::create(b, t[0], t[1]);
      });
}

Value CausalSummaryWriter::weighKeys(Value products, Value turn) {
  SmallVector<Value> operands{products};
  if (hasExponentials()) {
    operands.push_back(keyHalf);
  }
  if (keyMost) {
    operands.push_back(keyMost);
  }
  Value valid = validKeys(tile(1));
  if (valid) {
    operands.push_back(valid);
  }
  Value all = b.index(count);
  return b.map(tile(kSumsStep), operands, [&](ValueRange t, Value i, Value j) {
    Value own = b.mul(t[0], b.number(factor()));
    if (hasExponentials()) {
      Value far = b.subtract(own, keyMost ? t[2] : b.number(shift()));
      own = power(b.subtract(far, t[1]));
    } else {
      own = b.add(rectified(own), b.number(eps));
    }
    Value there = arith::AndIOp::create(b, b.isBelow(featureOf(turn, j), all),
                                        counts(i, valid ? t.back() : Value()));
    return b.choose(there, own, b.number(0));
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void CausalSummaryWriter::rescale(Sums &all) {
  Value before = b.gather(tile(1), sums, [&](Value, Value) {
    return std::pair(b.index(count + 1), zero);
  });
  for (Value *sum : {&all.result, &all.denominator}) {
    *sum = b.map(sum->getType(), {*sum, before, keyMost},
                 [&](ValueRange t, Value, Value) {
                   return b.mul(t[0], power(b.subtract(t[1], t[2])));
                 });
  }
}

void CausalSummaryWriter::addBlock(Sums &all, Value scores) {
  int64_t columns = own.getColumns();
  Value zeroNumber = b.number(0);
  Value vs = weight && boxColumns(keyWidth) == columns
                 ? keys.box // nobody reads the keys any more
                 : slots(1, own.getRows(), columns);
  Value values =
      e.headOf(op.getValue(), shapeOf(op.getSummary())[1], op.getGroup());
  Value copy =
      b.copy(values, row, zero, vs, zero, rowsInside(), valueWidth == columns);
  TileType line = rowTile(own.getRows());
  SmallVector<Value> operands{scores};
  if (keyMost) {
    operands.append({keyMost, GroupTransposeOp::create(b, line, keyMost)});
  }
  if (all.features) {
    operands.push_back(all.features);
  }
  Value valid = validKeys(line);
  if (valid) {
    operands.push_back(valid);
  }
  Value weights =
      b.map(tile(own.getRows()), operands, [&](ValueRange t, Value i, Value j) {
        Value own = t[0];
        if (keyMost) {
          own = b.mul(own, power(b.subtract(t[2], t[1])));
        }
        if (all.features) {
          own = b.fma(t[3], b.number(eps), own);
        }
        Value isAfter = b.isBelow(i, j);
        return b.choose(
            isAfter, zeroNumber,
            b.choose(counts(j, valid ? t.back() : Value()), own, zeroNumber));
      });
  GroupWaitOp::create(b, copy);
  all.result =
      GroupProductOp::create(b, weights, vs, zero, all.result, Value(), false);
  Value sum = b.reduce(Combine::add, weights, TileDistribution::product);
  all.denominator =
      b.map(sum.getType(), {all.denominator, sum},
            [&](ValueRange t, Value, Value) { return b.add(t[0], t[1]); });
}

void CausalSummaryWriter::write() {
  Values resident = copyRows(queries);
  resident.append(copyRows(keys));
  if (hasExponentials()) {
    GroupWaitOp::create(b, resident);
    resident.clear(); // they are there
    half = halfNormsOf(queries);
    keyHalf = halfNormsOf(keys);
    SmallVector<Rows> of{queries};
    if (hasMaximum()) {
      of.push_back(keys);
    }
    Values maxima = findMaxima(of);
    most = maxima[0];
    if (hasMaximum()) {
      findKeyMaxima(maxima[1]);
    }
  }
  Values start = startSums();
  start.push_back(b.fill(tile(own.getRows()), 0));
  Values state = takeTurns(
      llvm::divideCeil(count, kSumsStep), resident, start,
      [&](Value turn, Value slot) { return copyBoxes(turn, slot, true); },
      [&](Value turn, Value slot, ValueRange before) {
        Value products = multiply(keys, turn, slot);
        GroupShareOp::create(b, weighKeys(products, turn), keyFeatures, zero);
        Value weights = weigh(multiply(queries, turn, slot), turn);
        Values next = addSums(weights, turn, slot, before.drop_back());
        next.push_back(GroupProductOp::create(b, weights, keyFeatures, zero,
                                              before.back(), Value(), true));
        return next;
      });
  Sums made = finishSums(ValueRange(state).drop_back());
  if (keyMost) {
    rescale(made);
  }
  if (made.features) {
    addPlain(made);
  }
  addBlock(made, state.back());
  divideAndStore(made);
}

} // namespace hova
