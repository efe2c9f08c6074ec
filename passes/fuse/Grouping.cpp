//===- Grouping.cpp - Which operations share a kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Grouping.h"
#include "dialect/Shapes.h"
#include "dialect/ranges/RangeMistakes.h"
#include "passes/fuse/PlacedRows.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hova-fuse-kernels"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static int64_t rowsOf(Value value) {
  return staticSize(shapeOf(value).drop_back());
}

/// Whether all that read `value`, or columns of it, read the row that they
/// compute, and as many as they compute.
static bool isReadByRow(Value value) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isColumnSlice(user)) {
      return isReadByRow(user->getResult(0));
    }
    if (auto rearrange = dyn_cast<RearrangeOp>(user)) {
      return rearrange.getPlacement().isPermutation() &&
             isReadByRow(rearrange.getResult());
    }
    auto structured = dyn_cast<StructuredOpInterface>(user);
    if (!structured) {
      return false;
    }
    IterationSpace space = structured.getIterationSpace();
    return space.dividesRows() && space.readsSameRow(use.getOperandNumber()) &&
           rowsOf(user->getResult(0)) == rowsOf(value);
  });
}

bool Grouping::isView(Operation *op) const {
  if (auto rearrange = dyn_cast_or_null<RearrangeOp>(op)) {
    return chain && rearrange.getPlacement().isPermutation() &&
           isReadByRow(rearrange.getResult());
  }
  return isColumnSlice(op) && !index.contains(op) &&
         llvm::none_of(op->getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>() ||
                  isa<KernelOp>(user);
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

static int64_t rowsOf(Operation *op) { return rowsOf(op->getResult(0)); }

int Grouping::groupOf(Value value) const {
  auto found = index.find(lookThroughViews(value).source.getDefiningOp());
  return found == index.end() ? -1 : found->second;
}

Division Grouping::divisionOf(Operation *op) const {
  auto linear = dyn_cast<LinearOp>(op);
  bool columns = policy && linear &&
                 !lookThroughViews(linear.getX()).placement &&
                 policy.dividesColumns(op, nullptr);
  return columns ? Division::columnStrips : hova::divisionOf(op);
}

int64_t Grouping::chooseBlocks(Operation *op) const {
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  return policy && space.blockDim
             ? policy.chooseBlocks(space.countUnits(),
                                   space.dims[*space.blockDim].size)
             : 1;
}

UnitsAttr Grouping::unitsOf(Operation *op) const {
  if (divisionOf(op) != Division::columnStrips) {
    return hova::unitsOf(op, chooseBlocks(op));
  }
  int64_t columns = shapeOf(op->getResult(0)).back();
  return columnStripUnits(op->getContext(),
                          llvm::divideCeil(columns, columnGroupWidth));
}

//===----------------------------------------------------------------------===//
// What may share a kernel, and why not
//===----------------------------------------------------------------------===//

static bool refuse(std::string *why, const Twine &text) {
  if (why) {
    *why = text.str();
  }
  return false;
}

static std::string nameOf(Operation *op) {
  return ("'" + op->getName().getStringRef() + "'").str();
}

std::string Grouping::whyNoRows(Operation *op) const {
  if (divisionOf(op) == Division::columnStrips) {
    std::string why;
    policy.dividesColumns(op, &why);
    return why;
  }
  return hova::whyNoRows(op, unitsOf(op));
}

bool Grouping::canHold(int number, Operation *op, std::string *why) const {
  return mayHold(number, op, why) &&
         (!policy || policy.pays(groups[number], op, why));
}

/// Whether a run has as many rows of both, which shapes may not tell.
static bool haveSameExtent(Operation *a, Operation *b) {
  std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(a);
  return !ranges || !ranges->areAlike() ||
         extentOf(a->getResult(0)) == extentOf(b->getResult(0));
}

bool Grouping::mayHold(int number, Operation *op, std::string *why) const {
  const Group &group = groups[number];
  Operation *first = group.ops.front();
  if (group.isFormed) {
    return refuse(why, "another pass has formed kernel '" +
                           cast<KernelOp>(first).getName() +
                           "'; it joins if that pass is left out");
  }
  if (group.rows != rowsOf(op)) {
    return refuse(why, nameOf(op) + " computes " + Twine(rowsOf(op)) +
                           " rows, and " + nameOf(first) + " " +
                           Twine(group.rows) +
                           "; it joins if it computes as many");
  }
  if (!haveSameExtent(first, op)) {
    return refuse(why, nameOf(op) + " has other tokens than " + nameOf(first));
  }
  if (group.division == Division::inner) {
    return keepsUnits(number, op) || refuse(why, whyNoRows(first));
  }
  if (group.division == Division::rows) {
    return divisionOf(op) == Division::rows || refuse(why, whyNoRows(op));
  }
  return canHoldColumns(number, op, why);
}

bool Grouping::keepsUnits(int number, Operation *op) const {
  Operation *first = groups[number].ops.front();
  return hova::keepsUnits(first, op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return groupOf(operand) != number || operand == first->getResult(0);
         });
}

bool Grouping::canHoldColumns(int number, Operation *op,
                              std::string *why) const {
  const Group &group = groups[number];
  Operation *product = group.ops.front();
  if (!joinsTiles(op)) {
    return refuse(why, nameOf(op) + " is not element-wise, and " +
                           whyNoRows(product));
  }
  if (!group.columns.find(op)) {
    return refuse(why, nameOf(op) + " computes other columns than those that " +
                           "it reads of " + nameOf(product) +
                           "; it joins if they are the same");
  }
  for (Value operand : op->getOperands()) {
    if (lookThroughViews(operand).placement) {
      return refuse(why, nameOf(op) + " reads rows in another order than " +
                             nameOf(product) +
                             " computes them; it joins if the order is one");
    }
    if (groupOf(operand) == number && isView(operand.getDefiningOp())) {
      return refuse(why, nameOf(op) + " reads columns of " + nameOf(product) +
                             " that may be another thread's; it joins if they "
                             "begin and end at multiples of " +
                             Twine(columnGroupWidth));
    }
    int64_t rows = rowsOf(operand);
    if (isElementwise(op) && rows != 1 && rows != group.rows) {
      return refuse(why, "a table of " + Twine(rows) + " rows that " +
                             nameOf(op) + " reads does not line up with " +
                             Twine(group.rows) +
                             " rows; it joins if the table has 1 or " +
                             Twine(group.rows));
    }
  }
  return true;
}

bool Grouping::canJoin(OpOperand &operand, std::string *why) const {
  Operation *op = operand.getOwner();
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  if (!space.readsSameRow(operand.getOperandNumber())) {
    Operation *source = lookThroughViews(operand.get()).source.getDefiningOp();
    return refuse(why, nameOf(op) + " reads other rows of " + nameOf(source) +
                           " than it computes");
  }
  return canHold(groupOf(operand.get()), op, why);
}

std::optional<PlacementAttrInterface>
Grouping::placementIn(int number, Operation *op, std::string *why) const {
  std::optional<PlacementAttrInterface> agreed;
  for (Value operand : op->getOperands()) {
    auto [source, view] = lookThroughViews(operand);
    Operation *producer = source.getDefiningOp();
    if (!holds(number, producer)) {
      continue;
    }
    PlacementAttrInterface placement =
        composePlacements(inverseOf(view), placementOf(producer));
    if (agreed && *agreed != placement) {
      refuse(why, nameOf(op) + " reads rows of its operands in two orders; it "
                               "joins if they have one order");
      return std::nullopt;
    }
    agreed = placement;
  }
  std::string obstacle = agreed && *agreed ? whyNotPlaced(op, *agreed) : "";
  if (!obstacle.empty()) {
    refuse(why, obstacle);
    return std::nullopt;
  }
  return agreed.value_or(PlacementAttrInterface());
}

int Grouping::earliestGroupFor(OpOperand &operand) const {
  int producer = groupOf(operand.get());
  return producer >= 0 && canJoin(operand) ? producer
                                           : lastGroupOf(operand.get()) + 1;
}

int Grouping::earliestGroup(Operation *op) const {
  int earliest = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    earliest = std::max(earliest, earliestGroupFor(operand));
  }
  return earliest;
}

