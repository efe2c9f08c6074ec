//===- ThreadProducts.cpp - ldmatrix and mma.sync -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace hova {

Value ThreadEmitter::slotByte(const Slots &slots, Value row, Value chunk,
                              int64_t firstChunk) {
  int64_t inSegment = firstChunk % slots.chunks();
  Value key = slots.chunks() >= 8 ? rem(row, 8) : rem(div(row, 2), 4);
  Value exchanged =
      b.createOrFold<arith::XOrIOp>(add(chunk, i32(inSegment)), key);
  Value byte = add(mul(row, slots.rowBytes), mul(exchanged, 16));
  return add(byte, i32(firstChunk / slots.chunks() * slots.segmentBytes()));
}

Value ThreadEmitter::boxByte(const Slots &slots, Value row, Value column,
                             int64_t elementBytes) {
  int64_t perChunk = kChunkBytes / elementBytes;
  int64_t width = slots.rowBytes / elementBytes; // of a segment
  // Whole segments of a constant are a constant of the byte. A position may be
  // before them: bytes wrap where it does.
  int64_t segments = 0;
  auto sum = column.getDefiningOp<arith::AddIOp>();
  if (auto constant = sum ? getConstantIntValue(sum.getRhs()) : std::nullopt;
      constant.value_or(0) > 0) {
    segments = *constant / width;
    column = add(sum.getLhs(), i32(*constant % width));
  }
  Value inSegment = rem(column, width);
  Value byte = slotByte(slots, row, div(inSegment, perChunk), 0);
  byte = add(byte, mul(rem(inSegment, perChunk), elementBytes));
  byte = add(byte, mul(div(column, width), slots.segmentBytes()));
  return add(byte, i32(segments * slots.segmentBytes()));
}

Value ThreadEmitter::slotStart(const Slots &slots, Value slot) {
  Value first = i32(slots.offset);
  return slot ? add(mul(word(slot), slots.bytes()), first) : first;
}

ThreadEmitter::Values ThreadEmitter::loadMatrices(Value address,
                                                  bool transposed) {
  SmallVector<Type> words(4, b.getI32Type());
  auto loaded = NVVM::LdMatrixOp::create(
      b, LLVM::LLVMStructType::getLiteral(b.getContext(), words), address, 4,
      transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), kBlockRows, kBlockRows),
      NVVM::LdStMatrixEltType::B16);
  Values result;
  for (int64_t i = 0; i < 4; ++i) {
    result.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
  }
  return result;
}

ThreadEmitter::Values ThreadEmitter::loadLeft(const Slots &slots, Value start,
                                              Value firstRow, int64_t a,
                                              int64_t k) {
  Value row = add(firstRow, rem(lane, 16));
  Value byte = slotByte(slots, row, div(lane, 16), 2 * k);
  Value address = offset(memory, add(byte, start));
  return loadMatrices(offset(address, 16 * a * slots.rowBytes), false);
}

ThreadEmitter::Values ThreadEmitter::leftOperand(GroupProductOp op, int64_t a,
                                                 int64_t k) {
  TileType type = op.getSum().getType();
  if (op.getLhsSlot()) {
    const Slots &slots = slotsOf[op.getLhs()];
    Value firstRow = mul(div(member, type.getColumnMembers()),
                         type.rows() / type.getRowMembers());
    return loadLeft(slots, slotStart(slots, op.getLhsSlot()), firstRow, a, k);
  }
  int64_t blocks = cast<TileType>(op.getLhs().getType()).columns() / kBlockRows;
  ArrayRef<Value> words = parts[op.getLhs()];
  auto at = [&](int64_t row, int64_t block) {
    return words[row * blocks + block];
  };
  return {at(2 * a, 2 * k), at(2 * a + 1, 2 * k), at(2 * a, 2 * k + 1),
          at(2 * a + 1, 2 * k + 1)};
}

/// Two blocks of eight columns from n on, of two blocks of eight k each.
ThreadEmitter::Values ThreadEmitter::rightOperand(GroupProductOp op, int64_t k,
                                                  int64_t n) {
  TileType type = op.getSum().getType();
  const Slots &slots = slotsOf[op.getRhs()];
  Value start = slotStart(slots, op.getRhsSlot());
  int64_t part = type.columns() / type.getColumnMembers();
  Value memberColumn = mul(rem(member, type.getColumnMembers()), part);
  if (op.getTransposed()) {
    Value row = add(add(memberColumn, mul(div(lane, 16), kBlockRows)),
                    rem(lane, kBlockRows));
    Value byte = slotByte(slots, row, rem(div(lane, kBlockRows), 2), 2 * k);
    Value address = offset(memory, add(byte, start));
    return loadMatrices(offset(address, n * slots.rowBytes), false);
  }
  Value chunk = add(div(lane, 16), div(memberColumn, kChunk));
  Value byte = slotByte(slots, rem(lane, 16), chunk, n / kChunk);
  Value address = offset(memory, add(byte, start));
  return loadMatrices(offset(address, 16 * k * slots.rowBytes), true);
}

