//===- VectorSteps.cpp - Vectors as wholes --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/interpret/Frame.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult runLoad(Frame &frame, const Step &step) {
  const View &view = frame.view(step, 0);
  std::vector<Lane> &y = frame.out(step);
  const uint8_t *memory =
      elementsOf(view, indexOf(frame, view, step, 1), y.size(), step);
  if (!memory) {
    return failure();
  }
  readElements(view.kind, memory, y);
  return success();
}

static LogicalResult runStore(Frame &frame, const Step &step) {
  const View &view = frame.view(step, 1);
  const std::vector<Lane> &x = frame.in(step, 0);
  uint8_t *memory =
      elementsOf(view, indexOf(frame, view, step, 2), x.size(), step);
  if (!memory) {
    return failure();
  }
  int64_t bytes = bytesOf(view.kind);
  for (size_t i = 0; i < x.size(); ++i) {
    writeElement(view.kind, x[i], memory + i * bytes);
  }
  return success();
}

/// Lanes whose mask is false touch no memory.
static LogicalResult runMaskedLoad(Frame &frame, const Step &step) {
  const View &view = frame.view(step, 0);
  unsigned rank = view.strides.size();
  const std::vector<Lane> &mask = frame.in(step, 1 + rank);
  const std::vector<Lane> &otherwise = frame.in(step, 2 + rank);
  int64_t first = indexOf(frame, view, step, 1);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = otherwise[i];
    if (mask[i].integer) {
      const uint8_t *element = elementsOf(view, first + i, 1, step);
      if (!element) {
        return failure();
      }
      y[i] = readElement(view.kind, element);
    }
  }
  return success();
}

/// Offsets count elements, whatever the number of dimensions.
static LogicalResult runGather(Frame &frame, const Step &step) {
  const View &view = frame.view(step, 0);
  unsigned rank = view.strides.size();
  const std::vector<Lane> &offsets = frame.in(step, 1 + rank);
  const std::vector<Lane> &mask = frame.in(step, 2 + rank);
  const std::vector<Lane> &otherwise = frame.in(step, 3 + rank);
  int64_t first = indexOf(frame, view, step, 1);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = otherwise[i];
    if (mask[i].integer) {
      const uint8_t *element =
          elementsOf(view, first + offsets[i].integer, 1, step);
      if (!element) {
        return failure();
      }
      y[i] = readElement(view.kind, element);
    }
  }
  return success();
}

