//===- KernelBuilder.cpp - A group of operations as a kernel --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/KernelBuilder.h"
#include "dialect/Interfaces.h"
#include "dialect/Site.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hova {
Operation *namesakeOf(ArrayRef<Operation *> ops) {
  auto work = [](Operation *op) -> int64_t {
    auto cost = dyn_cast<CostOpInterface>(op);
    return cost ? *macsOf(cost) : 0;
  };
  return *llvm::max_element(
      ops, [&](Operation *a, Operation *b) { return work(a) < work(b); });
}

namespace {
/// Builds the kernel of one group at the end of the block and replaces the
/// group's values.
class KernelBuilder {
public:
  KernelBuilder(const Grouping &grouping, int index, Block &block)
      : grouping(grouping), index(index), builder(block.getTerminator()) {}

  void build();

private:
  KernelOp createKernel();
  void addOperation(Operation *op);
  /// What stands in the kernel for `value`, its rows as `placement` makes them.
  Value valueAt(Value value, PlacementAttrInterface placement);
  Value addInput(Value value, PlacementAttrInterface placement);
  /// A copy of `op` in the kernel, its rows as `placement` makes them.
  Operation *cloneAt(Operation *op, const IRMapping &mapping,
                     PlacementAttrInterface placement);
  bool isReadOutside(Value value);

  const Grouping &grouping;
  int index;
  OpBuilder builder;
  KernelOp kernel;
  llvm::SetVector<Value> results;
  SmallVector<PlacementAttrInterface> inputPlacements;
  /// What the kernel holds of a value with a placement.
  DenseMap<std::pair<Value, Attribute>, Value> values;
};
} // namespace

bool KernelBuilder::isReadOutside(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>()) {
      return true;
    }
    return grouping.isView(user) ? isReadOutside(user->getResult(0))
                                 : !grouping.holds(index, user);
  });
}

Operation *KernelBuilder::cloneAt(Operation *op, const IRMapping &mapping,
                                  PlacementAttrInterface placement) {
  IRMapping inner = mapping;
  Operation *clone = builder.clone(*op, inner);
  for (Value result : clone->getResults()) {
    result.setType(
        placedType(placement, cast<RankedTensorType>(result.getType())));
  }
  return clone;
}

Value KernelBuilder::addInput(Value value, PlacementAttrInterface placement) {
  kernel.getInputsMutable().append(value);
  inputPlacements.push_back(placement);
  return kernel.getBody().addArgument(
      placedType(placement, cast<RankedTensorType>(value.getType())),
      value.getLoc());
}

Value KernelBuilder::valueAt(Value value, PlacementAttrInterface placement) {
  Value &known = values[{value, placement}];
  if (known) {
    return known;
  }
  Operation *op = value.getDefiningOp();
  Value made;
  if (auto rearrange = dyn_cast_or_null<RearrangeOp>(op);
      rearrange && grouping.isView(op)) {
    made = valueAt(rearrange.getX(),
                   composePlacements(rearrange.getPlacement(), placement));
  } else if (op && grouping.isView(op)) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), valueAt(op->getOperand(0), placement));
    made = cloneAt(op, mapping, placement)->getResult(0);
  } else {
    made = addInput(value, placement);
  }
  // The map may have grown meanwhile.
  return values[{value, placement}] = made;
}

void KernelBuilder::addOperation(Operation *op) {
  PlacementAttrInterface placement = grouping.placementOf(op);
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isRow = space.readsSameRow(operand.getOperandNumber());
    mapping.map(
        operand.get(),
        valueAt(operand.get(), isRow ? placement : PlacementAttrInterface()));
  }
  Operation *clone = cloneAt(op, mapping, placement);
  for (auto [old, result] : llvm::zip(op->getResults(), clone->getResults())) {
    values[{old, placement}] = result;
    if (isReadOutside(old)) {
      results.insert(old);
    }
  }
}

KernelOp KernelBuilder::createKernel() {
  const Group &group = grouping.getGroups()[index];
  Operation *namesake = namesakeOf(group.ops);
  SmallVector<Type> types;
  for (Operation *op : group.ops) {
    for (Value result : op->getResults()) {
      if (isReadOutside(result)) {
        types.push_back(result.getType());
      }
    }
  }
  StringRef path = pathOf(namesake->getLoc());
  KernelOp kernel =
      KernelOp::create(builder, namesake->getLoc(), types,
                       path.empty() ? "main" : path, ValueRange(), group.units,
                       ArrayAttr(), ArrayAttr(), ScheduleAttrInterface());
  kernel.getBody().emplaceBlock();
  return kernel;
}

void KernelBuilder::build() {
  kernel = createKernel();
  builder.setInsertionPointToStart(&kernel.getBody().front());
  for (Operation *op : grouping.getGroups()[index].ops) {
    addOperation(op);
  }
  SmallVector<Value> yielded;
  SmallVector<PlacementAttrInterface> resultPlacements;
  for (Value result : results) {
    auto placement = grouping.placementOf(result.getDefiningOp());
    resultPlacements.push_back(placement);
    yielded.push_back(values.lookup({result, placement}));
  }
  YieldOp::create(builder, kernel.getLoc(), yielded);
  kernel.setPlacements(inputPlacements, resultPlacements);
  for (auto [old, value] : llvm::zip(results, kernel.getResults())) {
    Value(old).replaceUsesWithIf(value, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user->hasTrait<OpTrait::IsTerminator>() || grouping.isView(user) ||
             !grouping.holds(index, user);
    });
  }
}

void buildKernel(const Grouping &grouping, int number, Block &block) {
  const Group &group = grouping.getGroups()[number];
  if (group.isFormed) {
    return group.ops.front()->moveBefore(block.getTerminator());
  }
  KernelBuilder(grouping, number, block).build();
}

} // namespace hova
