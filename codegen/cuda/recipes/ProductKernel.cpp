//===- ProductKernel.cpp - The main loop of a product ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The ring of slots holds one part of the inner dimension each. In a turn all
// wait for the oldest part, begin to copy the one that is stages - 1 ahead into
// the slot that was read last, and multiply. Where rows of the left operand are
// scaled, all of it is copied and scaled before the first turn, and the ring is
// that of the right one.
//
// Products may stay under way for the next turns: a turn begins its own, and
// copies into the slot whose products all members had waited for before they
// met at the beginning of the turn.

#include "codegen/cuda/WgmmaOps.h"
#include "codegen/cuda/facts/AllGpus.h"
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
                Expr row, Expr column, bool isTransposed,
                const KernelBuilder::RowMap &sourceRow, const ScaleBoxes &scale,
                const KernelBuilder::RowMap &sourceColumn, ValueRange before)
      : b(b), chosen(schedule), x(x), w(w), row(row), column(column),
        sourceRow(sourceRow), sourceColumn(sourceColumn), scale(scale),
        before(before), isTransposed(isTransposed) {
    assert((isTransposed || !sourceColumn) && "columns of w are not its rows");
    assert((!chosen.getUnderWay() || (isTransposed && !scale)) &&
           "products under way have a weight [out][in], and rows as they are");
    auto left = cast<MemRefType>(x.getType());
    auto right = cast<MemRefType>(w.getType());
    inner = left.getDimSize(1);
    turns = llvm::divideCeil(inner, chosen.getStep());
    rowsInside =
        !left.isDynamicDim(0) && left.getDimSize(0) % chosen.getRows() == 0;
    columnsInside =
        right.getDimSize(isTransposed ? 0 : 1) % chosen.getColumns() == 0;
    innerInside = inner % chosen.getStep() == 0;
  }

  Value multiply();

private:
  using Values = KernelBuilder::Values;
  /// Begins to copy part `turn` of what the ring holds; a token for each
  /// operand.
  Values copyPart(Expr turn, Expr slot);
  /// Begins to copy all parts of the left operand, a box each.
  Values copyLeft();
  /// Of a sum and the slot of part `turn`, the sum with its product, which is
  /// under way where the schedule says so, and the next.
  Values addPart(Expr turn, ValueRange state);
  /// The slot that a turn copies into, which reads `slot`: `ahead` further.
  Expr slotAhead(Expr slot, int64_t ahead);
  /// The sum, when all of its products but those of the last turns have ended.
  Value endProducts(int64_t underWay, Value sum);

  KernelBuilder &b;
  CudaScheduleAttr chosen;
  Value x, w, xs, ws;
  Expr row, column;
  KernelBuilder::RowMap sourceRow;    ///< of x
  KernelBuilder::RowMap sourceColumn; ///< of w
  ScaleBoxes scale;                   ///< null: x is in the ring
  Values before;                      ///< copies that are under way already
  int64_t inner, turns;
  bool isTransposed; ///< w is columns x inner, and not inner x columns
  bool rowsInside, columnsInside, innerInside;
};
} // namespace

ProductWriter::Values ProductWriter::copyPart(Expr turn, Expr slot) {
  Expr k = turn * chosen.getStep();
  Values tokens;
  if (!scale) {
    tokens.push_back(
        b.copy(x, row, k, xs, slot, rowsInside, innerInside, sourceRow));
  }
  tokens.push_back(isTransposed ? b.copy(w, column, k, ws, slot, columnsInside,
                                         innerInside, sourceColumn)
                                : b.copy(w, k, column, ws, slot, innerInside,
                                         columnsInside));
  return tokens;
}

ProductWriter::Values ProductWriter::copyLeft() {
  Values tokens;
  for (int64_t part = 0; part < turns; ++part) {
    int64_t k = part * chosen.getStep();
    tokens.push_back(b.copy(x, row, k, xs, part, rowsInside,
                            k + chosen.getStep() <= inner, sourceRow));
  }
  return tokens;
}

