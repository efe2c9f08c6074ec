//===- ThreadGathers.cpp - Elements from anywhere -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/Positions.h"
#include "codegen/cuda/lower/Runs.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;

namespace hova {

/// What a register holds of an integer that was gathered.
Value ThreadEmitter::asRegister(Value x) {
  if (x.getType().isInteger(8)) {
    return arith::ExtUIOp::create(b, b.getI32Type(), x);
  }
  if (!x.getType().isInteger(64)) {
    return x;
  }
  Value low = arith::TruncIOp::create(b, b.getI32Type(), x);
  Value same =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                            arith::ExtSIOp::create(b, x.getType(), low), x);
  return select(same, low, i32(std::numeric_limits<int32_t>::min()));
}

/// How many columns of a gathered tile one access reads, of a run of `most`,
/// where rows of the source begin at multiples of `divisor` bytes.
static int64_t widthOfGather(GroupGatherOp op, int64_t columns,
                             int64_t elementBytes, int64_t divisor,
                             int64_t most) {
  // Bytes and words of 64 bits become registers of 32, one by one.
  bool isWhole = elementBytes == 2 || elementBytes == 4;
  int64_t width = isWhole ? most : 1;
  auto fits = [&] {
    return width * elementBytes <= divisor &&
           (op.getInBounds()[1] || columns % width == 0) &&
           gathersRuns(op, width);
  };
  while (width > 1 && !fits()) {
    width /= 2;
  }
  return width;
}

LogicalResult ThreadEmitter::emitGather(GroupGatherOp op) {
  if (failed(verifyBody(op.getBody().front()))) {
    return failure();
  }
  if (isa<SlotsType>(op.getSource().getType())) {
    return emitBoxGather(op);
  }
  FailureOr<Matrix> source = matrix(op, op.getSource());
  if (failed(source)) {
    return failure();
  }
  int64_t divisor =
      std::min(addressDivisorOf(op.getSource()), divisorOf(source->rowBytes));
  auto load = [&](Value row, Value column, int64_t width) {
    Value address =
        offset(source->base, add(mul(row, source->rowBytes),
                                 mul(column, source->elementBytes)));
    Value there = inside(*source, op.getInBounds(), row, column);
    return loadRun(*source, op.getTile().getType(), address, there, width);
  };
  gatherFrom(op, *source, divisor, load);
  return success();
}

/// What stands beside each other lies in one chunk. Two columns of f32 are read
/// as `loadWords` does.
LogicalResult ThreadEmitter::emitBoxGather(GroupGatherOp op) {
  if (!slotsOf.count(op.getSource())) {
    return op.emitOpError("expects slots of this function");
  }
  const Slots &slots = slotsOf[op.getSource()];
  auto type = cast<SlotsType>(op.getSource().getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  Matrix box{offset(memory, slotStart(slots, op.getSlot())),
             type.rows(),
             op.getSlot() ? type.columns() : type.count() * type.columns(),
             slots.rowBytes,
             bytes,
             type.getElementType()};
  auto load = [&](Value row, Value column, int64_t width) -> Values {
    Value address = offset(box.base, boxByte(slots, row, column, bytes));
    Value there = inside(box, op.getInBounds(), row, column);
    TileType tile = op.getTile().getType();
    if (bytes != 4 || width != 2) {
      return loadRun(box, tile, address, there, width);
    }
    Value odd = mul(rem(row, 2), bytes);
    Value isEven = below(odd, 1);
    auto loadOne = [&](Value byte) {
      return loadRun(box, tile, offset(address, byte), there, 1).front();
    };
    Value x = loadOne(odd);
    Value y = loadOne(arith::SubIOp::create(b, i32(bytes), odd));
    return {select(isEven, x, y), select(isEven, y, x)};
  };
  gatherFrom(op, box, kChunkBytes, load);
  return success();
}

/// Reads each run of elements at its row and column; where all of a run lie at
/// one place, one of them.
void ThreadEmitter::gatherFrom(
    GroupGatherOp op, const Matrix &source, int64_t divisor,
    llvm::function_ref<Values(Value row, Value column, int64_t width)> load) {
  TileType tile = op.getTile().getType();
  Block &body = op.getBody().front();
  Fragment held = fragment(tile);
  int64_t width =
      widthOfGather(op, source.columns, source.elementBytes, divisor, held.run);
  int64_t alike = width == 1 && gathersOne(op, held.run) ? held.run : 1;
  Values elements;
  for (size_t r = 0; r < held.rows.size(); ++r) {
    for (size_t c = 0; c < held.columns.size(); c += width * alike) {
      for (auto [operand, argument] :
           llvm::zip(op.getBy(), body.getArguments())) {
        map.map(argument, this->element(operand, r, c));
      }
      placeBody(body, held, r, c);
      emitBody(body);
      Value row = word(body.getTerminator()->getOperand(0));
      Value column = word(body.getTerminator()->getOperand(1));
      for (Value loaded : load(row, column, width)) {
        elements.append(alike, asRegister(loaded));
      }
    }
  }
  parts[op.getTile()] =
      isPaired(tile) && width == 1 ? joinHalves(elements) : elements;
}

} // namespace hova
