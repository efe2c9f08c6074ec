//===- Frame.h - Values and steps of an interpreted function ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Before the first call every operation becomes a step: a function, the slots
// of its operands and results, and what is known of their types. A slot is
// reused by every execution of its operation, so that a loop allocates nothing.

#ifndef HOVA_CODEGEN_REFERENCE_INTERPRET_FRAME_H
#define HOVA_CODEGEN_REFERENCE_INTERPRET_FRAME_H

#include "codegen/reference/interpret/Interpreter.h"
#include "codegen/reference/interpret/Numbers.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace hova {

/// A buffer or a part of one: element `i, j` lies `i * strides[0] + j *
/// strides[1]` elements after byte `offset`.
struct View {
  Memory *memory = nullptr;
  int64_t offset = 0; ///< bytes from the start of the memory
  int64_t base = 0;   ///< the byte that the offset of a type counts from
  Kind kind = Kind::None;
  llvm::SmallVector<int64_t, 4> strides; ///< elements
};

/// The value of an SSA value: a buffer, or as many lanes as its type has
/// elements, row by row; a scalar has one.
struct Slot {
  std::vector<Lane> lanes;
  View view;
};

struct Step;
using StepFunction = llvm::LogicalResult (*)(Frame &, const Step &);

struct Step {
  mlir::Operation *op;
  StepFunction run;
  llvm::SmallVector<uint32_t, 4> operands, results;
  /// Of the elements of the first operand and of the first result.
  Kind from = Kind::None, to = Kind::None;
  /// Elements of the first result.
  size_t lanes = 0;
};

class Frame {
public:
  llvm::LogicalResult addBlock(mlir::Block &block);
  /// Up to the terminator, whose operands are in `yielded` then.
  llvm::LogicalResult runBlock(mlir::Block &block);

  uint32_t slotOf(mlir::Value value);
  Slot &slot(mlir::Value value) { return slots[slotOf(value)]; }

  /// The lanes of operand `index`.
  const std::vector<Lane> &in(const Step &step, unsigned index) const {
    return slots[step.operands[index]].lanes;
  }
  const View &view(const Step &step, unsigned index) const {
    return slots[step.operands[index]].view;
  }
  int64_t integer(const Step &step, unsigned index) const {
    return in(step, index).front().integer;
  }
  /// The lanes of the first result, to be written. No operand has its slot.
  std::vector<Lane> &out(const Step &step) {
    std::vector<Lane> &lanes = slots[step.results.front()].lanes;
    lanes.resize(step.lanes);
    return lanes;
  }
  Slot &result(const Step &step) { return slots[step.results.front()]; }
  void copy(uint32_t from, uint32_t to) { slots[to] = slots[from]; }
  /// As if all at once: a target may be the source of another.
  void copyAll(llvm::ArrayRef<uint32_t> from, llvm::ArrayRef<uint32_t> to) {
    llvm::SmallVector<Slot> values;
    for (uint32_t source : from) {
      values.push_back(slots[source]);
    }
    for (auto [value, target] : llvm::zip(values, to)) {
      slots[target] = std::move(value);
    }
  }
  void setInteger(uint32_t slot, int64_t value) {
    slots[slot].lanes.resize(1);
    slots[slot].lanes.front().integer = value;
  }

  /// Slots of the terminator that ended the last block.
  llvm::ArrayRef<uint32_t> yielded;

private:
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  std::vector<Slot> slots;
  llvm::DenseMap<mlir::Block *, std::vector<Step>> blocks;
};

/// Elements `count` from element `at` of a view on, which must be in its
/// buffer: their first byte, or null after an error on the step's operation.
uint8_t *elementsOf(const View &view, int64_t at, int64_t count,
                    const Step &step);
/// How many elements after a view's start the element is whose indices are the
/// step's operands from `first` on.
int64_t indexOf(const Frame &frame, const View &view, const Step &step,
                unsigned first);

/// Runs operations that say themselves what their tile is; null for others.
StepFunction findTileStep(mlir::Operation *op);

/// The functions of operations by name, a table for each dialect.
using StepTable = llvm::StringMap<StepFunction>;
void addArithSteps(StepTable &table);
void addControlSteps(StepTable &table);
void addMemorySteps(StepTable &table);
void addTileSteps(StepTable &table);
void addVectorSteps(StepTable &table);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_INTERPRET_FRAME_H
