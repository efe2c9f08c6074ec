//===- ThreadSums.cpp - Sums of rows that groups pass on ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The columns of a sum lie in a few lanes beside each other: in all that share
// a row of a product, or in those whose runs they are. Each adds what it has,
// and they exchange the rest.

#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hova {

Value ThreadEmitter::addLanes(Value x, int64_t lanes) {
  for (int64_t distance = lanes / 2; distance; distance /= 2) {
    x = arith::AddFOp::create(b, x, shuffle(x, distance));
  }
  return x;
}

LogicalResult ThreadEmitter::emitStoreSums(StoreSumsOp op) {
  TileType tile = op.getTile().getType();
  FailureOr<Matrix> target = matrix(op, op.getTarget());
  if (failed(target)) {
    return failure();
  }
  Fragment held = fragment(tile);
  int64_t width = op.getWidth();
  bool isRow = tile.getDistribution() == TileDistribution::row;
  int64_t lanes = isRow ? kLanes : kLanesOfRow, atOnce = lanes * held.run;
  int64_t sharing = std::min(lanes, width / held.run);
  size_t inLane = held.run * std::max<int64_t>(1, width / atOnce);
  Value isFirst = below(rem(lane, sharing), 1);
  Value row = add(word(op.getRow()), held.row);
  Value column = add(word(op.getColumn()), div(held.column, width));
  Value base = offset(target->base, add(mul(row, target->rowBytes),
                                        mul(column, target->elementBytes)));
  ArrayRef<Value> elements = parts[op.getTile()];
  for (int64_t r : held.rows) {
    for (size_t c = 0; c < held.columns.size(); c += inLane) {
      Value sum = elements.front();
      for (Value element : elements.take_front(inLane).drop_front()) {
        sum = arith::AddFOp::create(b, sum, element);
      }
      elements = elements.drop_front(inLane);
      sum = addLanes(sum, sharing);
      int64_t place = held.columns[c] / width;
      Value there = inside(*target, op.getInBounds(), add(row, i32(r)),
                           add(column, i32(place)));
      there = there ? b.createOrFold<arith::AndIOp>(isFirst, there) : isFirst;
      OpBuilder::InsertionGuard guard(b);
      auto choice = scf::IfOp::create(b, there);
      b.setInsertionPointToStart(choice.thenBlock());
      LLVM::StoreOp::create(
          b, sum,
          offset(base, r * target->rowBytes + place * target->elementBytes),
          target->elementBytes);
    }
  }
  syncWarp();
  return success();
}

/// Lanes that share a row take runs of it in turns.
LogicalResult ThreadEmitter::emitLoadSums(LoadSumsOp op) {
  TileType tile = op.getTile().getType();
  FailureOr<Matrix> source = matrix(op, op.getSource());
  if (failed(source)) {
    return failure();
  }
  Value zero = arith::ConstantIndexOp::create(b, 0);
  int64_t run = widthOf(op.getSource(), op.getRow(), zero, tile.rows(),
                        /*columnsInside=*/false, /*most=*/4);
  bool isRow = tile.getDistribution() == TileDistribution::row;
  int64_t lanes = isRow ? kLanes : kLanesOfRow;
  Fragment held = fragment(tile);
  Value row = add(word(op.getRow()), held.row);
  Value column = mul(rem(lane, lanes), run);
  Value base = offset(source->base, add(mul(row, source->rowBytes),
                                        mul(column, source->elementBytes)));
  Values sums;
  for (int64_t r : held.rows) {
    Value sum;
    for (int64_t c = 0; c < source->columns; c += lanes * run) {
      bool isWhole = c + lanes * run <= source->columns;
      Value there = inside(*source, {op.getInBounds(), isWhole},
                           add(row, i32(r)), add(column, i32(c)));
      Value from =
          offset(base, r * source->rowBytes + c * source->elementBytes);
      for (Value element : loadRun(*source, tile, from, there, run)) {
        sum = sum ? Value(arith::AddFOp::create(b, sum, element)) : element;
      }
    }
    sums.push_back(addLanes(sum, lanes));
  }
  parts[op.getTile()] = sums;
  return success();
}

} // namespace hova
