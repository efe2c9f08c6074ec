//===- Emulator.cpp - Functions and control flow --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/emulate/Emulator.h"
#include "codegen/emulate/Emulation.h"
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
  StepFunction own = findTileStep(op);
  return own ? own : stepTable().lookup(op->getName().getStringRef());
}

uint32_t Emulation::slotOf(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, slots.size());
  if (isNew) {
    slots.emplace_back();
  }
  return entry->second;
}

LogicalResult Emulation::addBlock(Block &block) {
  for (BlockArgument argument : block.getArguments()) {
    slotOf(argument);
  }
  std::vector<Step> steps;
  for (Operation &op : block) {
    bool ends = op.hasTrait<OpTrait::IsTerminator>();
    StepFunction run = ends ? nullptr : findStep(&op);
    if (!run && !ends) {
      return op.emitError("'")
             << op.getName() << "' cannot be emulated: no step runs it";
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

LogicalResult Emulation::runBlock(Block &block) {
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
static void takeYielded(Emulation &emulation, ArrayRef<uint32_t> targets) {
  ArrayRef<uint32_t> from = emulation.yielded;
  assert(from.size() == targets.size() && "as many values as are yielded");
  if (from.size() == 1) {
    emulation.copy(from.front(), targets.front());
    return;
  }
  emulation.copyAll(from, targets);
}

static LogicalResult runFor(Emulation &emulation, const Step &step) {
  auto loop = cast<scf::ForOp>(step.op);
  int64_t end = emulation.integer(step, 1), by = emulation.integer(step, 2);
  SmallVector<uint32_t> carried;
  for (Value argument : loop.getRegionIterArgs()) {
    carried.push_back(emulation.slotOf(argument));
  }
  ArrayRef<uint32_t> initial = ArrayRef(step.operands).drop_front(3);
  for (auto [from, to] : llvm::zip(initial, carried)) {
    emulation.copy(from, to);
  }
  uint32_t variable = emulation.slotOf(loop.getInductionVar());
  for (int64_t i = emulation.integer(step, 0); i < end; i += by) {
    emulation.setInteger(variable, i);
    if (failed(emulation.runBlock(*loop.getBody()))) {
      return failure();
    }
    takeYielded(emulation, carried);
  }
  for (auto [from, to] : llvm::zip(carried, step.results)) {
    emulation.copy(from, to);
  }
  return success();
}

/// Runs the only block of a region, if there is one.
static LogicalResult runRegion(Emulation &emulation, Region &region,
                               const Step &step) {
  if (region.empty()) {
    return success();
  }
  if (failed(emulation.runBlock(region.front()))) {
    return failure();
  }
  takeYielded(emulation, step.results);
  return success();
}

static LogicalResult runIf(Emulation &emulation, const Step &step) {
  auto branch = cast<scf::IfOp>(step.op);
  return runRegion(emulation,
                   emulation.integer(step, 0) ? branch.getThenRegion()
                                              : branch.getElseRegion(),
                   step);
}

static LogicalResult runSwitch(Emulation &emulation, const Step &step) {
  auto branch = cast<scf::IndexSwitchOp>(step.op);
  int64_t value = emulation.integer(step, 0);
  for (auto [number, region] :
       llvm::zip(branch.getCases(), branch.getCaseRegions())) {
    if (number == value) {
      return runRegion(emulation, region, step);
    }
  }
  return runRegion(emulation, branch.getDefaultRegion(), step);
}

void addControlSteps(StepTable &table) {
  table["scf.for"] = runFor;
  table["scf.if"] = runIf;
  table["scf.index_switch"] = runSwitch;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Emulator::Emulator(func::FuncOp function)
    : function(function), emulation(std::make_unique<Emulation>()) {}
Emulator::~Emulator() = default;

LogicalResult Emulator::prepare() {
  if (!llvm::hasSingleElement(function.getBody())) {
    return function.emitError("only structured control flow can be emulated");
  }
  return emulation->addBlock(function.getBody().front());
}

LogicalResult Emulator::run(ArrayRef<Memory *> buffers,
                            ArrayRef<int64_t> integers) {
  for (BlockArgument argument : function.getArguments()) {
    Slot &slot = emulation->slot(argument);
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
  return emulation->runBlock(function.getBody().front());
}

} // namespace hova
