//===- Columns.cpp - Columns of a product that are results of their own ---===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Columns.h"
#include "dialect/Shapes.h"

using namespace mlir;

namespace hova {

bool ColumnRange::isColumnGroup(int64_t width, int64_t groupWidth) const {
  return from % groupWidth == 0 && (to % groupWidth == 0 || to == width);
}

bool isColumnSlice(Operation *op) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  return slice && slice.takesColumns();
}

bool isKernelView(Operation *op) {
  return isColumnSlice(op) && !isa<StageOp>(op->getParentOp());
}

ColumnRange columnsOf(SliceOp slice) {
  int64_t from = slice.getOffset();
  return {from, from + shapeOf(slice.getResult()).back()};
}

/// Whether `value` is there before `op` runs.
static bool isThereBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  while (auto slice = dyn_cast_or_null<SliceOp>(definition)) {
    definition = slice.getX().getDefiningOp();
  }
  return !definition || definition->isBeforeInBlock(op);
}

/// Whether `user` works on the tiles of `group`, or takes it out.
static bool wantsColumnGroup(Operation *user, SliceOp group, LinearOp product) {
  if (user->hasTrait<OpTrait::IsTerminator>()) {
    return true;
  }
  return joinsTiles(user) &&
         llvm::all_of(user->getOperands(), [&](Value operand) {
           return operand == group.getResult() ||
                  isThereBefore(operand, product);
         });
}

bool isColumnGroup(Operation *op, int64_t groupWidth) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  auto product = slice ? slice.getX().getDefiningOp<LinearOp>() : LinearOp();
  if (!product) {
    return false;
  }
  int64_t width = shapeOf(product.getResult()).back();
  bool pays = false;
  for (Operation *user : product->getUsers()) {
    auto group = dyn_cast<SliceOp>(user);
    if (!group || !group.takesColumns() ||
        !columnsOf(group).isColumnGroup(width, groupWidth)) {
      return false;
    }
    pays |= llvm::any_of(group->getUsers(), [&](Operation *reader) {
      return wantsColumnGroup(reader, group, product);
    });
  }
  return pays;
}

std::optional<ColumnRange> StageColumns::read(Operation *op,
                                              Value operand) const {
  auto known = ranges.find(operand.getDefiningOp());
  if (known == ranges.end()) {
    return std::nullopt;
  }
  ColumnRange range = known->second;
  if (auto slice = dyn_cast<SliceOp>(op)) {
    range.from += slice.getOffset();
    range.to = range.from + shapeOf(slice.getResult()).back();
  }
  return range;
}

std::optional<ColumnRange> StageColumns::join(ColumnRange a,
                                              ColumnRange b) const {
  int64_t half = whole.to / 2;
  auto isWithinHalf = [&](ColumnRange range) {
    return range.from / half == (range.to - 1) / half;
  };
  if (!holdsHalves || whole.to % 2 != 0 || !isWithinHalf(a) ||
      !isWithinHalf(b) || a.from % half != b.from % half) {
    return std::nullopt;
  }
  return ColumnRange{a.from % half, a.from % half + a.width()};
}

std::optional<ColumnRange> StageColumns::find(Operation *op) const {
  int64_t width = shapeOf(op->getResult(0)).back();
  std::optional<ColumnRange> found;
  for (Value operand : op->getOperands()) {
    std::optional<ColumnRange> range = read(op, operand);
    if (!range) {
      continue;
    }
    if (range->width() != width) {
      return std::nullopt;
    }
    if (found && !(*found == *range)) {
      range = join(*found, *range);
    }
    if (!range) {
      return std::nullopt;
    }
    found = range;
  }
  if (!found && (ranges.empty() || whole.to == width)) {
    return ColumnRange{0, width};
  }
  return found;
}

void StageColumns::add(Operation *op) {
  ColumnRange range = *find(op);
  if (ranges.empty()) {
    whole = range;
  }
  areJoined |= llvm::any_of(op->getOperands(), [&](Value operand) {
    std::optional<ColumnRange> other = read(op, operand);
    return other && !(*other == range);
  });
  ranges[op] = range;
}

SmallVector<ColumnRange> StageColumns::parts() const {
  if (!areJoined) {
    return {whole};
  }
  return {{0, whole.to / 2}, {whole.to / 2, whole.to}};
}

SmallVector<ColumnRange> StageColumns::divide() const {
  llvm::SmallVector<int64_t> bounds;
  for (const auto &[op, range] : ranges) {
    bounds.append({range.from, range.to});
  }
  llvm::sort(bounds);
  bounds.erase(llvm::unique(bounds), bounds.end());
  SmallVector<ColumnRange> groups;
  for (size_t i = 1; i < bounds.size(); ++i) {
    groups.push_back({bounds[i - 1], bounds[i]});
  }
  return groups;
}

} // namespace hova
