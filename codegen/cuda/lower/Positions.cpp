//===- Positions.cpp - What is known about indices and addresses ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/lower/Positions.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {

/// Beyond it nobody asks.
static constexpr int64_t kMostDivisor = int64_t(1) << 20;
/// Operations after each other that are looked at: an index may be used twice
/// at every step, so that paths double.
static constexpr unsigned kMostSteps = 12;

int64_t divisorOf(int64_t x) {
  return x == 0 ? kMostDivisor : std::min(kMostDivisor, x & -x);
}

static int64_t times(int64_t x, int64_t y) {
  return std::min(kMostDivisor, x * y);
}

static scf::ForOp loopOf(Value index) {
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument
                  ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                  : scf::ForOp();
  return loop && loop.getInductionVar() == index ? loop : scf::ForOp();
}

static int64_t divisorOf(Value index, unsigned steps) {
  if (auto constant = getConstantIntValue(index)) {
    return divisorOf(*constant);
  }
  if (steps == 0) {
    return 1;
  }
  auto of = [&](Value other) { return divisorOf(other, steps - 1); };
  auto either = [&](Value x, Value y) { return std::min(of(x), of(y)); };
  if (scf::ForOp loop = loopOf(index)) {
    return either(loop.getLowerBound(), loop.getStep());
  }
  Operation *op = index.getDefiningOp();
  if (!op) {
    return 1;
  }
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::MulIOp>(
          [&](auto op) { return times(of(op.getLhs()), of(op.getRhs())); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinUIOp, arith::MinSIOp,
            arith::MaxUIOp, arith::MaxSIOp, arith::RemUIOp, arith::RemSIOp>(
          [&](auto op) { return either(op.getLhs(), op.getRhs()); })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        return either(select.getTrueValue(), select.getFalseValue());
      })
      .Default([](Operation *) { return int64_t(1); });
}

int64_t divisorOf(Value index) { return divisorOf(index, kMostSteps); }

int64_t addressDivisorOf(Value matrix) {
  auto type = cast<MemRefType>(matrix.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (isa<BlockArgument>(matrix)) {
    return kArgumentBytes;
  }
  if (auto cast = matrix.getDefiningOp<memref::CastOp>()) {
    return addressDivisorOf(cast.getSource());
  }
  auto view = matrix.getDefiningOp<memref::SubViewOp>();
  SmallVector<int64_t> strides;
  int64_t start;
  if (!view ||
      failed(view.getSourceType().getStridesAndOffset(strides, start))) {
    return bytes;
  }
  int64_t divisor = addressDivisorOf(view.getSource());
  for (auto [offset, stride] : llvm::zip(view.getMixedOffsets(), strides)) {
    auto constant = getConstantIntValue(offset);
    int64_t step =
        constant ? divisorOf(*constant) : divisorOf(cast<Value>(offset));
    divisor = std::min(divisor, times(step, divisorOf(stride * bytes)));
  }
  return divisor;
}

static bool isNeverNegative(Value index, unsigned steps) {
  if (auto constant = getConstantIntValue(index)) {
    return *constant >= 0;
  }
  if (steps == 0) {
    return false;
  }
  auto of = [&](Value other) { return isNeverNegative(other, steps - 1); };
  if (scf::ForOp loop = loopOf(index)) {
    return of(loop.getLowerBound());
  }
  Operation *op = index.getDefiningOp();
  if (!op) {
    // A coordinate, or carried by a loop.
    return !isa<scf::ForOp>(index.getParentBlock()->getParentOp());
  }
  return TypeSwitch<Operation *, bool>(op)
      .Case<arith::MulIOp, arith::AddIOp, arith::DivUIOp, arith::RemUIOp,
            arith::MaxUIOp>(
          [&](auto op) { return of(op.getLhs()) && of(op.getRhs()); })
      // No larger than the other, as numbers without a sign.
      .Case<arith::MinUIOp>(
          [&](auto op) { return of(op.getLhs()) || of(op.getRhs()); })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        return of(select.getTrueValue()) && of(select.getFalseValue());
      })
      .Default([](Operation *) { return false; });
}

bool isNeverNegative(Value index) { return isNeverNegative(index, kMostSteps); }

} // namespace hova
