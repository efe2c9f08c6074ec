//===- Stages.cpp - Divides the operations of a kernel into stages --------===//
// SPDX-License-Identifier: Apache-2.0
//
// First each operation gets the number of its stage, then the stages become
// regions in that order. A value that is read after its stage becomes a result
// of it, with a layout for what reads it.

#include "codegen/cpu/schedule/Stages.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/Shapes.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Columns.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
/// Numbers the stages of a kernel's operations.
class StageNumbers {
public:
  StageNumbers(KernelOp kernel, const CpuFacts &facts) : facts(facts) {
    dividesColumns = divisionOf(kernel) == Division::columnStrips;
    dividesSequences = divisionOf(kernel) == Division::sequences;
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      if (isKernelView(&op) && isReadAsView(&op) && !isColumnGroup(&op)) {
        continue;
      }
      int64_t stage = chooseStage(&op);
      stages[&op] = stage;
      anchors[stage].columns.add(&op);
    }
  }

  int64_t count() const { return anchors.size(); }

  /// The number of an operation's stage; for a view, of what it is a view of,
  /// and -1 where that is an input.
  int64_t of(Operation *op) const {
    while (op && !stages.count(op)) {
      op = op->getOperand(0).getDefiningOp();
    }
    return op ? stages.lookup(op) : -1;
  }
  bool isView(Operation *op) const { return !stages.count(op); }

private:
  /// Where tokens lie in lanes there are no panels, and all columns are views.
  bool isColumnGroup(Operation *op) const {
    return !dividesSequences && hova::isColumnGroup(op, facts.panelColumns);
  }

  static bool isReadAsView(Operation *op) {
    return cast<SliceOp>(op).takesColumns() &&
           llvm::none_of(op->getUsers(), llvm::IsaPred<YieldOp>);
  }

  int64_t stageOf(Value value) const { return of(value.getDefiningOp()); }

  /// Element-wise operations join the stage that makes one of their operands
  /// if the others are there before: their tile is then still in registers.
  int64_t chooseStage(Operation *op) {
    if (isColumnGroup(op)) {
      return stageOf(op->getOperand(0));
    }
    // Where threads divide columns there is one stage: also what reads nothing
    // of the product is computed with its tiles.
    if (dividesColumns && !anchors.empty()) {
      return 0;
    }
    if (joinsTiles(op)) {
      int64_t joined = -1;
      for (Value operand : op->getOperands()) {
        joined = std::max(joined, stageOf(operand));
      }
      if (joined >= 0 && canJoin(op, joined)) {
        return joined;
      }
    }
    anchors.push_back({op, {}});
    return anchors.size() - 1;
  }

  bool canJoin(Operation *op, int64_t stage) const {
    const auto &[anchor, columns] = anchors[stage];
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    std::optional<TileScope> held = heldScopeOf(anchor);
    if (!held || !columns.find(op) ||
        shapeOf(anchor->getResult(0)).drop_back() != shape.drop_back() ||
        (dividesSequences && shapeOf(anchor->getResult(0)) != shape)) {
      return false;
    }
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      bool isTile = definition && stages.count(definition) &&
                    stages.lookup(definition) == stage;
      if (!isTile && stageOf(operand) >= stage) {
        return false; // a slice of the stage's own result is not stored yet
      }
      // A table that repeats every few rows lines up with single rows only:
      // rows of a tile are read one by one where a stage of its own costs more.
      int64_t rows = staticSize(shapeOf(operand).drop_back());
      if (*held < TileScope::row && isElementwise(op) && rows != 1 &&
          rows != staticSize(shape.drop_back())) {
        return false;
      }
    }
    return true;
  }

  struct Stage {
    Operation *anchor;
    StageColumns columns;
  };
  const CpuFacts &facts;
  bool dividesColumns = false, dividesSequences = false;
  DenseMap<Operation *, int64_t> stages;
  SmallVector<Stage> anchors;
};
} // namespace

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Whether no gap may lie between the rows of `value`: it is an output of the
/// program, or rows of one, or it is reshaped.
static bool mustBeDense(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp, ReshapeOp>(user) ||
           (isa<AssembleOpInterface>(user) && mustBeDense(user->getResult(0)));
  });
}

