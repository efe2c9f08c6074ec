//===- NormalizeWeights.cpp - The weight program --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whatever no input reaches is computed once, when weights are packed, instead
// of in every run: it moves to `@weights`, and `main` reads the results from
// the weight image. A module without weights stays as it is.

#include "dialect/DenseOps.h"
#include "dialect/ProgramOps.h"
#include "dialect/Shapes.h"
#include "mlir/IR/IRMapping.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZEWEIGHTSPASS
#include "passes/normalize/Passes.h.inc"

bool isWeightOperation(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumRegions() ||
      op->getNumResults() != 1 || !isMemoryEffectFree(op)) {
    return false;
  }
  return llvm::all_of(op->getOperands(), isWeightValue);
}

bool isWeightValue(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isWeightOperation(op);
}

void hoistWeightValues(Block &block) {
  SmallVector<Operation *> found;
  for (Operation &op : block) {
    if (isWeightOperation(&op)) {
      found.push_back(&op);
    }
  }
  for (Operation *op : llvm::reverse(found)) {
    op->moveBefore(&block, block.begin());
  }
}

/// linear %x, %t {transposed} -> linear %x, (transpose %t)
static void plainTransposedLinears(func::FuncOp function) {
  function.walk([](LinearOp op) {
    if (!op.getTransposed() || !isWeightValue(op.getWeight())) {
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
  Operation *op = value.getDefiningOp();
  if (auto weight = dyn_cast<WeightOp>(op)) {
    return weight.getName().str();
  }
  StringRef verb = op->getName().stripDialect();
  for (Value operand : op->getOperands()) {
    return imageName(operand) + "." + verb.str();
  }
  return verb.str();
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
    llvm::SetVector<Value> read;
    for (Operation &op : main.getBody().front()) {
      if (!isWeightOperation(&op)) {
        for (Value operand : op.getOperands()) {
          if (isWeightValue(operand)) {
            read.insert(operand);
          }
        }
      }
    }
    if (!read.empty()) {
      moveToWeightProgram(main, read.getArrayRef());
    }
  }

  void moveToWeightProgram(func::FuncOp main, ArrayRef<Value> read) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(main);
    auto weights = func::FuncOp::create(builder, main.getLoc(), "weights",
                                        builder.getFunctionType({}, {}));
    weights.setPrivate();
    builder.setInsertionPointToStart(weights.addEntryBlock());
    IRMapping mapping;
    SmallVector<Operation *> moved;
    for (Operation &op : main.getBody().front()) {
      if (isWeightOperation(&op)) {
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
                                name, /*panel=*/IntegerAttr());
      value.replaceUsesWithIf(reference, [](OpOperand &use) {
        return !isWeightOperation(use.getOwner());
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

  /// Appends what `op` reads, then `op`.
  static void moveToEnd(Operation *op, Block &block,
                        DenseSet<Operation *> &placed) {
    if (!placed.insert(op).second) {
      return;
    }
    for (Value operand : op->getOperands()) {
      moveToEnd(operand.getDefiningOp(), block, placed);
    }
    op->moveBefore(block.getTerminator());
  }
};
} // namespace
} // namespace hova
