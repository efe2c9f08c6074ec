//===- Runs.cpp - Which elements of a gather lie beside each other --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/lower/Runs.h"
#include "codegen/cuda/lower/Positions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {

namespace {
/// What a value is at the columns of a run.
enum class Along {
  same,        ///< at all of them
  consecutive, ///< from a multiple of the width on
  other,
};

class RunAnalysis {
public:
  RunAnalysis(GroupGatherOp op, int64_t width)
      : op(op), body(op.getBody().front()), width(width) {}
  /// Of a value that the body uses.
  Along of(Value value);

private:
  Along ofArgument(BlockArgument argument);
  Along ofResult(Operation &inner);
  /// Whether x is a constant that the width divides, and not 0.
  bool isMultiple(Value x) {
    auto constant = getConstantIntValue(x);
    return constant && *constant > 0 && *constant % width == 0;
  }

  GroupGatherOp op;
  Block &body;
  int64_t width;
  llvm::SmallDenseMap<Value, Along> known;
};
} // namespace

Along RunAnalysis::of(Value value) {
  if (value.getParentBlock() != &body) {
    return Along::same;
  }
  auto [found, isNew] = known.try_emplace(value, Along::other);
  if (isNew) {
    auto argument = dyn_cast<BlockArgument>(value);
    Along along =
        argument ? ofArgument(argument) : ofResult(*value.getDefiningOp());
    known[value] = along;
    return along;
  }
  return found->second;
}

/// Of the elements of tiles, the row and the column.
Along RunAnalysis::ofArgument(BlockArgument argument) {
  size_t number = argument.getArgNumber();
  if (number == op.getBy().size() + 1) {
    return Along::consecutive;
  }
  bool isRow = number == op.getBy().size();
  return isRow || cast<TileType>(op.getBy()[number].getType()).columns() == 1
             ? Along::same
             : Along::other;
}

/// Positions wrap at powers of two, which the width divides: it does not
/// matter here whether they have a sign.
Along RunAnalysis::ofResult(Operation &inner) {
  if (llvm::all_of(inner.getOperands(),
                   [&](Value x) { return of(x) == Along::same; })) {
    return Along::same;
  }
  auto isConsecutive = [&](Value x) { return of(x) == Along::consecutive; };
  // Moved by as much everywhere, by whole runs.
  auto isShift = [&](Value x) {
    return of(x) == Along::same && divisorOf(x) % width == 0;
  };
  return TypeSwitch<Operation *, Along>(&inner)
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [&](auto op) { return of(op.getIn()); })
      .Case<arith::AddIOp>([&](arith::AddIOp op) {
        Value x = op.getLhs(), y = op.getRhs();
        bool moves = (isConsecutive(x) && isShift(y)) ||
                     (isShift(x) && isConsecutive(y));
        return moves ? Along::consecutive : Along::other;
      })
      .Case<arith::SubIOp>([&](arith::SubIOp op) {
        return isConsecutive(op.getLhs()) && isShift(op.getRhs())
                   ? Along::consecutive
                   : Along::other;
      })
      .Case<arith::DivUIOp>([&](arith::DivUIOp op) {
        return isConsecutive(op.getLhs()) && isMultiple(op.getRhs())
                   ? Along::same
                   : Along::other;
      })
      .Case<arith::RemUIOp>([&](arith::RemUIOp op) {
        return isConsecutive(op.getLhs()) && isMultiple(op.getRhs())
                   ? Along::consecutive
                   : Along::other;
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp op) {
        // All of a run lie on one side of a multiple of the width.
        bool isSide = op.getPredicate() == arith::CmpIPredicate::ult ||
                      op.getPredicate() == arith::CmpIPredicate::uge;
        return isSide && isConsecutive(op.getLhs()) && isMultiple(op.getRhs())
                   ? Along::same
                   : Along::other;
      })
      .Case<arith::SelectOp>([&](arith::SelectOp op) {
        Along first = of(op.getTrueValue());
        return of(op.getCondition()) == Along::same &&
                       of(op.getFalseValue()) == first
                   ? first
                   : Along::other;
      })
      .Default(Along::other);
}

/// Whether rows of the source are the same along a run, and columns so.
static bool gathers(GroupGatherOp op, int64_t width, Along columns) {
  RunAnalysis runs(op, width);
  Operation *yield = op.getBody().front().getTerminator();
  return runs.of(yield->getOperand(0)) == Along::same &&
         runs.of(yield->getOperand(1)) == columns;
}

bool gathersRuns(GroupGatherOp op, int64_t width) {
  return gathers(op, width, Along::consecutive);
}

bool gathersOne(GroupGatherOp op, int64_t width) {
  return gathers(op, width, Along::same);
}

} // namespace hova
