//===- Recipe.cpp - The kernel of an operation on a GPU -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "dialect/Shapes.h"
#include "dialect/ranges/RangeMistakes.h"
#include "passes/Columns.h"
#include "passes/Units.h"

#include "codegen/cuda/Recipe.cpp.inc"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Kernels of rows
//===----------------------------------------------------------------------===//

MatrixShape matrixShapeOf(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape.empty()) {
    return {1, 1};
  }
  MatrixShape matrix{staticSize(shape.drop_back()), shape.back()};
  return isPacked(value) ? MatrixShape{matrix.rows * matrix.columns, 1}
                         : matrix;
}

static int64_t rowsOf(Operation *op) {
  return matrixShapeOf(op->getResult(0)).rows;
}
static int64_t columnsOf(Operation *op) {
  return matrixShapeOf(op->getResult(0)).columns;
}

/// Fewer where blocks leave multiprocessors idle, as long as the one with most
/// blocks then has fewer rows.
static int64_t rowsOfBlock(Operation *op) {
  const GpuFacts &gpu = gpuOf(op);
  int64_t processors = gpu.processors.back(), rows = kRowsOfBlock;
  auto blocksOf = [&](int64_t rows) -> int64_t {
    return llvm::divideCeil(rowsOf(op), rows);
  };
  auto most = [&](int64_t rows) {
    return rows * llvm::divideCeil(blocksOf(rows), processors);
  };
  while (rows > gpu.leastRowsOfBlock && blocksOf(rows) < processors &&
         most(rows / 2) < most(rows)) {
    rows /= 2;
  }
  return rows;
}

/// A lane has runs of as many columns as one access may move of the result's
/// rows: where these are no multiple of a run, lanes beside each other would
/// have elements that lie apart.
CudaScheduleAttr scheduleColumns(Operation *op, int64_t columns) {
  int64_t all = columnsOf(op), run = all % 2 ? 1 : all % 4 ? 2 : 4;
  int64_t width = llvm::alignTo(columns, std::min(run, int64_t(2)) * kLanes);
  if (runOfRow(width) > run) {
    width += run * kLanes;
  }
  int64_t rows = rowsOfBlock(op);
  return CudaScheduleAttr::get(op->getContext(), rows, width, rows, 1, 1, 1);
}

CudaScheduleAttr scheduleElements(Operation *op) {
  return scheduleColumns(op, std::min(columnsOf(op), kColumnsOfBlock));
}

CudaScheduleAttr scheduleRows(Operation *op) {
  return columnsOf(op) <= kMostRowColumns ? scheduleColumns(op, columnsOf(op))
                                          : scheduleElements(op);
}

CudaScheduleAttr scheduleHeads(Operation *op, int64_t width) {
  int64_t columns = columnsOf(op);
  if (columns <= kMostRowColumns) {
    return scheduleRows(op);
  }
  for (int64_t tile = width; tile <= kMostRowColumns; tile += width) {
    CudaScheduleAttr schedule = scheduleColumns(op, tile);
    if (schedule.getColumns() == tile) {
      return schedule;
    }
  }
  op->emitOpError("needs tiles of whole heads, of at most ")
      << kMostRowColumns << " columns on a GPU, which none of " << columns
      << " columns has with heads of " << width
      << "; a CPU runs it (--target=cpu)";
  return {};
}

bool hasWholeRows(Operation *op, CudaScheduleAttr schedule) {
  return schedule.getColumns() >= columnsOf(op);
}

/// The most that tiles of a kernel that begins with `anchor` hold.
static TileScope heldScopeOf(Operation *anchor) {
  if (auto recipe = dyn_cast<CudaRecipeOpInterface>(anchor)) {
    return recipe.getHeldScope();
  }
  return joinsTiles(anchor) ? TileScope::row : TileScope::element;
}

bool canHoldRows(Operation *anchor) {
  return heldScopeOf(anchor) == TileScope::row &&
         columnsOf(anchor) <= kMostRowColumns;
}

bool holdsHeads(Operation *anchor) {
  return heldScopeOf(anchor) == TileScope::head;
}

bool holdsHalves(Operation *anchor) {
  // Blocks that add parts have rows of the sum, and not the same columns twice.
  auto recipe = dyn_cast<CudaRecipeOpInterface>(anchor);
  return recipe && !anchor->hasAttr(kAddedPartsAttr) &&
         llvm::any_of(llvm::seq(anchor->getNumOperands()), [&](unsigned index) {
           return mayOrderColumns(recipe.getReads(index));
         });
}

/// Nothing where it joins none.
static std::optional<CudaJoin> joinOf(Operation *op) {
  auto joining = dyn_cast_or_null<CudaJoinOpInterface>(op);
  return joining ? joining.getJoin() : std::nullopt;
}

