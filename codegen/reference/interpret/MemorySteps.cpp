//===- MemorySteps.cpp - Buffers, and parts of them -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/interpret/Frame.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

uint8_t *elementsOf(const View &view, int64_t at, int64_t count,
                    const Step &step) {
  int64_t bytes = bytesOf(view.kind), begin = view.offset + at * bytes;
  int64_t size = view.memory->size();
  if (begin < 0 || begin + count * bytes > size) {
    step.op->emitError("accesses bytes ")
        << begin << " to " << begin + count * bytes << " of a buffer of "
        << size;
    return nullptr;
  }
  return view.memory->data() + begin;
}

int64_t indexOf(const Frame &frame, const View &view, const Step &step,
                unsigned first) {
  int64_t index = 0;
  for (auto [i, stride] : llvm::enumerate(view.strides)) {
    index += stride * frame.integer(step, first + i);
  }
  return index;
}

static LogicalResult runLoad(Frame &frame, const Step &step) {
  const View &view = frame.view(step, 0);
  const uint8_t *element =
      elementsOf(view, indexOf(frame, view, step, 1), 1, step);
  if (!element) {
    return failure();
  }
  frame.out(step).front() = readElement(view.kind, element);
  return success();
}

static LogicalResult runStore(Frame &frame, const Step &step) {
  const View &view = frame.view(step, 1);
  uint8_t *element = elementsOf(view, indexOf(frame, view, step, 2), 1, step);
  if (!element) {
    return failure();
  }
  writeElement(view.kind, frame.in(step, 0).front(), element);
  return success();
}

/// No effect on any value; addresses may be anything.
static LogicalResult runNothing(Frame &, const Step &) { return success(); }

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The numbers of a list of which some are operands.
static SmallVector<int64_t> numbersOf(const Frame &frame, const Step &step,
                                      ArrayRef<OpFoldResult> values) {
  SmallVector<int64_t> numbers;
  for (OpFoldResult value : values) {
    if (auto attribute = dyn_cast<Attribute>(value)) {
      numbers.push_back(cast<IntegerAttr>(attribute).getInt());
      continue;
    }
    for (auto [i, operand] : llvm::enumerate(step.op->getOperands())) {
      if (operand == cast<Value>(value)) {
        numbers.push_back(frame.integer(step, i));
        break;
      }
    }
  }
  return numbers;
}

static LogicalResult runSubview(Frame &frame, const Step &step) {
  auto op = cast<memref::SubViewOp>(step.op);
  View view = frame.view(step, 0);
  auto offsets = numbersOf(frame, step, op.getMixedOffsets());
  auto steps = numbersOf(frame, step, op.getMixedStrides());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t, 4> strides;
  for (auto [i, stride] : llvm::enumerate(view.strides)) {
    view.offset += offsets[i] * stride * bytesOf(view.kind);
    if (!dropped.test(i)) {
      strides.push_back(stride * steps[i]);
    }
  }
  view.strides = strides;
  frame.result(step).view = view;
  return success();
}

/// Offset and strides are those of the memory, whatever the source's are.
static LogicalResult runReinterpretCast(Frame &frame, const Step &step) {
  auto op = cast<memref::ReinterpretCastOp>(step.op);
  View view = frame.view(step, 0);
  auto offsets = numbersOf(frame, step, op.getMixedOffsets());
  view.offset = view.base + offsets.front() * bytesOf(view.kind);
  auto strides = numbersOf(frame, step, op.getMixedStrides());
  view.strides.assign(strides.begin(), strides.end());
  frame.result(step).view = view;
  return success();
}

/// A view as its memory and the numbers that place it there.
static LogicalResult runMetadata(Frame &frame, const Step &step) {
  auto op = cast<memref::ExtractStridedMetadataOp>(step.op);
  auto type = cast<MemRefType>(op.getSource().getType());
  if (!type.hasStaticShape()) {
    return op.emitError("sizes that are not static cannot be interpreted");
  }
  View view = frame.view(step, 0);
  SmallVector<int64_t> numbers{(view.offset - view.base) / bytesOf(view.kind)};
  llvm::append_range(numbers, type.getShape());
  llvm::append_range(numbers, view.strides);
  for (auto [number, slot] :
       llvm::zip(numbers, ArrayRef(step.results).drop_front())) {
    frame.setInteger(slot, number);
  }
  view.offset = view.base;
  view.strides.clear();
  frame.result(step).view = view;
  return success();
}

/// Elements of another type in a buffer of bytes.
static LogicalResult runView(Frame &frame, const Step &step) {
  View view = frame.view(step, 0);
  view.offset += frame.integer(step, 1);
  view.base = view.offset;
  view.kind = step.to;
  auto strides = cast<MemRefType>(step.op->getResult(0).getType())
                     .getStridesAndOffset()
                     .first;
  view.strides.assign(strides.begin(), strides.end());
  frame.result(step).view = view;
  return success();
}

static LogicalResult runCast(Frame &frame, const Step &step) {
  frame.copy(step.operands.front(), step.results.front());
  return success();
}

void addMemorySteps(StepTable &table) {
  table["memref.load"] = runLoad;
  table["memref.store"] = runStore;
  table["memref.prefetch"] = runNothing;
  table["memref.subview"] = runSubview;
  table["memref.reinterpret_cast"] = runReinterpretCast;
  table["memref.view"] = runView;
  table["memref.extract_strided_metadata"] = runMetadata;
  table["memref.cast"] = runCast;
}

} // namespace hova
