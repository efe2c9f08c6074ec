//===- ThreadFmaProducts.cpp - Products of f32, without matrix units ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums lie as mma.sync leaves them, so that recipes are the same for all types:
// a thread has its rows' and its columns' elements of each k and multiplies all
// pairs. A turn takes eight k. Of a row of group memory it reads 16 bytes, four
// k, at once. Of a lhs in registers the lanes of a row exchange the first eight
// columns, and the others move up: a loop keeps the sums from being computed
// where they are stored, for which all that is read would have to stay.

#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hova {

ThreadEmitter::Values ThreadEmitter::loadRun(Value address, int64_t count) {
  auto type = VectorType::get({count}, b.getF32Type());
  Value run = LLVM::LoadOp::create(b, type, address, 4 * count);
  Values elements;
  for (int64_t i = 0; i < count; ++i) {
    elements.push_back(vector::ExtractOp::create(b, run, i));
  }
  return elements;
}

/// `kFmaTurn` elements of row `row + constant` of a box, from those of the
/// segment's turn `turn` on. Chunks are exchanged alike every eight rows, so
/// that rows which differ by multiples of eight share the sum of an address.
ThreadEmitter::Values ThreadEmitter::loadRow(const Slots &slots, Value start,
                                             Value row, int64_t constant,
                                             int64_t segment, Value turn) {
  int64_t odd = constant % kBlockRows;
  Values elements;
  for (int64_t half = 0; half < 2; ++half) {
    Value chunk = add(mul(turn, 2), i32(half));
    Value byte = add(slotByte(slots, add(row, i32(odd)), chunk, 0), start);
    Value address =
        offset(offset(memory, byte), segment * slots.segmentBytes() +
                                         (constant - odd) * slots.rowBytes);
    llvm::append_range(elements, loadRun(address, kChunk32));
  }
  return elements;
}

/// Elements of row `k` of those from the segment's turn `turn` on, at the
/// thread's columns: pairs that begin at twice its number in the row.
ThreadEmitter::Values ThreadEmitter::loadColumns(const Slots &slots,
                                                 Value start, size_t columns,
                                                 int64_t segment, Value turn,
                                                 int64_t k) {
  Value part = rem(lane, kLanesOfRow);
  Value firstRow = add(mul(turn, kFmaTurn), i32(kSegment * segment));
  Value first =
      add(add(mul(firstRow, slots.rowBytes), start), mul(rem(part, 2), 2 * 4));
  // Chunks of row k are exchanged by k: of the thread's own one the last bit,
  // of the constant ones the others.
  Value chunk = b.createOrFold<arith::XOrIOp>(div(part, 2), i32(k % 2));
  Value base = offset(memory, add(first, mul(chunk, kChunkBytes)));
  Values elements;
  for (size_t pair = 0; pair < columns / 2; ++pair) {
    int64_t constant = 2 * pair, of = constant / slots.chunks();
    int64_t exchanged = (constant % slots.chunks()) ^ (k - k % 2);
    llvm::append_range(
        elements,
        loadRun(offset(base, k * slots.rowBytes + kChunkBytes * exchanged +
                                 of * slots.segmentBytes()),
                2));
  }
  return elements;
}

/// Column k, below eight, of `rows` rows of a tile, from the lanes that have
/// it.
ThreadEmitter::Values ThreadEmitter::exchangeColumn(ValueRange registers,
                                                    size_t rows, int64_t k) {
  size_t columns = registers.size() / rows;
  Value from = add(mul(div(lane, kLanesOfRow), kLanesOfRow), i32(k / 2));
  Values elements;
  for (size_t r = 0; r < rows; ++r) {
    elements.push_back(NVVM::ShflOp::create(
        b, b.getF32Type(), i32(-1), registers[r * columns + k % 2], from,
        i32(kLanes - 1), NVVM::ShflKind::idx, UnitAttr()));
  }
  return elements;
}