LogicalResult ThreadEmitter::verifyProduct(GroupProductOp op) {
  TileType type = op.getSum().getType();
  if (!slotsOf.count(op.getRhs()) ||
      (op.getLhsSlot() && !slotsOf.count(op.getLhs()))) {
    return op.emitOpError("expects slots of this function");
  }
  if (!op.getTransposed() && type.getColumnMembers() != 1) {
    return op.emitOpError("expects rhs to be transposed where columns are "
                          "divided over members");
  }
  return success();
}

/// Words of two elements as mma.sync takes them: pairs of f16 as vectors, those
/// of bf16 as words.
static SmallVector<Value> pairsOf(OpBuilder &b, Location loc, Type element,
                                  ArrayRef<Value> words) {
  SmallVector<Value> operands(words);
  for (Value &word : operands) {
    word = element.isF16() ? Value(LLVM::BitcastOp::create(
                                 b, loc, VectorType::get({2}, element), word))
                           : word;
  }
  return operands;
}

/// One mma.sync of such operands: the new sums of a lane.
ThreadEmitter::Values ThreadEmitter::multiplyAdd(Type element,
                                                 ArrayRef<Value> lhs,
                                                 ArrayRef<Value> rhs,
                                                 ArrayRef<Value> sums) {
  auto kind = element.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  SmallVector<Type> four(4, b.getF32Type());
  Value added = NVVM::MmaOp::create(
      b, LLVM::LLVMStructType::getLiteral(b.getContext(), four), lhs, rhs, sums,
      {16, 8, 16}, std::nullopt, std::nullopt, std::array{kind, kind},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Values made;
  for (int64_t i = 0; i < 4; ++i) {
    made.push_back(LLVM::ExtractValueOp::create(b, added, i));
  }
  return made;
}

/// A product with eight columns of ones: every lane of a row has its sum, of
/// all lanes, in each of its two columns.
LogicalResult ThreadEmitter::emitSumByProducts(GroupReduceOp op) {
  TileType tile = op.getTile().getType(), result = op.getResult().getType();
  if (tile.getDistribution() != TileDistribution::product ||
      result.getDistribution() != TileDistribution::product ||
      tile.rows() == 1 || tile.getColumnMembers() != 1) {
    return op.emitOpError("expects rows of 16 bits as a product leaves them, "
                          "and a result that lies so, too");
  }
  Type element = tile.getElementType();
  Value ones = i32(element.isF16() ? 0x3C003C00 : 0x3F803F80);
  Values pairOfOnes = pairsOf(b, b.getLoc(), element, {ones, ones});
  Value none = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  ArrayRef<Value> words = parts[op.getTile()];
  int64_t blocks = tile.columns() / kBlockRows;
  int64_t rows = tile.rows() / tile.getRowMembers();
  Values totals;
  for (int64_t a = 0; a < rows / kMmaRows; ++a) {
    Values sums(4, none);
    auto at = [&](int64_t row, int64_t block) {
      return words[(2 * a + row) * blocks + block];
    };
    for (int64_t k = 0; k < blocks; k += 2) {
      Values weights =
          pairsOf(b, b.getLoc(), element,
                  {at(0, k), at(1, k), at(0, k + 1), at(1, k + 1)});
      sums = multiplyAdd(element, weights, pairOfOnes, sums);
    }
    totals.append({sums[0], sums[2]});
  }
  parts[op.getResult()] = totals;
  return success();
}

LogicalResult ThreadEmitter::emitProduct(GroupProductOp op) {
  if (failed(verifyProduct(op))) {
    return failure();
  }
  if (op.getRhs().getType().getElementType().isF32()) {
    return emitFmaProduct(op);
  }
  TileType type = op.getSum().getType();
  int64_t depth = cast<ShapedType>(op.getLhs().getType()).getShape().back();
  int64_t rows = type.rows() / type.getRowMembers();
  int64_t columns = type.columns() / type.getColumnMembers();
  int64_t width = columns / kLanesOfRow;
  Values sums = parts[op.getSum()];
  Type element = op.getRhs().getType().getElementType();
  for (int64_t k = 0; k < depth / 16; ++k) {
    SmallVector<Values> lhs;
    for (int64_t a = 0; a < rows / 16; ++a) {
      lhs.push_back(pairsOf(b, b.getLoc(), element, leftOperand(op, a, k)));
    }
    for (int64_t n = 0; n < columns; n += 16) {
      Values rhs = pairsOf(b, b.getLoc(), element, rightOperand(op, k, n));
      for (int64_t half = 0; half < 2; ++half) {
        for (size_t a = 0; a < lhs.size(); ++a) {
          size_t first = 2 * a * width + (n + kBlockRows * half) / kLanesOfRow;
          size_t places[] = {first, first + 1, first + width,
                             first + width + 1};
          Values old;
          for (size_t place : places) {
            old.push_back(sums[place]);
          }
          Values added = multiplyAdd(element, lhs[a],
                                     {rhs[2 * half], rhs[2 * half + 1]}, old);
          for (int64_t i = 0; i < 4; ++i) {
            sums[places[i]] = added[i];
          }
        }
      }
    }
  }
  parts[op.getResult()] = sums;
  return success();
}

} // namespace hova