ProductWriter::Values ProductWriter::addPart(Expr turn, ValueRange state) {
  Expr slot = b(state[1]);
  Value product =
      chosen.getUnderWay()
          ? Value(BeginProductOp::create(b, xs, ws, slot, state[0], slot))
          : GroupProductOp::create(b, xs, ws, slot, state[0],
                                   scale ? turn : slot, isTransposed);
  return {product, b.next(slot, std::min(chosen.getStages(), turns))};
}

Expr ProductWriter::slotAhead(Expr slot, int64_t ahead) {
  int64_t boxes = chosen.getStages(), behind = boxes - ahead;
  for (int64_t i = 0; i < std::min(ahead, behind); ++i) {
    slot = ahead < behind ? b.next(slot, boxes) : b.previous(slot, boxes);
  }
  return slot;
}

Value ProductWriter::endProducts(int64_t underWay, Value sum) {
  return chosen.getUnderWay() ? Value(EndProductsOp::create(b, underWay, sum))
                              : sum;
}

/// A turn of the first loop begins the copies of a turn later on. The last
/// turns have none to begin, and are a loop of their own: ptxas would spend
/// many registers on them if they were written one by one.
Value ProductWriter::multiply() {
  int64_t boxes = std::min(chosen.getStages(), turns);
  // Of few parts all are copied at first.
  int64_t ahead = turns == boxes ? turns : boxes - 1 - chosen.getUnderWay();
  auto slots = [&](int64_t count, int64_t rows, int64_t columns) {
    return b.slots({count, rows, columns}, getElementTypeOrSelf(x));
  };
  xs = slots(scale ? turns : boxes, chosen.getRows(), chosen.getStep());
  ws = isTransposed ? slots(boxes, chosen.getColumns(), chosen.getStep())
                    : slots(boxes, chosen.getStep(), chosen.getColumns());
  TileType sums = TileType::get(
      b.getContext(), {chosen.getRows(), chosen.getColumns()}, b.f32(),
      TileDistribution::product, chosen.getRowWarps(), chosen.getColumnWarps());
  Values left = scale ? copyLeft() : Values();
  Values carried{b.fill(sums, 0), b.index(0)};
  for (int64_t part = 0; part < ahead; ++part) {
    llvm::append_range(carried, copyPart(part, part));
  }
  if (!before.empty()) {
    // They began first, so that those of the first turn end no earlier.
    GroupWaitOp::create(b, before);
  }
  if (scale) {
    scale(xs, left);
  }
  if (turns > ahead) {
    size_t tokens = scale ? 1 : 2; // of a turn
    carried = b.loop(turns - ahead, carried, [&](Expr turn, ValueRange state) {
      GroupWaitOp::create(b, state.slice(2, tokens));
      Values next, copies;
      auto copy = [&] {
        copies = copyPart(turn + ahead, slotAhead(b(state[1]), ahead));
      };
      if (chosen.getUnderWay()) {
        next = addPart(turn, state);
        copy();
        next[0] = endProducts(chosen.getUnderWay(), next[0]);
      } else {
        copy();
        next = addPart(turn, state);
      }
      llvm::append_range(next, state.drop_front(2 + tokens));
      llvm::append_range(next, copies);
      return next;
    });
  }
  GroupWaitOp::create(b, ArrayRef(carried).drop_front(2));
  auto last = [&](Expr turn, ValueRange state) {
    return addPart(scale ? turn + (turns - ahead) : turn, state);
  };
  return endProducts(0,
                     b.loop(ahead, ArrayRef(carried).take_front(2), last)[0]);
}

Value emitProduct(KernelBuilder &b, CudaScheduleAttr schedule, Value x, Value w,
                  Expr row, Expr column, bool isTransposed,
                  const KernelBuilder::RowMap &sourceRow,
                  const ScaleBoxes &scale,
                  const KernelBuilder::RowMap &sourceColumn,
                  ValueRange before) {
  return ProductWriter(b, schedule, x, w, row, column, isTransposed, sourceRow,
                       scale, sourceColumn, before)
      .multiply();
}

} // namespace hova