/// The registers of a tile whose columns moved eight to the left.
static SmallVector<Value> moveUp(ValueRange registers, size_t rows) {
  size_t columns = registers.size() / rows;
  SmallVector<Value> moved;
  for (size_t r = 0; r < rows; ++r) {
    ValueRange row = registers.slice(r * columns, columns);
    llvm::append_range(moved, row.drop_front(2));
    llvm::append_range(moved, row.take_front(2));
  }
  return moved;
}

/// Eight k of each of the thread's rows of lhs; of a tile the registers are
/// given.
ThreadEmitter::Values ThreadEmitter::leftElements(GroupProductOp op,
                                                  int64_t segment, Value turn,
                                                  ValueRange registers) {
  Fragment held = fragment(op.getSum().getType());
  size_t rows = held.rows.size();
  Values elements;
  if (op.getLhsSlot()) {
    const Slots &slots = slotsOf[op.getLhs()];
    Value start = slotStart(slots, op.getLhsSlot());
    for (int64_t row : held.rows) {
      llvm::append_range(elements,
                         loadRow(slots, start, held.row, row, segment, turn));
    }
    return elements;
  }
  elements.resize(rows * kFmaTurn);
  for (int64_t k = 0; k < kFmaTurn; ++k) {
    for (auto [r, element] :
         llvm::enumerate(exchangeColumn(registers, rows, k))) {
      elements[r * kFmaTurn + k] = element;
    }
  }
  return elements;
}

/// Adds what eight k are. What is read of rhs is multiplied at once, so that
/// few registers hold it.
ThreadEmitter::Values ThreadEmitter::addTurn(GroupProductOp op, int64_t segment,
                                             Value turn, ValueRange registers,
                                             ValueRange old) {
  Fragment held = fragment(op.getSum().getType());
  const Slots &right = slotsOf[op.getRhs()];
  Value start = slotStart(right, op.getRhsSlot());
  size_t rows = held.rows.size(), columns = held.columns.size();
  Values lhs = leftElements(op, segment, turn, registers), sums(old);
  auto multiply = [&](size_t c, int64_t k, Value element) {
    for (size_t r = 0; r < rows; ++r) {
      Value &sum = sums[r * columns + c];
      sum = math::FmaOp::create(b, lhs[r * kFmaTurn + k], element, sum);
    }
  };
  if (op.getTransposed()) {
    for (size_t c = 0; c < columns; ++c) {
      Values row =
          loadRow(right, start, held.column, held.columns[c], segment, turn);
      for (int64_t k = 0; k < kFmaTurn; ++k) {
        multiply(c, k, row[k]);
      }
    }
    return sums;
  }
  for (int64_t k = 0; k < kFmaTurn; ++k) {
    Values row = loadColumns(right, start, columns, segment, turn, k);
    for (size_t c = 0; c < columns; ++c) {
      multiply(c, k, row[c]);
    }
  }
  return sums;
}

LogicalResult ThreadEmitter::emitFmaProduct(GroupProductOp op) {
  int64_t depth = cast<ShapedType>(op.getLhs().getType()).getShape().back();
  size_t count = parts[op.getSum()].size();
  size_t rows = fragment(op.getSum().getType()).rows.size();
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  };
  Values carried = parts[op.getSum()];
  if (!op.getLhsSlot()) {
    llvm::append_range(carried, parts[op.getLhs()]);
  }
  for (int64_t segment = 0; kSegment * segment < depth; ++segment) {
    int64_t turns = std::min(depth - kSegment * segment, kSegment) / kFmaTurn;
    scf::ForOp loop = createLoop(index(0), index(turns), index(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value turn = b.createOrFold<arith::IndexCastOp>(b.getI32Type(),
                                                    loop.getInductionVar());
    ValueRange old = loop.getRegionIterArgs();
    ValueRange registers = old.drop_front(count);
    Values next = addTurn(op, segment, turn, registers, old.take_front(count));
    if (!registers.empty()) {
      llvm::append_range(next, moveUp(registers, rows));
    }
    scf::YieldOp::create(b, next);
    carried = Values(loop.getResults());
  }
  carried.truncate(count);
  parts[op.getResult()] = carried;
  return success();
}

} // namespace hova
