//===- KernelBuilder.cpp - A group of operations as a kernel --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/KernelBuilder.h"
#include "dialect/Interfaces.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hova {
/// The operation that a kernel is named for: the one with most work.
static Operation *anchorOf(const Group &group) {
  auto work = [](Operation *op) -> int64_t {
    auto cost = dyn_cast<CostOpInterface>(op);
    return cost ? cost.getLinearMacs() + cost.getAttentionMacs() : 0;
  };
  return *llvm::max_element(
      group.ops, [&](Operation *a, Operation *b) { return work(a) < work(b); });
}

/// The path in the description, from the location's name.
static StringRef pathOf(Location loc, StringRef otherwise) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    return name.getName();
  }
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    return pathOf(fused.getLocations().front(), otherwise);
  }
  return otherwise;
}

namespace {
/// Builds the kernel of one group at the end of the block and replaces the
/// group's values.
class KernelBuilder {
public:
  KernelBuilder(const Grouping &grouping, int index, Block &block)
      : grouping(grouping), index(index), block(block) {}

  void build() {
    const Group &group = grouping.getGroups()[index];
    for (Operation *op : group.ops) {
      collect(op);
    }
    OpBuilder builder(block.getTerminator());
    Operation *anchor = anchorOf(group);
    auto kernel = KernelOp::create(
        builder, anchor->getLoc(), ValueRange(results.getArrayRef()).getTypes(),
        pathOf(anchor->getLoc(), "main"), inputs.getArrayRef(), group.units);
    Block &body = kernel.getBody().emplaceBlock();
    IRMapping mapping;
    for (Value input : inputs) {
      mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
    }
    builder.setInsertionPointToStart(&body);
    for (Operation *op : group.ops) {
      for (Value operand : op->getOperands()) {
        cloneViews(builder, operand, mapping);
      }
      builder.clone(*op, mapping);
    }
    SmallVector<Value> yielded;
    for (Value result : results) {
      yielded.push_back(mapping.lookup(result));
    }
    YieldOp::create(builder, anchor->getLoc(), yielded);
    for (auto [old, value] : llvm::zip(results, kernel.getResults())) {
      Value(old).replaceUsesWithIf(value, [&](OpOperand &use) {
        Operation *user = use.getOwner();
        return user->hasTrait<OpTrait::IsTerminator>() ||
               grouping.isView(user) ||
               grouping.groupOf(user->getResult(0)) != index;
      });
    }
  }

private:
  void collect(Operation *op) {
    for (Value operand : op->getOperands()) {
      Value source = grouping.lookThroughViews(operand);
      if (grouping.groupOf(source) != index) {
        inputs.insert(source);
      }
    }
    for (Value result : op->getResults()) {
      if (isReadOutside(result)) {
        results.insert(result);
      }
    }
  }

  bool isReadOutside(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (user->hasTrait<OpTrait::IsTerminator>()) {
        return true;
      }
      return grouping.isView(user)
                 ? isReadOutside(user->getResult(0))
                 : grouping.groupOf(user->getResult(0)) != index;
    });
  }

  void cloneViews(OpBuilder &builder, Value value, IRMapping &mapping) {
    if (grouping.isView(value.getDefiningOp()) && !mapping.contains(value)) {
      cloneViews(builder, value.getDefiningOp()->getOperand(0), mapping);
      builder.clone(*value.getDefiningOp(), mapping);
    }
  }

  const Grouping &grouping;
  int index;
  Block &block;
  llvm::SetVector<Value> inputs, results;
};
} // namespace

void buildKernel(const Grouping &grouping, int number, Block &block) {
  KernelBuilder(grouping, number, block).build();
}

} // namespace hova
