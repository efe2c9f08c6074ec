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
                const KernelBuilder::RowMap &sourceRow)
      : b(b), own(schedule), x(x), w(w), row(row), column(column),
        sourceRow(sourceRow), isTransposed(isTransposed) {
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

  KernelBuilder &b;
  CudaScheduleAttr own;
  Value x, w, row, column, xs, ws;
  KernelBuilder::RowMap sourceRow; ///< of x
  int64_t turns;
  bool isTransposed; ///< w is columns x inner, and not inner x columns
  bool rowsInside, columnsInside, innerInside;
};
} // namespace

ProductWriter::Values ProductWriter::copyPart(Value turn, Value slot) {
  // After the last part it is copied again: nobody reads that.
  Value k = b.mulIndex(b.atMost(turn, turns - 1), own.getStep());
  return {b.copy(x, row, k, xs, slot, rowsInside, innerInside, sourceRow),
          isTransposed
              ? b.copy(w, column, k, ws, slot, columnsInside, innerInside)
              : b.copy(w, k, column, ws, slot, innerInside, columnsInside)};
}

Value ProductWriter::multiply() {
  int64_t stages = own.getStages();
  auto slots = [&](int64_t rows, int64_t columns) {
    return GroupAllocOp::create(
        b, SlotsType::get(b.getContext(), {stages, rows, columns},
                          cast<MemRefType>(x.getType()).getElementType()));
  };
  xs = slots(own.getRows(), own.getStep());
  ws = isTransposed ? slots(own.getColumns(), own.getStep())
                    : slots(own.getStep(), own.getColumns());
  TileType sums = TileType::get(
      b.getContext(), {own.getRows(), own.getColumns()}, b.f32(),
      TileDistribution::product, own.getRowWarps(), own.getColumnWarps());
  Values carried{b.fill(sums, 0), b.index(0)};
  for (int64_t stage = 0; stage < stages - 1; ++stage) {
    llvm::append_range(carried, copyPart(b.index(stage), b.index(stage)));
  }
  carried = b.loop(turns, carried, [&](Value turn, ValueRange state) -> Values {
    Value slot = state[1];
    GroupWaitOp::create(b, state.slice(2, 2));
    Values copies =
        copyPart(b.addIndex(turn, stages - 1), b.previous(slot, stages));
    Value sum =
        GroupProductOp::create(b, xs, ws, slot, state[0], slot, isTransposed);
    Values next{sum, b.next(slot, stages)};
    llvm::append_range(next, state.drop_front(4));
    llvm::append_range(next, copies);
    return next;
  });
  GroupWaitOp::create(b, ArrayRef(carried).drop_front(2));
  return carried[0];
}

CudaScheduleAttr scheduleInnerProduct(Type element, int64_t inner) {
  // Columns of a right operand that is not transposed are not divided.
  return CudaScheduleAttr::get(element.getContext(), 64, 64, 4, 1,
                               productStep(element, inner), kProductStages);
}

Value emitProduct(KernelBuilder &b, CudaScheduleAttr schedule, Value x, Value w,
                  Value row, Value column, bool isTransposed,
                  const KernelBuilder::RowMap &sourceRow) {
  return ProductWriter(b, schedule, x, w, row, column, isTransposed, sourceRow)
      .multiply();
}

} // namespace hova