static LogicalResult runMaskedStore(Frame &frame, const Step &step) {
  const View &view = frame.view(step, 0);
  unsigned rank = view.strides.size();
  const std::vector<Lane> &mask = frame.in(step, 1 + rank);
  const std::vector<Lane> &x = frame.in(step, 2 + rank);
  int64_t first = indexOf(frame, view, step, 1);
  for (size_t i = 0; i < x.size(); ++i) {
    if (mask[i].integer) {
      uint8_t *element = elementsOf(view, first + i, 1, step);
      if (!element) {
        return failure();
      }
      writeElement(view.kind, x[i], element);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Missing and single dimensions of the source repeat.
static LogicalResult runBroadcast(Frame &frame, const Step &step) {
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  if (x.size() == 1) {
    y.assign(y.size(), x.front());
    return success();
  }
  ArrayRef<int64_t> from =
      cast<VectorType>(step.op->getOperand(0).getType()).getShape();
  ArrayRef<int64_t> to =
      cast<VectorType>(step.op->getResult(0).getType()).getShape();
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t rest = i, source = 0, stride = 1;
    for (size_t back = 1; back <= from.size(); ++back) {
      int64_t size = from[from.size() - back],
              index = rest % to[to.size() - back];
      source += size == 1 ? 0 : index * stride;
      stride *= size;
      rest /= to[to.size() - back];
    }
    y[i] = x[source];
  }
  return success();
}

/// Of vectors with one dimension. A negative index leaves the lane undefined.
static LogicalResult runShuffle(Frame &frame, const Step &step) {
  const std::vector<Lane> &a = frame.in(step, 0), &b = frame.in(step, 1);
  std::vector<Lane> &y = frame.out(step);
  for (auto [i, index] :
       llvm::enumerate(cast<vector::ShuffleOp>(step.op).getMask())) {
    size_t from = index < 0 ? 0 : index;
    y[i] = from < a.size() ? a[from] : b[from - a.size()];
  }
  return success();
}

/// The lane at `position`, some of which are operands from `first` on.
static size_t laneAt(const Frame &frame, const Step &step, VectorType type,
                     ArrayRef<int64_t> position, unsigned first) {
  int64_t lane = 0;
  for (auto [dimension, size] : llvm::enumerate(type.getShape())) {
    lane *= size;
    if (dimension < position.size()) {
      bool isOperand = ShapedType::isDynamic(position[dimension]);
      lane += isOperand ? frame.integer(step, first++) : position[dimension];
    }
  }
  return lane;
}

static LogicalResult runExtract(Frame &frame, const Step &step) {
  auto op = cast<vector::ExtractOp>(step.op);
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  size_t at =
      laneAt(frame, step, op.getSourceVectorType(), op.getStaticPosition(), 1);
  if (at + y.size() > x.size()) {
    return op.emitError("extracts lane ") << at << " of " << x.size();
  }
  std::copy_n(x.begin() + at, y.size(), y.begin());
  return success();
}

static LogicalResult runInsert(Frame &frame, const Step &step) {
  auto op = cast<vector::InsertOp>(step.op);
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  y = frame.in(step, 1);
  size_t at =
      laneAt(frame, step, op.getDestVectorType(), op.getStaticPosition(), 2);
  if (at + x.size() > y.size()) {
    return op.emitError("inserts lane ") << at << " of " << y.size();
  }
  llvm::copy(x, y.begin() + at);
  return success();
}

/// Lanes from an offset on; dimensions without an offset are whole.
static LogicalResult runSlice(Frame &frame, const Step &step) {
  auto op = cast<vector::ExtractStridedSliceOp>(step.op);
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  ArrayRef<int64_t> from = op.getSourceVectorType().getShape();
  ArrayRef<int64_t> to = cast<VectorType>(op.getType()).getShape();
  SmallVector<int64_t> offsets;
  for (Attribute offset : op.getOffsets()) {
    offsets.push_back(cast<IntegerAttr>(offset).getInt());
  }
  offsets.resize(from.size(), 0);
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t rest = i, source = 0, stride = 1;
    for (size_t d = from.size(); d-- > 0;) {
      source += (rest % to[d] + offsets[d]) * stride;
      stride *= from[d];
      rest /= to[d];
    }
    y[i] = x[source];
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static bool combineFloats(vector::CombiningKind kind, double next,
                          double &sum) {
  bool hasNan = std::isnan(sum) || std::isnan(next);
  switch (kind) {
  case vector::CombiningKind::ADD:
    sum += next;
    return true;
  case vector::CombiningKind::MUL:
    sum *= next;
    return true;
  case vector::CombiningKind::MAXNUMF:
    sum = std::fmax(sum, next);
    return true;
  case vector::CombiningKind::MINNUMF:
    sum = std::fmin(sum, next);
    return true;
  case vector::CombiningKind::MAXIMUMF:
    sum = hasNan ? sum + next : std::fmax(sum, next);
    return true;
  case vector::CombiningKind::MINIMUMF:
    sum = hasNan ? sum + next : std::fmin(sum, next);
    return true;
  default:
    return false;
  }
}

static bool combineIntegers(vector::CombiningKind kind, int64_t next,
                            int64_t &sum) {
  switch (kind) {
  case vector::CombiningKind::ADD:
    sum += next;
    return true;
  case vector::CombiningKind::AND:
    sum &= next;
    return true;
  case vector::CombiningKind::OR:
    sum |= next;
    return true;
  case vector::CombiningKind::XOR:
    sum ^= next;
    return true;
  case vector::CombiningKind::MAXSI:
    sum = std::max(sum, next);
    return true;
  case vector::CombiningKind::MINSI:
    sum = std::min(sum, next);
    return true;
  default:
    return false;
  }
}

/// One after the other, which is one of the orders that a reduction may have.
static LogicalResult runReduction(Frame &frame, const Step &step) {
  auto op = cast<vector::ReductionOp>(step.op);
  const std::vector<Lane> &x = frame.in(step, 0);
  bool starts = step.operands.size() > 1;
  Lane sum = starts ? frame.in(step, 1).front() : x.front();
  for (Lane next : ArrayRef(x).drop_front(starts ? 0 : 1)) {
    bool known = isFloat(step.to)
                     ? combineFloats(op.getKind(), next.number, sum.number)
                     : combineIntegers(op.getKind(), next.integer, sum.integer);
    if (!known) {
      return op.emitError("a reduction of this kind cannot be interpreted");
    }
    if (isFloat(step.to)) {
      sum.number = roundTo(step.to, sum.number);
    } else {
      sum.integer = wrapTo(step.to, sum.integer);
    }
  }
  frame.out(step).front() = sum;
  return success();
}

void addVectorSteps(StepTable &table) {
  table["vector.load"] = runLoad;
  table["vector.store"] = runStore;
  table["vector.maskedload"] = runMaskedLoad;
  table["vector.maskedstore"] = runMaskedStore;
  table["vector.gather"] = runGather;
  table["vector.broadcast"] = runBroadcast;
  table["vector.shuffle"] = runShuffle;
  table["vector.extract"] = runExtract;
  table["vector.insert"] = runInsert;
  table["vector.extract_strided_slice"] = runSlice;
  table["vector.reduction"] = runReduction;
}

} // namespace hova
