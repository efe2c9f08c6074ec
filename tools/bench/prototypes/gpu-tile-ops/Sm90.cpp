//===- Sm90.cpp - Tensor copies, barriers in memory and wgmma -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A copy is one instruction of one thread (TMA). Each slot has a barrier in
// group memory on which all threads arrive when the copy begins; what they get
// back, the barrier's state, is the token. Every copy needs a map of its
// source, which the host makes (base, extents, strides, box, 128-byte swizzle),
// as an argument.
//
// Four members multiply together, 64 rows at a time. wgmma takes the left
// operand from memory or from registers; upstream has the first only, so both
// are PTX.

#include "ThreadEmitter.h"

using namespace mlir;

namespace tile {
namespace {

class Sm90Emitter final : public ThreadEmitter {
public:
  using ThreadEmitter::ThreadEmitter;

private:
  void begin() override;
  Values copy(CopyOp op) override;
  LogicalResult wait(WaitOp op) override;
  LogicalResult product(ProductOp op) override;
  LogicalResult leaveLoop(scf::ForOp op) override;
  SmallVector<Type> tokenTypes() override {
    return {b.getI64Type(), b.getIndexType()};
  }

  Value descriptor(Value slots, Value slot, Value skip);
  Values ptx(const Twine &text, ArrayRef<Value> sums, ArrayRef<Value> operands);
  Values multiply(ArrayRef<Value> sums, ArrayRef<Value> lhs, Value rhs,
                  int64_t columns, bool rhsAlongColumns);
  void addArguments(SmallVector<Type> &inputs) override;
  void ifFirstThread(llvm::function_ref<void()> body);

  /// Copies with the same source and rows of the box share a map.
  static std::pair<Value, int64_t> mapNeeded(CopyOp op) {
    return {op.getSource(), boxRows(op.getSlots().getType())};
  }
  /// Places of maps among the arguments, in the order of the first copies.
  DenseMap<std::pair<Value, int64_t>, unsigned> mapOf;
  /// Sums under way that the loop yields.
  SmallVector<Value> flying;
};

void Sm90Emitter::ifFirstThread(llvm::function_ref<void()> body) {
  Value first =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, index(0));
  auto choice = scf::IfOp::create(b, first);
  b.setInsertionPointToStart(choice.thenBlock());
  body();
  b.setInsertionPointAfter(choice);
  // What follows may need the whole warp, and LLVM orders blocks as it likes.
  NVVM::SyncWarpOp::create(b, i32(-1));
}

void Sm90Emitter::begin() {
  // The host makes the maps from these: an argument, and rows of its boxes.
  for (auto [needed, place] : mapOf) {
    int64_t source = cast<BlockArgument>(needed.first).getArgNumber();
    to.setArgAttr(place, "tile.box",
                  b.getDenseI64ArrayAttr({source, needed.second}));
  }
  if (!barriers) {
    return;
  }
  ifFirstThread([&] {
    for (int64_t i = 0; i < barriers; ++i) {
      NVVM::MBarrierInitOp::create(b, groupAddress(index(8 * i)), i32(threads),
                                   Value());
    }
    NVVM::FenceMbarrierInitOp::create(b);
  });
  NVVM::BarrierOp::create(b);
}

void Sm90Emitter::addArguments(SmallVector<Type> &inputs) {
  from.walk([&](CopyOp op) {
    if (mapOf.try_emplace(mapNeeded(op), inputs.size()).second) {
      inputs.push_back(type("!llvm.ptr"));
    }
  });
}

Sm90Emitter::Values Sm90Emitter::copy(CopyOp op) {
  const Slots &slots = slotsOf[op.getSlots()];
  Value slot = at(op.getSlot()),
        box = to.getArgument(mapOf.lookup(mapNeeded(op)));
  Value place = mul(add(slot, index(slots.barrier)), 8);
  Value barrier = groupAddress(place);
  ifFirstThread([&] {
    NVVM::MBarrierExpectTxOp::create(b, barrier, i32(slots.bytes));
    Value target =
        groupAddress(add(mul(slot, slots.bytes), index(slots.offset)));
    target = LLVM::AddrSpaceCastOp::create(b, type("!llvm.ptr<7>"), target);
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, target, box,
        ValueRange{toI32(at(op.getColumn())), toI32(at(op.getRow()))}, barrier,
        ValueRange{}, Value(), Value(), NVVM::TMALoadMode::TILE,
        /*isCTAOnly=*/false, nullptr, Value());
  });
  Value state =
      NVVM::MBarrierArriveOp::create(b, b.getI64Type(), barrier, Value())
          .getRes();
  return {state, place};
}