/// Elements from one row to the next: rows begin at cache lines.
static int64_t strideOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  bool isNarrow = type.getElementTypeBitWidth() == 16;
  int64_t stride = paddedStride(type.getRank() ? type.getShape().back() : 1,
                                isNarrow ? 2 : 4);
  return type.getElementType().isInteger(1)
             ? llvm::alignTo(stride, CpuFacts::lineBytes)
             : stride;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {
/// Moves the operations of a kernel into the regions of their stages.
class StageBuilder {
public:
  StageBuilder(KernelOp kernel, const CpuFacts &facts)
      : kernel(kernel), facts(facts),
        builder(kernel.getBody().front().getTerminator()) {}

  void run() {
    StageNumbers numbers(kernel, facts);
    SmallVector<SmallVector<Operation *>> stages(numbers.count());
    // Those of stage i - 1 at i: they stand after it.
    SmallVector<SmallVector<Operation *>> views(numbers.count() + 1);
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      int64_t stage = numbers.of(&op);
      (numbers.isView(&op) ? views[stage + 1] : stages[stage]).push_back(&op);
    }
    moveToEnd(views.front());
    for (auto [i, ops] : llvm::enumerate(stages)) {
      createStage(ops);
      moveToEnd(views[i + 1]);
    }
  }

private:
  /// What a stage hands on, and to whom.
  struct Results {
    SmallVector<Value> values;
    SmallVector<Attribute> layouts;
    SmallVector<SmallVector<OpOperand *>> uses;
  };

  void moveToEnd(ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      op->moveBefore(kernel.getBody().front().getTerminator());
    }
  }

  /// Tokens of whole sequences in the lanes of vectors.
  LayoutAttr laneLayout(Value value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    int64_t unitTokens = shape[0] / kernel.getUnits()->count() * shape[1];
    return LayoutAttr::get(value.getContext(), LayoutKind::token_columns,
                           std::min(unitTokens, facts.sequenceTile.columns));
  }

  LayoutAttr rowLayout(Value value, ArrayRef<OpOperand *> uses) {
    bool isDense = llvm::any_of(uses, [&](OpOperand *use) {
      if (!isa<YieldOp>(use->getOwner())) {
        return false;
      }
      Value result = kernel.getResult(use->getOperandNumber());
      return mustBeDense(result) || isPacked(result);
    });
    int64_t width = shapeOf(value).empty() ? 1 : shapeOf(value).back();
    return LayoutAttr::get(value.getContext(), LayoutKind::rows,
                           isDense ? width : strideOf(value));
  }

  void addResults(Value value, ArrayRef<Operation *> stage, Results &results) {
    SmallVector<OpOperand *> rows, lanes;
    bool keepsLanes = divisionOf(kernel) == Division::sequences;
    for (OpOperand &use : value.getUses()) {
      if (!llvm::is_contained(stage, use.getOwner())) {
        bool inLanes = keepsLanes && !isa<YieldOp>(use.getOwner());
        (inLanes ? lanes : rows).push_back(&use);
      }
    }
    auto add = [&](LayoutAttr layout, ArrayRef<OpOperand *> uses) {
      results.values.push_back(value);
      results.layouts.push_back(layout);
      results.uses.push_back(llvm::to_vector(uses));
    };
    if (!lanes.empty()) {
      add(laneLayout(value), lanes);
    }
    if (!rows.empty()) {
      add(rowLayout(value, rows), rows);
    }
  }

  void createStage(ArrayRef<Operation *> ops) {
    Results results;
    for (Operation *op : ops) {
      for (Value result : op->getResults()) {
        addResults(result, ops, results);
      }
    }
    auto stage = StageOp::create(builder, ops.front()->getLoc(),
                                 TypeRange(ValueRange(results.values)),
                                 builder.getArrayAttr(results.layouts));
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&stage.getBody());
    auto yield = YieldOp::create(builder, stage.getLoc(), results.values);
    for (Operation *op : ops) {
      op->moveBefore(yield);
    }
    for (auto [result, uses] : llvm::zip(stage.getResults(), results.uses)) {
      for (OpOperand *use : uses) {
        use->set(result);
      }
    }
  }

  KernelOp kernel;
  const CpuFacts &facts;
  OpBuilder builder;
};
} // namespace

void formStages(KernelOp kernel, const CpuFacts &facts) {
  StageBuilder(kernel, facts).run();
}

} // namespace hova
