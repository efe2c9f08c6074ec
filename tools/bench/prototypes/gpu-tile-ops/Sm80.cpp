//===- Sm80.cpp - cp.async, ldmatrix and mma.sync -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A copy is a group of cp.async. Groups end in order, so a token is no value at
// all: a wait needs only the number of copies that were begun after its own,
// and the list of pending ones gives that at compile time, through loops too.

#include "ThreadEmitter.h"

using namespace mlir;

namespace tile {
namespace {

class Sm80Emitter final : public ThreadEmitter {
public:
  using ThreadEmitter::ThreadEmitter;

private:
  Values copy(CopyOp op) override;
  LogicalResult wait(WaitOp op) override;
  LogicalResult product(ProductOp op) override;
  LogicalResult enterLoop(scf::ForOp op) override;
  LogicalResult leaveLoop(scf::ForOp op) override;

  /// Four 8x8 blocks of a slot from (row, chunk) of each thread's choice.
  Values loadMatrices(Value slots, Value slot, Value row, Value chunk,
                      bool transposed);
  Values fragmentOfLhs(ProductOp op, Value firstRow, int64_t a, int64_t k);

  /// Tokens of copies that may be under way, the oldest first.
  SmallVector<Value> pending;
};

Sm80Emitter::Values Sm80Emitter::copy(CopyOp op) {
  const Slots &slots = slotsOf[op.getSlots()];
  Value source = op.getSource(), chunk = rem(thread, 8);
  int64_t rowsAtOnce = threads / 8;
  for (int64_t first = 0; first < slots.rows; first += rowsAtOnce) {
    Value row = add(div(thread, 8), index(first));
    Value i = add(at(op.getRow()), row);
    Value j = add(at(op.getColumn()), mul(chunk, 8));
    Value inside =
        arith::AndIOp::create(b, below(i, boxRows(source.getType())),
                              below(j, boxColumns(source.getType())));
    Value from = select(inside, address(source, i, j), at(source));
    // Bytes that are not read become 0.
    Value bytes = select(inside, i32(16), i32(0));
    NVVM::CpAsyncOp::create(
        b, groupAddress(slotByte(slots, at(op.getSlot()), row, chunk)), from,
        16, NVVM::LoadCacheModifierKind::CG, bytes);
  }
  NVVM::CpAsyncCommitGroupOp::create(b);
  pending.push_back(op.getToken());
  return {};
}

LogicalResult Sm80Emitter::wait(WaitOp op) {
  size_t done = 0;
  for (Value token : op.getTokens()) {
    auto found = llvm::find(pending, token);
    if (found == pending.end()) {
      return op.emitOpError("waits for a copy that is not under way");
    }
    done = std::max<size_t>(done, found - pending.begin() + 1);
  }
  NVVM::CpAsyncWaitGroupOp::create(b, pending.size() - done);
  pending.erase(pending.begin(), pending.begin() + done);
  NVVM::BarrierOp::create(b);
  return success();
}

/// Carried tokens are pending under their names inside; their order is that of
/// the copies, on the way in and on the way round.
LogicalResult Sm80Emitter::enterLoop(scf::ForOp op) {
  for (Value &token : pending) {
    auto found = llvm::find(op.getInitArgs(), token);
    if (found == op.getInitArgs().end()) {
      return op.emitOpError("does not carry a copy that is under way");
    }
    token = op.getRegionIterArgs()[found - op.getInitArgs().begin()];
  }
  return success();
}

LogicalResult Sm80Emitter::leaveLoop(scf::ForOp op) {
  SmallVector<Value> after;
  for (Value token : pending) {
    auto found = llvm::find(op.getYieldedValues(), token);
    if (found == op.getYieldedValues().end()) {
      return op.emitOpError("does not yield a copy that is under way");
    }
    after.push_back(op.getResults()[found - op.getYieldedValues().begin()]);
  }
  // The same order on each turn is what makes the counts constant.
  for (size_t i = 1; i < after.size(); ++i) {
    if (cast<OpResult>(after[i - 1]).getResultNumber() >
        cast<OpResult>(after[i]).getResultNumber()) {
      return op.emitOpError(
          "yields copies in another order than it takes them");
    }
  }
  pending = after;
  return success();
}

Sm80Emitter::Values Sm80Emitter::loadMatrices(Value slots, Value slot,
                                              Value row, Value chunk,
                                              bool transposed) {
  Value from = groupAddress(slotByte(slotsOf[slots], at(slot), row, chunk));
  auto loaded = NVVM::LdMatrixOp::create(
      b, type("!llvm.struct<(i32, i32, i32, i32)>"), from, 4,
      transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  Values words;
  for (int64_t i = 0; i < 4; ++i) {
    words.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
  }
  return words;
}

Sm80Emitter::Values Sm80Emitter::fragmentOfLhs(ProductOp op, Value firstRow,
                                               int64_t a, int64_t k) {
  if (!op.getLhsSlot()) {
    return leftOperand(op.getLhs(), a, k);
  }
  Value row = add(add(firstRow, index(16 * a)), rem(lane, 16));
  Value chunk = add(index(2 * k), div(lane, 16));
  return loadMatrices(op.getLhs(), op.getLhsSlot(), row, chunk, false);
}

LogicalResult Sm80Emitter::product(ProductOp op) {
  TileType type = op.getType();
  int64_t depth = boxColumns(op.getLhs().getType());
  int64_t partRows = type.rows() / type.getRowMembers();
  int64_t partColumns = type.columns() / type.getColumnMembers();
  Value firstRow = mul(div(member, type.getColumnMembers()), partRows);
  Value firstColumn = mul(rem(member, type.getColumnMembers()), partColumns);
  size_t width = fragment(type).columns.size();
  Values sums = parts[op.getSum()];
  Value upper = div(lane, 16), eight = rem(div(lane, 8), 2);
  for (int64_t k = 0; k < depth / 16; ++k) {
    SmallVector<Values> lhs;
    for (int64_t a = 0; a < partRows / 16; ++a) {
      lhs.push_back(fragmentOfLhs(op, firstRow, a, k));
    }
    for (int64_t n = 0; n < partColumns; n += 16) {
      // Two blocks of eight columns times two of eight k.
      Value column = add(add(firstColumn, index(n)), mul(upper, 8));
      Values rhs;
      if (op.getTransposed()) {
        rhs = loadMatrices(op.getRhs(), op.getRhsSlot(),
                           add(column, rem(lane, 8)), add(index(2 * k), eight),
                           false);
      } else {
        Value row = add(add(index(16 * k), mul(eight, 8)), rem(lane, 8));
        rhs = loadMatrices(op.getRhs(), op.getRhsSlot(), row, div(column, 8),
                           true);
      }
      for (size_t a = 0; a < lhs.size(); ++a) {
        for (int64_t half = 0; half < 2; ++half) {
          size_t first = 2 * a * width + (n + 8 * half) / 4;
          size_t places[] = {first, first + 1, first + width,
                             first + width + 1};
          Values old;
          for (size_t place : places) {
            old.push_back(sums[place]);
          }
          Value made = NVVM::MmaOp::create(
              b, this->type("!llvm.struct<(f32, f32, f32, f32)>"), lhs[a],
              ValueRange{rhs[2 * half], rhs[2 * half + 1]}, old, {16, 8, 16},
              std::nullopt, std::nullopt,
              std::array{NVVM::MMATypes::bf16, NVVM::MMATypes::bf16},
              std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
          for (int64_t i = 0; i < 4; ++i) {
            sums[places[i]] = LLVM::ExtractValueOp::create(b, made, i);
          }
        }
      }
    }
  }
  parts[op.getResult()] = sums;
  return success();
}
} // namespace

std::unique_ptr<ThreadEmitter> makeSm80Emitter(func::FuncOp from) {
  return std::make_unique<Sm80Emitter>(from);
}

} // namespace tile