/// Ends the products under way; who reads sums afterwards reads what passed.
LogicalResult Sm90Emitter::leaveLoop(scf::ForOp op) {
  for (auto [yielded, result] :
       llvm::zip(op.getYieldedValues(), op.getResults())) {
    if (llvm::is_contained(flying, yielded)) {
      parts[result] =
          ptx("wgmma.wait_group.sync.aligned 0;", parts[result], {});
    }
  }
  flying.clear();
  return success();
}

LogicalResult Sm90Emitter::wait(WaitOp op) {
  for (Value token : op.getTokens()) {
    Value state = parts[token][0], barrier = groupAddress(parts[token][1]);
    scf::WhileOp::create(
        b, TypeRange(), ValueRange(),
        [&](OpBuilder &nested, Location loc, ValueRange) {
          Value done = NVVM::MBarrierTryWaitOp::create(
              nested, loc, nested.getI1Type(), barrier, state, Value());
          Value yes = arith::ConstantIntOp::create(nested, loc, 1, 1);
          scf::ConditionOp::create(
              nested, loc, arith::XOrIOp::create(nested, loc, done, yes),
              ValueRange());
        },
        [&](OpBuilder &nested, Location loc, ValueRange) {
          scf::YieldOp::create(nested, loc);
        });
  }
  // Products read slots until they end, and a wait says that reading is over.
  if (op->getParentOfType<scf::ForOp>()) {
    NVVM::WgmmaWaitGroupSyncOp::create(b, 0);
  }
  NVVM::BarrierOp::create(b);
  return success();
}

/// Where wgmma finds an operand: 128-byte swizzle, eight rows every 1024 bytes;
/// addresses count 16 bytes.
Value Sm90Emitter::descriptor(Value slots, Value slot, Value skip) {
  const Slots &own = slotsOf[slots];
  Value byte = add(add(mul(at(slot), own.bytes), index(own.offset)), skip);
  Value address =
      LLVM::PtrToIntOp::create(b, b.getI32Type(), groupAddress(byte));
  Value start = arith::ExtUIOp::create(
      b, b.getI64Type(), arith::ShRUIOp::create(b, address, i32(4)));
  Value rest = arith::ConstantIntOp::create(
      b, int64_t((1ull << 62) | (64ull << 32) | (1ull << 16)), 64);
  return arith::OrIOp::create(b, start, rest);
}

/// PTX that reads and writes all sums, `$0` to `$n-1`, and reads operands
/// behind them. That the sums pass through it keeps their users from moving
/// across.
Sm90Emitter::Values Sm90Emitter::ptx(const Twine &text, ArrayRef<Value> sums,
                                     ArrayRef<Value> operands) {
  std::string constraints;
  Values inputs(operands);
  for (size_t i = 0; i < sums.size(); ++i) {
    constraints += i ? ",=f" : "=f";
  }
  for (Value operand : operands) {
    constraints += operand.getType().isInteger(64) ? ",l" : ",r";
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    constraints += "," + std::to_string(i);
  }
  inputs.append(sums.begin(), sums.end());
  auto result = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(sums.size(), b.getF32Type()));
  auto call = LLVM::InlineAsmOp::create(
      b, result, inputs, text.str(), constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
  Values news;
  for (size_t i = 0; i < sums.size(); ++i) {
    news.push_back(LLVM::ExtractValueOp::create(b, call.getResult(0), i));
  }
  return news;
}

