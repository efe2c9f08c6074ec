//===- Grouping.cpp - Which operations share a kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Grouping.h"
#include "dialect/Shapes.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static bool isColumnSlice(Operation *op) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  return slice && slice.takesColumns();
}

/// Whether all that read `value`, or columns of it, read the row that they
/// compute.
static bool isReadByRow(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isColumnSlice(user) || isa<RearrangeOp>(user)) {
      return isReadByRow(user->getResult(0));
    }
    auto structured = dyn_cast<StructuredOpInterface>(user);
    if (!structured) {
      return false;
    }
    IterationSpace space = structured.getIterationSpace();
    return space.dividesRows() && space.readsSameRow(use.getOperandNumber());
  });
}

bool Grouping::isView(Operation *op) const {
  if (auto rearrange = dyn_cast_or_null<RearrangeOp>(op)) {
    return chain && rearrange.getPlacement().isPermutation() &&
           isReadByRow(rearrange.getResult());
  }
  return isColumnSlice(op) && !index.contains(op) &&
         llvm::none_of(op->getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>();
         });
}

PlacedSource Grouping::lookThroughViews(Value value) const {
  PlacedSource found{value, {}};
  while (isView(found.source.getDefiningOp())) {
    Operation *view = found.source.getDefiningOp();
    if (auto rearrange = dyn_cast<RearrangeOp>(view)) {
      found.placement =
          composePlacements(rearrange.getPlacement(), found.placement);
    }
    found.source = view->getOperand(0);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static int64_t rowsOf(Operation *op) {
  return staticSize(shapeOf(op->getResult(0)).drop_back());
}

int Grouping::groupOf(Value value) const {
  auto found = index.find(lookThroughViews(value).source.getDefiningOp());
  return found == index.end() ? -1 : found->second;
}

Division Grouping::divisionOf(Operation *op) const {
  auto linear = dyn_cast<LinearOp>(op);
  bool columns = linear && rowsOf(op) < policy.fewRows &&
                 *linear.getLinearMacs() >= policy.leastMacs &&
                 !lookThroughViews(linear.getX()).placement;
  return columns ? Division::panels : hova::divisionOf(op);
}

int64_t Grouping::chooseBlocks(Operation *op) const {
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  if (!space.blockDim || space.countUnits() >= policy.fewUnits) {
    return 1;
  }
  int64_t size = space.dims[*space.blockDim].size;
  return std::max<int64_t>(size / policy.leastBlock, 1);
}

UnitsAttr Grouping::unitsOf(Operation *op) const {
  if (divisionOf(op) != Division::panels) {
    return hova::unitsOf(op, chooseBlocks(op));
  }
  int64_t columns = shapeOf(op->getResult(0)).back();
  return panelUnits(op->getContext(),
                    llvm::divideCeil(columns, policy.columnGroupWidth));
}

bool Grouping::canHold(int number, Operation *op) const {
  const Group &group = groups[number];
  if (group.rows != rowsOf(op) || group.division == Division::inner) {
    return false;
  }
  if (group.division == Division::rows) {
    return divisionOf(op) == Division::rows;
  }
  if (!isa<TileOpInterface>(op) || !group.columns.find(op)) {
    return false;
  }
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    // Columns of the group's own results may be another thread's; a table
    // that repeats does not line up with a tile's rows.
    int64_t rows = staticSize(shapeOf(operand).drop_back());
    return !lookThroughViews(operand).placement &&
           (groupOf(operand) != number || !isView(operand.getDefiningOp())) &&
           (rows == 1 || rows == group.rows);
  });
}

/// Whether `op` computes every row of its result from the same rows of its
/// operands and from operands that are the same for all rows.
static bool worksByRow(const IterationSpace &space) {
  auto isFree = [&](unsigned index) {
    AffineMap map = space.operands[index];
    return map && llvm::none_of(space.units, [&](unsigned dim) {
             return map.isFunctionOfDim(dim);
           });
  };
  return space.dividesRows() &&
         llvm::all_of(llvm::seq<unsigned>(0, space.operands.size()),
                      [&](unsigned index) {
                        return space.readsSameRow(index) || isFree(index);
                      });
}

std::optional<PlacementAttrInterface>
Grouping::placementIn(int number, Operation *op) const {
  std::optional<PlacementAttrInterface> own;
  for (Value operand : op->getOperands()) {
    auto [source, view] = lookThroughViews(operand);
    Operation *producer = source.getDefiningOp();
    if (!holds(number, producer)) {
      continue;
    }
    PlacementAttrInterface placement =
        composePlacements(inverseOf(view), placementOf(producer));
    if (own && *own != placement) {
      return std::nullopt;
    }
    own = placement;
  }
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  if (own && *own && !worksByRow(space)) {
    return std::nullopt;
  }
  return own.value_or(PlacementAttrInterface());
}

int Grouping::earliestGroup(Operation *op) const {
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  int earliest = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    int producer = groupOf(operand.get());
    if (producer < 0) {
      earliest = std::max(earliest, lastGroupOf(operand.get()) + 1);
      continue;
    }
    bool aligned =
        space.readsSameRow(operand.getOperandNumber()) && canHold(producer, op);
    earliest = std::max(earliest, aligned ? producer : producer + 1);
  }
  return earliest;
}

int Grouping::lastGroupOf(Value value) const {
  Operation *op = lookThroughViews(value).source.getDefiningOp();
  int last = groupOf(value);
  if (isAssembled(op)) {
    for (Value part : op->getOperands()) {
      last = std::max(last, lastGroupOf(part));
    }
  }
  return last;
}

bool Grouping::canAssemble(Operation *op) const {
  auto assembly = dyn_cast<AssembleOpInterface>(op);
  auto isReturned = [](Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return user->hasTrait<OpTrait::IsTerminator>();
    });
  };
  if (!chain || !assembly || isReturned(op->getResult(0))) {
    return false;
  }
  llvm::SmallDenseSet<Value> seen;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    Value part = operand.get();
    return assembly.getOperandRows(operand.getOperandNumber()) &&
           index.contains(part.getDefiningOp()) && !parts.contains(part) &&
           seen.insert(part).second && !isReturned(part);
  });
}

void Grouping::place(Operation *op, int number) {
  Group &group = groups[number];
  group.ops.push_back(op);
  if (group.division == Division::panels) {
    group.columns.add(op);
  }
  placements[op] = *placementIn(number, op);
  index[op] = number;
}

LogicalResult Grouping::run() {
  for (Operation &op : block.without_terminator()) {
    if (chain && isColumnGroup(&op, policy.columnGroupWidth)) {
      place(&op, groupOf(op.getOperand(0)));
      continue;
    }
    if (isa<ImageWeightOp>(op) || isView(&op)) {
      continue;
    }
    if (canAssemble(&op)) {
      assembled.insert(&op);
      parts.insert(op.operand_begin(), op.operand_end());
      continue;
    }
    if (!isa<StructuredOpInterface>(op)) {
      return op.emitError("no kernel can hold '") << op.getName() << "'";
    }
    if (Type type = firstDynamicType(&op)) {
      return op.emitError("kernels need static shapes, got ") << type;
    }
    Division division = divisionOf(&op);
    int chosen = earliestGroup(&op), count = groups.size();
    if (division != Division::rows || !chain) {
      chosen = count;
    }
    while (chosen < count &&
           (!canHold(chosen, &op) || !placementIn(chosen, &op))) {
      ++chosen;
    }
    if (chosen == count) {
      groups.push_back({division, unitsOf(&op), rowsOf(&op), {}, {}});
    }
    place(&op, chosen);
  }
  return success();
}

} // namespace hova
