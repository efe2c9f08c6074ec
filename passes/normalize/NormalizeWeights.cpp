//===- NormalizeWeights.cpp - The folding of weights ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever no input reaches is computed once, when weights are packed, instead
// of in every run: it moves to `@weights`, and `main` reads the results from
// the packed weights. A module without weights stays as it is.

#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZEWEIGHTSPASS
#include "passes/normalize/Passes.h.inc"

WeightValues::WeightValues(Block &block) {
  for (Operation &op : block) {
    add(&op);
  }
}

void WeightValues::add(Operation *op) {
  if (!op->hasTrait<OpTrait::IsTerminator>() && !op->hasTrait<PerItem>() &&
      !op->getNumRegions() && op->getNumResults() == 1 &&
      isMemoryEffectFree(op) &&
      llvm::all_of(op->getOperands(),
                   [&](Value operand) { return makes(operand); })) {
    ops.insert(op);
  }
}

void WeightValues::hoist(Block &block) const {
  SmallVector<Operation *> found;
  for (Operation &op : block) {
    if (contains(&op)) {
      found.push_back(&op);
    }
  }
  for (Operation *op : llvm::reverse(found)) {
    op->moveBefore(&block, block.begin());
  }
}

/// linear %x, %t {transposed} -> linear %x, (transpose %t)
static void plainTransposedLinears(func::FuncOp function) {
  WeightValues weights(function.getBody().front());
  function.walk([&](LinearOp op) {
    if (!op.getTransposed() || !weights.makes(op.getWeight())) {
      return;
    }
    OpBuilder builder(op);
    ArrayRef<int64_t> shape = shapeOf(op.getWeight());
    auto type = RankedTensorType::get({shape[1], shape[0]},
                                      getElementTypeOrSelf(op.getWeight()));
    op.getWeightMutable().assign(TransposeOp::create(
        builder, op.getWeight().getLoc(), type, op.getWeight()));
    op.setTransposed(false);
  });
}

/// A name for the stored value: that of the weight it is, or of the first one
/// it is made of with what was done to it.
static std::string imageName(Value value) {
  SmallVector<StringRef> verbs;
  Operation *op = value.getDefiningOp();
  for (; op->getNumOperands() != 0; op = op->getOperand(0).getDefiningOp()) {
    verbs.push_back(op->getName().stripDialect());
  }
  auto weight = dyn_cast<WeightOp>(op);
  std::string name =
      (weight ? weight.getName() : op->getName().stripDialect()).str();
  for (StringRef verb : llvm::reverse(verbs)) {
    name += "." + verb.str();
  }
  return name;
}

namespace {
struct NormalizeWeightsPass final
    : impl::NormalizeWeightsPassBase<NormalizeWeightsPass> {
  using Base::Base;
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() ||
        getOperation().lookupSymbol<func::FuncOp>("weights")) {
      return;
    }
    plainTransposedLinears(main);
    // What the other operations read of the weight values, in program order.
    WeightValues values(main.getBody().front());
    llvm::SetVector<Value> read;
    for (Operation &op : main.getBody().front()) {
      if (!values.contains(&op)) {
        for (Value operand : op.getOperands()) {
          if (values.makes(operand)) {
            read.insert(operand);
          }
        }
      }
    }
    if (!read.empty()) {
      moveToFoldingFunction(main, values, read.getArrayRef());
    }
  }

  void moveToFoldingFunction(func::FuncOp main, const WeightValues &values,
                             ArrayRef<Value> read) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(main);
    auto weights = func::FuncOp::create(builder, main.getLoc(), "weights",
                                        builder.getFunctionType({}, {}));
    weights.setPrivate();
    builder.setInsertionPointToStart(weights.addEntryBlock());
    IRMapping mapping;
    SmallVector<Operation *> moved;
    for (Operation &op : main.getBody().front()) {
      if (values.contains(&op)) {
        builder.clone(op, mapping);
        moved.push_back(&op);
      }
    }
    OpBuilder references = OpBuilder::atBlockBegin(&main.getBody().front());
    llvm::StringMap<int> uses;
    for (Value value : read) {
      std::string name = imageName(value);
      if (int count = uses[name]++) {
        name += "." + std::to_string(count);
      }
      StoreWeightOp::create(builder, value.getLoc(), name,
                            mapping.lookup(value));
      Value reference =
          ImageWeightOp::create(references, value.getLoc(), value.getType(),
                                name, /*layout=*/nullptr);
      value.replaceUsesWithIf(reference, [&](OpOperand &use) {
        return !values.contains(use.getOwner());
      });
    }
    func::ReturnOp::create(builder, main.getLoc());
    for (Operation *op : llvm::reverse(moved)) {
      op->erase();
    }
    sinkToFirstUse(weights.getBody().front());
  }

  /// Stores keep their order, which is that of the image; everything else moves
  /// down to what reads it first. Weights then live one after the other. No two
  /// operations are asked which comes first: a block that changes would number
  /// all of its operations again for every answer.
  static void sinkToFirstUse(Block &block) {
    auto stores = llvm::to_vector(block.getOps<StoreWeightOp>());
    DenseSet<Operation *> placed;
    for (StoreWeightOp store : stores) {
      moveToEnd(store, block, placed);
    }
  }

  /// Appends what `op` reads, then `op`. Weights may be computed in as many
  /// steps as the model has layers, so those that wait are kept in a list.
  static void moveToEnd(Operation *op, Block &block,
                        DenseSet<Operation *> &placed) {
    // An operation with the number of its first operand that is not placed.
    SmallVector<std::pair<Operation *, unsigned>> waiting = {{op, 0}};
    placed.insert(op);
    while (!waiting.empty()) {
      auto &[reader, next] = waiting.back();
      if (next == reader->getNumOperands()) {
        reader->moveBefore(block.getTerminator());
        waiting.pop_back();
        continue;
      }
      Operation *operand = reader->getOperand(next++).getDefiningOp();
      if (placed.insert(operand).second) {
        waiting.push_back({operand, 0});
      }
    }
  }
};
} // namespace
} // namespace hova
