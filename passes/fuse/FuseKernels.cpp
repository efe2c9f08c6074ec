//===- FuseKernels.cpp - Group operations into kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is what threads do without waiting for each other. Operations whose
// rows depend on the same rows of one another (linear, norm, residual, gate)
// chain into one kernel that divides rows; attention and gathers read rows that
// other threads own and begin a new one. Operations are placed in program order
// into the earliest kernel that may hold them, so two chains that do not depend
// on each other do not split each other.
//
// Columns of a product that are values of their own (passes/Columns.h) join its
// kernel, which then yields them instead of the whole, and so does what works
// element by element on them.
//
// In a chain every thread reads all weights for its own rows. With few rows
// that takes longer than the multiplications, so there a product is a kernel of
// its own, with what works element by element on its result, and threads divide
// its columns: each weight is read once. Small products stay in their chain: to
// meet behind each would cost more. What few and small are, the target says
// (FusionPolicy.h). Does nothing without `@main`.

#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/ProgramOps.h"
#include "dialect/Shapes.h"
#include "dialect/TokenOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Columns.h"
#include "passes/Units.h"
#include "passes/Verdict.h"
#include "passes/fuse/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "passes/fuse/Passes.h.inc"

namespace {
/// Operations that will become one kernel.
struct Group {
  Division division = Division::rows;
  UnitsAttr units;
  int64_t rows = 0;
  SmallVector<Operation *> ops;
  StageColumns columns; ///< where threads divide panels
};

/// All operations of `main`, grouped.
class Grouping {
public:
  /// Without `chain` every operation is a group of its own.
  Grouping(Block &block, const FusionPolicy &policy, bool chain)
      : block(block), policy(policy), chain(chain) {}

  LogicalResult run();
  ArrayRef<Group> getGroups() const { return groups; }
  /// Group of the operation that computes `value`, -1 for inputs and weights.
  int groupOf(Value value) const;
  /// A slice of columns is an address, not work, unless it leaves the program
  /// or is a column group of a product that it holds.
  bool isView(Operation *op) const;
  /// The value whose memory `value` is.
  Value lookThroughViews(Value value) const;

private:
  /// What the threads of a kernel that begins with `op` divide.
  Division divisionOf(Operation *op) const;
  UnitsAttr unitsOf(Operation *op) const;
  /// In how many blocks threads divide a dim of `op` besides its units.
  int64_t chooseBlocks(Operation *op) const;
  /// Whether group `number` may hold `op`, its operands' groups aside.
  bool canHold(int number, Operation *op) const;
  /// The first group in which `op` can stand.
  int earliestGroup(Operation *op) const;
  void place(Operation *op, int number);

  Block &block;
  FusionPolicy policy;
  bool chain;
  SmallVector<Group> groups;
  DenseMap<Operation *, int> index;
};
} // namespace

bool Grouping::isView(Operation *op) const {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  return slice && slice.takesColumns() && !index.contains(op) &&
         llvm::none_of(op->getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>();
         });
}

Value Grouping::lookThroughViews(Value value) const {
  while (isView(value.getDefiningOp())) {
    value = value.getDefiningOp<SliceOp>().getX();
  }
  return value;
}

static int64_t rowsOf(Operation *op) {
  return staticSize(shapeOf(op->getResult(0)).drop_back());
}

int Grouping::groupOf(Value value) const {
  auto found = index.find(lookThroughViews(value).getDefiningOp());
  return found == index.end() ? -1 : found->second;
}

Division Grouping::divisionOf(Operation *op) const {
  auto linear = dyn_cast<LinearOp>(op);
  bool columns = linear && rowsOf(op) < policy.fewRows &&
                 linear.getLinearMacs() >= policy.leastMacs;
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
    return (groupOf(operand) != number || !isView(operand.getDefiningOp())) &&
           (rows == 1 || rows == group.rows);
  });
}

int Grouping::earliestGroup(Operation *op) const {
  IterationSpace space = cast<StructuredOpInterface>(op).getIterationSpace();
  int earliest = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    int producer = groupOf(operand.get());
    if (producer < 0) {
      continue;
    }
    bool aligned =
        space.readsSameRow(operand.getOperandNumber()) && canHold(producer, op);
    earliest = std::max(earliest, aligned ? producer : producer + 1);
  }
  return earliest;
}

void Grouping::place(Operation *op, int number) {
  Group &group = groups[number];
  group.ops.push_back(op);
  if (group.division == Division::panels) {
    group.columns.add(op);
  }
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
    if (!isa<StructuredOpInterface>(op)) {
      return op.emitError("no kernel can hold '") << op.getName() << "'";
    }
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    if (!type.hasStaticShape()) {
      return op.emitError("kernels need static shapes, got ") << type;
    }
    Division division = divisionOf(&op);
    int chosen = earliestGroup(&op), count = groups.size();
    if (division != Division::rows || !chain) {
      chosen = count;
    }
    while (chosen < count && !canHold(chosen, &op)) {
      ++chosen;
    }
    if (chosen == count) {
      groups.push_back({division, unitsOf(&op), rowsOf(&op), {}, {}});
    }
    place(&op, chosen);
  }
  return success();
}

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

/// Every result of the program is a value of its own that a kernel computes: an
/// input handed through, or one value handed out twice, is copied. A mask,
/// which is no number to copy, is computed once more.
static void copySharedResults(Block &block) {
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  llvm::SmallPtrSet<Value, 8> seen;
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value value = operand.get();
    Operation *op = value.getDefiningOp();
    if (op && !isa<ImageWeightOp>(op) && seen.insert(value).second) {
      continue;
    }
    auto type = cast<RankedTensorType>(value.getType());
    if (isa<FloatType>(type.getElementType()) && type.getRank() > 0) {
      operand.set(ConcatOp::create(builder, value.getLoc(), type, value,
                                   type.getRank() - 1));
    } else if (op) {
      operand.set(builder.clone(*op)->getResult(0));
    }
  }
}

namespace {
struct FuseKernelsPass final : impl::FuseKernelsPassBase<FuseKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !main.getOps<KernelOp>().empty()) {
      return;
    }
    Block &block = main.getBody().front();
    copySharedResults(block);
    Grouping grouping(
        block, {fewRows, leastMacs, columnGroupWidth, fewUnits, leastBlock},
        chain);
    if (failed(grouping.run())) {
      return signalPassFailure();
    }
    // Views stay until the last kernel is built: they lead to their sources.
    SmallVector<Operation *> old;
    for (Operation &op : block.without_terminator()) {
      if (!isa<ImageWeightOp>(op)) {
        old.push_back(&op);
      }
    }
    for (int i = 0, e = grouping.getGroups().size(); i < e; ++i) {
      KernelBuilder(grouping, i, block).build();
    }
    for (Operation *op : llvm::reverse(old)) {
      op->erase();
    }
    main.walk([](AttentionOp site) {
      auto kernel = site->getParentOfType<KernelOp>();
      writeVerdict(site, kernel ? kernel.getName() : StringRef());
    });
  }
};
} // namespace
} // namespace hova