/// wgmma.mma_async: sums += lhs * rhs over 16 k. lhs is a descriptor or the
/// four registers of `leftOperand`. At the end of the text: scales of the sum
/// and both operands, and which operand in memory does not lie along k.
Sm90Emitter::Values Sm90Emitter::multiply(ArrayRef<Value> sums,
                                          ArrayRef<Value> lhs, Value rhs,
                                          int64_t columns,
                                          bool rhsAlongColumns) {
  auto places = [](size_t first, size_t count) {
    std::string list;
    for (size_t i = first; i < first + count; ++i) {
      list += (i == first ? "$" : ", $") + std::to_string(i);
    }
    return list;
  };
  bool registers = lhs.size() == 4;
  std::string operand = places(sums.size(), lhs.size());
  Values operands(lhs);
  operands.push_back(rhs);
  return ptx("wgmma.mma_async.sync.aligned.m64n" + Twine(columns) +
                 "k16.f32.bf16.bf16 {" + places(0, sums.size()) + "}, " +
                 (registers ? "{" + operand + "}" : operand) + ", $" +
                 Twine(sums.size() + lhs.size()) + ", 1, 1, 1, " +
                 (registers ? "" : "0, ") + Twine(int(rhsAlongColumns)) + ";",
             sums, operands);
}

/// The order of a fragment is by rows, that of wgmma by blocks of 8x8.
static SmallVector<size_t> orderOfSums(size_t count) {
  SmallVector<size_t> order;
  for (size_t i = 0; i < count; ++i) {
    order.push_back(i / 4 * 2 + i % 2 + (i % 4 / 2) * (count / 2));
  }
  return order;
}

LogicalResult Sm90Emitter::product(ProductOp op) {
  TileType type = op.getType();
  if (type.getColumnMembers() != 1 ||
      type.rows() != 16 * type.getRowMembers() || type.getRowMembers() % 4) {
    return op.emitOpError("needs 16 rows for each of four, eight, ... members");
  }
  int64_t depth = boxColumns(op.getLhs().getType());
  SmallVector<size_t> order = orderOfSums(fragment(type).size());
  Values sums;
  for (size_t place : order) {
    sums.push_back(parts[op.getSum()][place]);
  }
  Value firstRow = mul(div(thread, 128), 64 * 128);
  SmallVector<Values> lhs;
  SmallVector<Value> rhs;
  for (int64_t k = 0; k < depth / 16; ++k) {
    lhs.push_back(op.getLhsSlot()
                      ? Values{descriptor(op.getLhs(), op.getLhsSlot(),
                                          add(firstRow, index(32 * k)))}
                      : leftOperand(op.getLhs(), 0, k));
    int64_t skip = op.getTransposed() ? 32 * k : 16 * 128 * k;
    rhs.push_back(descriptor(op.getRhs(), op.getRhsSlot(), index(skip)));
  }
  // What is in registers was written before the fence.
  Values read;
  if (!op.getLhsSlot()) {
    for (const Values &operand : lhs) {
      llvm::append_range(read, operand);
    }
  }
  sums = ptx("wgmma.fence.sync.aligned;", sums, read);
  for (auto [a, c] : llvm::zip(lhs, rhs)) {
    sums = multiply(sums, a, c, type.columns(), !op.getTransposed());
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(b);
  // A sum that only the next turn adds to may be on its way until then.
  bool carried = llvm::all_of(op.getResult().getUsers(), [](Operation *user) {
    return isa<scf::YieldOp>(user);
  });
  if (carried) {
    flying.push_back(op.getResult());
  } else {
    sums = ptx("wgmma.wait_group.sync.aligned 0;", sums, {});
  }
  Values &results = parts[op.getResult()];
  results.resize(order.size());
  for (auto [place, sum] : llvm::zip(order, sums)) {
    results[place] = sum;
  }
  return success();
}
} // namespace

std::unique_ptr<ThreadEmitter> makeSm90Emitter(func::FuncOp from) {
  return std::make_unique<Sm90Emitter>(from);
}

} // namespace tile
