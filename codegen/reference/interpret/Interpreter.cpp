//===- Interpreter.cpp - Functions and control flow -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/interpret/Interpreter.h"
#include "codegen/reference/interpret/Frame.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static const StepTable &stepTable() {
  static const StepTable table = [] {
    StepTable made;
    addArithSteps(made);
    addControlSteps(made);
    addMemorySteps(made);
    addTileSteps(made);
    addVectorSteps(made);
    return made;
  }();
  return table;
}

/// Null where there is none.
static StepFunction findStep(Operation *op) {
  StepFunction step = findTileStep(op);
  return step ? step : stepTable().lookup(op->getName().getStringRef());
}

uint32_t Frame::slotOf(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, slots.size());
  if (isNew) {
    slots.emplace_back();
  }
  return entry->second;
}

LogicalResult Frame::addBlock(Block &block) {
  for (BlockArgument argument : block.getArguments()) {
    slotOf(argument);
  }
  std::vector<Step> steps;
  for (Operation &op : block) {
    bool ends = op.hasTrait<OpTrait::IsTerminator>();
    StepFunction run = ends ? nullptr : findStep(&op);
    if (!run && !ends) {
      return op.emitError("'")
             << op.getName() << "' cannot be interpreted: no step runs it";
    }
    Step step{&op, run, {}, {}};
    for (Value operand : op.getOperands()) {
      step.operands.push_back(slotOf(operand));
    }
    for (Value result : op.getResults()) {
      step.results.push_back(slotOf(result));
    }
    if (op.getNumOperands()) {
      step.from = kindOf(op.getOperand(0).getType());
    }
    if (op.getNumResults()) {
      Type type = op.getResult(0).getType();
      auto vector = dyn_cast<VectorType>(type);
      step.to = kindOf(type);
      step.lanes = vector ? vector.getNumElements() : 1;
    }
    steps.push_back(std::move(step));
    for (Region &region : op.getRegions()) {
      for (Block &inner : region) {
        if (failed(addBlock(inner))) {
          return failure();
        }
      }
    }
  }
  blocks[&block] = std::move(steps);
  return success();
}

LogicalResult Frame::runBlock(Block &block) {
  for (const Step &step : blocks.find(&block)->second) {
    if (!step.run) {
      yielded = step.operands;
    } else if (failed(step.run(*this, step))) {
      return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Copies what a block has yielded; first all, since an iteration may swap what
/// it carries.
static void takeYielded(Frame &frame, ArrayRef<uint32_t> targets) {
  ArrayRef<uint32_t> from = frame.yielded;
  assert(from.size() == targets.size() && "as many values as are yielded");
  if (from.size() == 1) {
    frame.copy(from.front(), targets.front());
    return;
  }
  frame.copyAll(from, targets);
}

static LogicalResult runFor(Frame &frame, const Step &step) {
  auto loop = cast<scf::ForOp>(step.op);
  int64_t end = frame.integer(step, 1), by = frame.integer(step, 2);
  SmallVector<uint32_t> carried;
  for (Value argument : loop.getRegionIterArgs()) {
    carried.push_back(frame.slotOf(argument));
  }
  ArrayRef<uint32_t> initial = ArrayRef(step.operands).drop_front(3);
  for (auto [from, to] : llvm::zip(initial, carried)) {
    frame.copy(from, to);
  }
  uint32_t variable = frame.slotOf(loop.getInductionVar());
  for (int64_t i = frame.integer(step, 0); i < end; i += by) {
    frame.setInteger(variable, i);
    if (failed(frame.runBlock(*loop.getBody()))) {
      return failure();
    }
    takeYielded(frame, carried);
  }
  for (auto [from, to] : llvm::zip(carried, step.results)) {
    frame.copy(from, to);
  }
  return success();
}

/// Runs the only block of a region, if there is one.
static LogicalResult runRegion(Frame &frame, Region &region, const Step &step) {
  if (region.empty()) {
    return success();
  }
  if (failed(frame.runBlock(region.front()))) {
    return failure();
  }
  takeYielded(frame, step.results);
  return success();
}

static LogicalResult runIf(Frame &frame, const Step &step) {
  auto branch = cast<scf::IfOp>(step.op);
  return runRegion(frame,
                   frame.integer(step, 0) ? branch.getThenRegion()
                                          : branch.getElseRegion(),
                   step);
}

static LogicalResult runSwitch(Frame &frame, const Step &step) {
  auto branch = cast<scf::IndexSwitchOp>(step.op);
  int64_t value = frame.integer(step, 0);
  for (auto [number, region] :
       llvm::zip(branch.getCases(), branch.getCaseRegions())) {
    if (number == value) {
      return runRegion(frame, region, step);
    }
  }
  return runRegion(frame, branch.getDefaultRegion(), step);
}

void addControlSteps(StepTable &table) {
  table["scf.for"] = runFor;
  table["scf.if"] = runIf;
  table["scf.index_switch"] = runSwitch;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Interpreter::Interpreter(func::FuncOp function)
    : function(function), frame(std::make_unique<Frame>()) {}
Interpreter::~Interpreter() = default;

LogicalResult Interpreter::prepare() {
  if (!llvm::hasSingleElement(function.getBody())) {
    return function.emitError(
        "only structured control flow can be interpreted");
  }
  return frame->addBlock(function.getBody().front());
}

LogicalResult Interpreter::run(ArrayRef<Memory *> buffers,
                               ArrayRef<int64_t> integers) {
  for (BlockArgument argument : function.getArguments()) {
    Slot &slot = frame->slot(argument);
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      slot.lanes.resize(1);
      slot.lanes.front().integer = integers.front();
      integers = integers.drop_front();
      continue;
    }
    auto [strides, offset] = type.getStridesAndOffset();
    Kind kind = kindOf(type);
    slot.view = {buffers.front(), offset * bytesOf(kind), /*base=*/0, kind,
                 SmallVector<int64_t, 4>(strides.begin(), strides.end())};
    buffers = buffers.drop_front();
  }
  return frame->runBlock(function.getBody().front());
}

} // namespace hova