std::string Grouping::whyApart(OpOperand &operand) const {
  if (!chain) {
    return "every operation is to be a kernel of its own; it joins where "
           "'hova-fuse-kernels' is not left out";
  }
  std::string why;
  Operation *op = operand.getOwner();
  if (!canJoin(operand, &why) ||
      !placementIn(groupOf(operand.get()), op, &why)) {
    return why;
  }
  // It could, if it did not have to wait for another operand.
  for (OpOperand &other : op->getOpOperands()) {
    if (earliestGroupFor(other) > groupOf(operand.get())) {
      Operation *source = lookThroughViews(other.get()).source.getDefiningOp();
      return nameOf(op) + " also reads " + nameOf(source) +
             ", which is computed in a later kernel; it joins if all that it "
             "reads is computed in that kernel or before";
    }
  }
  return whyNoRows(op);
}

void Grouping::noteMissedFusions(Operation *op, int number) {
  for (OpOperand &operand : op->getOpOperands()) {
    int producer = groupOf(operand.get());
    Operation *source = lookThroughViews(operand.get()).source.getDefiningOp();
    if (isAssembled(source)) {
      bool hasOtherRows = !isa<AssembleOpInterface>(source);
      missedFusions.push_back(
          {&operand, nameOf(op) + " reads " + nameOf(source) +
                         (hasOtherRows ? ", which has other rows than "
                                         "the kernel that computes them"
                                       : ", whose rows several kernels "
                                         "write")});
    } else if (producer >= 0 && producer != number) {
      missedFusions.push_back({&operand, whyApart(operand)});
    } else {
      continue;
    }
    LDBG() << op->getName() << " at " << op->getLoc()
           << " is apart: " << missedFusions.back().why;
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Grouping::placeFormed(KernelOp kernel) {
  index[kernel] = groups.size();
  Group group;
  group.isFormed = true;
  group.ops.push_back(kernel);
  groups.push_back(std::move(group));
}

void Grouping::place(Operation *op, int number) {
  Group &group = groups[number];
  LDBG() << op->getName() << " at " << op->getLoc()
         << (group.ops.empty() ? " begins kernel " : " joins kernel ")
         << number;
  group.ops.push_back(op);
  if (group.division == Division::columnStrips) {
    group.columns.add(op);
  }
  placements[op] = *placementIn(number, op);
  index[op] = number;
}

LogicalResult Grouping::run() {
  for (Operation &op : block.without_terminator()) {
    if (chain && isColumnGroup(&op, columnGroupWidth)) {
      place(&op, groupOf(op.getOperand(0)));
      continue;
    }
    if (isa<ImageWeightOp>(op) || isView(&op)) {
      continue;
    }
    if (auto reshape = dyn_cast<ReshapeOp>(op);
        reshape && canReshape(reshape)) {
      assembled.insert(&op);
      continue;
    }
    if (canViewRows(&op)) {
      assembled.insert(&op);
      continue;
    }
    if (canAssemble(&op)) {
      assembled.insert(&op);
      parts.insert(op.operand_begin(), op.operand_end());
      continue;
    }
    if (auto kernel = dyn_cast<KernelOp>(op)) {
      placeFormed(kernel);
      continue;
    }
    if (!isa<StructuredOpInterface>(op)) {
      return op.emitError("no kernel can hold '") << op.getName() << "'";
    }
    if (Type type = firstDynamicType(&op)) {
      return op.emitError("kernels need static shapes, got ") << type;
    }
    if (waitsForReader(&op)) {
      waiting.insert(&op);
      continue;
    }
    for (Value operand : op.getOperands()) {
      Operation *moved = operand.getDefiningOp();
      if (waiting.contains(moved)) {
        choose(moved, earliestGroup(&op)); // which is after its operands
        waiting.erase(moved);
      }
    }
    choose(&op, earliestGroup(&op));
  }
  return success();
}

void Grouping::choose(Operation *op, int earliest) {
  Division division = divisionOf(op);
  int chosen = earliest, count = groups.size();
  if (division != Division::rows || !chain) {
    chosen = count;
  }
  while (chosen < count && (!canHold(chosen, op) || !placementIn(chosen, op))) {
    ++chosen;
  }
  noteMissedFusions(op, chosen);
  if (chosen == count) {
    groups.push_back({division, false, unitsOf(op), rowsOf(op), {}, {}});
  }
  place(op, chosen);
}

} // namespace hova