bool joinsAfter(Operation *op, TileScope scope) {
  std::optional<CudaJoin> join = joinOf(op);
  return join && !join->columnsBefore && !join->summedColumns &&
         join->scope == scope;
}

int64_t summedColumnsOf(Operation *op) {
  std::optional<CudaJoin> join = joinOf(op);
  return join ? join->summedColumns : 0;
}

bool canHoldSummed(CudaScheduleAttr schedule, int64_t columns) {
  return schedule.getColumns() % (columns * schedule.getColumnWarps()) == 0;
}

LogicalResult checkSequences(Operation *op, int64_t sequences, int64_t heads) {
  if (std::max(sequences, heads) > kMostBlocksYZ) {
    return op->emitOpError("has code for a GPU for at most ")
           << kMostBlocksYZ << " items of a batch and as many heads, got "
           << sequences << " and " << heads << "; give it fewer at once";
  }
  return success();
}

LogicalResult checkHeadWidths(Operation *op, ArrayRef<int64_t> widths,
                              int64_t most) {
  for (int64_t width : widths) {
    if (width > most) {
      return op->emitOpError("has code for a GPU for heads of up to ")
             << most << " columns, got " << width
             << "; a CPU runs it (--target=cpu)";
    }
  }
  return success();
}

Grid gridOfTiles(Operation *op, CudaScheduleAttr schedule) {
  int64_t rows = rowsOf(op);
  return {llvm::divideCeilSigned(rows, schedule.getRows()),
          llvm::divideCeilSigned(columnsOf(op), schedule.getColumns()), 1, rows,
          schedule.getRows()};
}

//===----------------------------------------------------------------------===//
// Anchors
//===----------------------------------------------------------------------===//

/// What computes a value, also where it is the result of a stage; null: none of
/// the kernel's operations.
static Operation *computing(Value value) {
  auto stage = value.getDefiningOp<StageOp>();
  return stage ? stage.getComputed(cast<OpResult>(value).getResultNumber())
                     .getDefiningOp()
               : value.getDefiningOp();
}

Operation *scalingOf(Operation *product) {
  auto recipe = dyn_cast<CudaRecipeOpInterface>(product);
  if (!recipe || product->getNumOperands() == 0) {
    return nullptr;
  }
  Value rows = product->getOperand(0);
  Operation *scaling = computing(rows);
  std::optional<CudaJoin> join = joinOf(scaling);
  bool scales = join && join->columnsBefore && rows.hasOneUse() &&
                recipe.takesBefore(join->columnsBefore);
  return scales ? scaling : nullptr;
}

Operation *tileAnchorOf(ArrayRef<Operation *> ops) {
  return ops.size() > 1 && scalingOf(ops[1]) == ops[0] ? ops[1] : ops[0];
}

Operation *tileAnchorOf(KernelOp kernel) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto stage = dyn_cast<StageOp>(op)) {
      // The last one computes what leaves the kernel.
      ops = {stage.getAnchor()};
    } else if (!isKernelView(&op)) {
      ops.push_back(&op);
    }
  }
  // Columns alone that leave the program are copied.
  return ops.empty() ? firstOf(kernel) : tileAnchorOf(ops);
}

CudaScheduleAttr chooseSchedule(Operation *anchor,
                                ArrayRef<Operation *> joined) {
  if (llvm::any_of(joined, joinsRows)) {
    return scheduleRows(anchor);
  }
  if (auto recipe = dyn_cast<CudaRecipeOpInterface>(anchor)) {
    return recipe.chooseSchedule();
  }
  if (joinsTiles(anchor)) {
    return scheduleElements(anchor);
  }
  anchor->emitOpError(
      "has no code for a GPU yet; a CPU runs it (--target=cpu)");
  return {};
}

bool canHoldSums(CudaScheduleAttr schedule) {
  int64_t columns = 2 * kMmaColumns; // two products beside each other
  return schedule.getRows() % (kMmaRows * schedule.getRowWarps()) == 0 &&
         schedule.getColumns() % (columns * schedule.getColumnWarps()) == 0 &&
         schedule.getRows() * schedule.getColumns() <=
             kHalfRegisters * kLanes * schedule.warps();
}

bool canHoldHalves(CudaScheduleAttr schedule) {
  int64_t columns = 4 * kMmaColumns; // of each half two products
  return schedule.getColumns() % (columns * schedule.getColumnWarps()) == 0;
}

bool fitsGroup(const GpuFacts &gpu, int64_t elements, Type element) {
  return elements * element.getIntOrFloatBitWidth() / 8 <= gpu.groupBytes;
}

Grid gridOf(Operation *anchor, CudaScheduleAttr schedule) {
  auto recipe = dyn_cast<CudaRecipeOpInterface>(anchor);
  return recipe ? recipe.getGrid(schedule) : gridOfTiles(anchor, schedule);
}

} // namespace hova
