//===- ProductKernel.cpp - The main loop of a product ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The ring of slots holds one part of the inner dimension each. In a turn all
// wait for the oldest part, begin to copy the one that is stages - 1 ahead into
// the slot that was read last, and multiply.

#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

int64_t boxColumns(int64_t width) {
  return width <= kSegment / 2 ? kSegment / 2 : llvm::alignTo(width, kSegment);
}

namespace {
class ProductWriter {
public:
  ProductWriter(KernelBuilder &b, CudaScheduleAttr schedule, Value x, Value w,
                Value row, Value column, bool isTransposed,
                const KernelBuilder::RowMap &sourceRow,
                const PartFactors &factors)
      : b(b), own(schedule), x(x), w(w), row(row), column(column),
        sourceRow(sourceRow), factors(factors), isTransposed(isTransposed) {
    auto left = cast<MemRefType>(x.getType());
    auto right = cast<MemRefType>(w.getType());
    int64_t inner = left.getDimSize(1);
    turns = llvm::divideCeil(inner, own.getStep());
    rowsInside = left.getDimSize(0) % own.getRows() == 0;
    columnsInside =
        right.getDimSize(isTransposed ? 0 : 1) % own.getColumns() == 0;
    innerInside = inner % own.getStep() == 0;
  }

  Value multiply();

private:
  using Values = KernelBuilder::Values;
  /// Begins to copy part `turn` of both operands; two tokens.
  Values copyPart(Value turn, Value slot);
  /// Of a sum and the slot of part `turn`, the sum with its product and the
  /// next.
  Values addPart(Value turn, ValueRange state);

  KernelBuilder &b;
  CudaScheduleAttr own;
  Value x, w, row, column, xs, ws;
  KernelBuilder::RowMap sourceRow; ///< of x
  PartFactors factors;             ///< null: there are none
  int64_t turns;
  bool isTransposed; ///< w is columns x inner, and not inner x columns
  bool rowsInside, columnsInside, innerInside;
};
} // namespace

ProductWriter::Values ProductWriter::copyPart(Value turn, Value slot) {
  Value k = b.mulIndex(turn, own.getStep());
  return {b.copy(x, row, k, xs, slot, rowsInside, innerInside, sourceRow),
          isTransposed
              ? b.copy(w, column, k, ws, slot, columnsInside, innerInside)
              : b.copy(w, k, column, ws, slot, innerInside, columnsInside)};
}

ProductWriter::Values ProductWriter::addPart(Value turn, ValueRange state) {
  Value sum = state[0], slot = state[1];
  Value before = factors ? b.fill(sum.getType(), 0) : sum;
  Value product =
      GroupProductOp::create(b, xs, ws, slot, before, slot, isTransposed);
  if (factors) {
    product = b.map(
        sum.getType(), {sum, product, factors(turn)},
        [&](ValueRange x, Value, Value) { return b.fma(x[1], x[2], x[0]); });
  }
  return {product, b.next(slot, std::min(own.getStages(), turns))};
}

/// A turn of the first loop begins the copies of a turn later on. The last
/// turns have none to begin, and are a loop of their own: ptxas would spend
/// many registers on them if they were written one by one.
Value ProductWriter::multiply() {
  int64_t boxes = std::min(own.getStages(), turns);
  // Of few parts all are copied at first.
  int64_t ahead = turns == boxes ? turns : boxes - 1;
  auto slots = [&](int64_t rows, int64_t columns) {
    return GroupAllocOp::create(
        b, SlotsType::get(b.getContext(), {boxes, rows, columns},
                          cast<MemRefType>(x.getType()).getElementType()));
  };
  xs = slots(own.getRows(), own.getStep());
  ws = isTransposed ? slots(own.getColumns(), own.getStep())
                    : slots(own.getStep(), own.getColumns());
  TileType sums = TileType::get(
      b.getContext(), {own.getRows(), own.getColumns()}, b.f32(),
      TileDistribution::product, own.getRowWarps(), own.getColumnWarps());
  Values carried{b.fill(sums, 0), b.index(0)};
  for (int64_t part = 0; part < ahead; ++part) {
    llvm::append_range(carried, copyPart(b.index(part), b.index(part)));
  }
  if (turns > ahead) {
    carried = b.loop(
        turns - ahead, carried, [&](Value turn, ValueRange state) -> Values {
          GroupWaitOp::create(b, state.slice(2, 2));
          Values copies =
              copyPart(b.addIndex(turn, ahead), b.previous(state[1], boxes));
          Values next = addPart(turn, state);
          llvm::append_range(next, state.drop_front(4));
          llvm::append_range(next, copies);
          return next;
        });
  }
  GroupWaitOp::create(b, ArrayRef(carried).drop_front(2));
  return b.loop(ahead, ArrayRef(carried).take_front(2),
                [&](Value turn, ValueRange state) {
                  return addPart(
                      factors ? b.addIndex(turn, turns - ahead) : turn, state);
                })[0];
}

CudaScheduleAttr scheduleInnerProduct(Type element, int64_t inner) {
  // Columns of a right operand that is not transposed are not divided.
  return CudaScheduleAttr::get(element.getContext(), 64, 64, 4, 1,
                               productStep(element, inner), kProductStages);
}

Value emitProduct(KernelBuilder &b, CudaScheduleAttr schedule, Value x, Value w,
                  Value row, Value column, bool isTransposed,
                  const KernelBuilder::RowMap &sourceRow,
                  const PartFactors &factors) {
  return ProductWriter(b, schedule, x, w, row, column, isTransposed, sourceRow,
                       factors)
      .multiply();
}

} // namespace hova
