//===- ProjectTokensRecipe.cpp - Loops of few sums of all tokens ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Units are batch entries, and shares of the columns where these are few. The
// weight, read transposed, is the left operand: step j of a tile reads one
// piece of a row of x and the numbers that token j has in all sums.
//
//   for columns, for rows:
//     y[rows, columns] = sum over tokens j of w[j, rows] * x[j, columns]
//
// By a matrix unit, a thread turns the weight once for all of its units, and
// 32 columns of x are the pairs of a right operand.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/BlockProducts.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/Shapes.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

static std::optional<Verdict> judgeUnit(ProjectTokensOp op) {
  if (!getElementTypeOrSelf(op.getX()).isBF16() ||
      !getElementTypeOrSelf(op.getWeight()).isBF16()) {
    return std::nullopt;
  }
  return judgeUnitProduct(shapeOf(op.getX())[1], shapeOf(op.getX())[2],
                          "tokens");
}

namespace {
struct ProjectTokensLoops {
  /// With a layout alone, what is taken from it is counted.
  ProjectTokensLoops(ProjectTokensOp op, const CpuSchedule &schedule,
                     ScratchLayout layout)
      : op(op), layout(layout) {
    std::optional<Verdict> verdict = judgeUnit(op);
    if (schedule.matrixUnit && verdict && verdict->fired) {
      usesUnit = true;
      int64_t depth = wholeSteps(tokens);
      Builder b(op.getContext());
      turned = this->layout.take({projected, paddedStride(depth, 2)},
                                 b.getBF16Type());
      pairs = this->layout.take({depth / 2, MatrixUnit::blockColumns},
                                b.getI32Type());
      sums =
          this->layout.take({MatrixUnit::blockRows, MatrixUnit::blockColumns});
    }
  }

  void emit(KernelEmitter &e);
  void emitTiles(KernelEmitter &e, Expr batch, const Chunk &at);
  void emitUnitTiles(KernelEmitter &e, Expr batch, const Chunk &at);

  ProjectTokensOp op;
  ScratchLayout layout;
  int64_t tokens = shapeOf(op.getX())[1], width = shapeOf(op.getX())[2];
  int64_t projected = shapeOf(op.getWeight())[1];
  bool usesUnit = false;
  Value x, result, weight;
  // By the unit: the weight, 32 columns of x, and a block of the result.
  Value turned, pairs, sums;
};
} // namespace

void ProjectTokensLoops::emitTiles(KernelEmitter &e, Expr batch,
                                   const Chunk &at) {
  forEachEvenBlock(
      e, "rows", projected, e.schedule.tileRows, [&](Expr row, int64_t height) {
        Expr sums = e.multiply({row, height, at}, {weight, {row, 0}},
                               {x, {batch * tokens, at.column}}, tokens);
        e.store(sums, result, {batch * projected + row, height, at});
      });
}

void ProjectTokensLoops::emitUnitTiles(KernelEmitter &e, Expr batch,
                                       const Chunk &at) {
  constexpr int64_t lanes = MatrixUnit::blockColumns;
  pairTokens(e, {pairs, {0, 0}}, {x, {batch * tokens, at.column}}, tokens,
             at.valid);
  UnitBlocks blocks(0, projected, unitHeightOf(projected));
  e.forLoop("blocks", blocks.count, [&](Expr block) {
    Expr first = blocks.firstOf(block);
    multiplySplit(e, {sums, {0, 0}}, SplitFactor({turned, {first, 0}}),
                  SplitFactor({pairs, {0, 0}}), blocks.rowCount, blocks.height,
                  wholeSteps(tokens));
    e.forLoop("rows", blocks.skippedOf(block), blocks.rowCount, 1,
              [&](Expr row) {
                e.store(e.load(sums, TilePlace(row, 0, 1, lanes)), result,
                        {batch * projected + first + row,
                         1,
                         {at.column, lanes, at.valid}});
              });
  });
}

void ProjectTokensLoops::emit(KernelEmitter &e) {
  int64_t shares = blocksOf(*op->getParentOfType<KernelOp>().getUnits());
  int64_t lanes = e.schedule.tileColumns;
  x = e.buffer(op.getX());
  result = e.buffer(op.getResult());
  weight = e.buffer(op.getWeight());
  if (usesUnit) {
    turnTokens(e, turned, {weight, {0, 0}}, tokens, projected);
  } else {
    weight = e.reinterpret(weight, {projected, tokens}, {1, projected});
  }
  auto emitColumns = [&](Expr batch, const Chunk &at) {
    usesUnit ? emitUnitTiles(e, batch, at) : emitTiles(e, batch, at);
  };
  // Shares begin at multiples of a tile's columns.
  int64_t whole = width / lanes, tiles = llvm::divideCeil(width, lanes);
  e.forLoop("column_share", e.begin, e.end, 1, [&](Expr unit) {
    Expr batch = unit / shares, share = unit % shares;
    Expr from = share * tiles / shares, to = (share + 1) * tiles / shares;
    e.forLoop("columns", from, min(to, whole), 1,
              [&](Expr tile) { emitColumns(batch, {tile * lanes, lanes}); });
    if (int64_t rest = width - whole * lanes) {
      // In the share that ends after the last whole tile.
      e.forLoop("columns", whole, to, 1, [&](Expr) {
        emitColumns(batch,
                    {whole * lanes, int64_t(llvm::PowerOf2Ceil(rest)), rest});
      });
    }
  });
}

static int64_t scratchBytes(ProjectTokensOp op, const CpuSchedule &schedule) {
  return ProjectTokensLoops(op, schedule, ScratchLayout()).layout.getBytes();
}

static void emit(KernelEmitter &e, ProjectTokensOp op) {
  ProjectTokensLoops(op, e.schedule, ScratchLayout(&e)).emit(e);
}

namespace {
struct ProjectTokensRecipe
    : StoringCpuRecipe<ProjectTokensRecipe, ProjectTokensOp, emit,
                       scratchBytes> {
  std::optional<Verdict> judgeUnit(Operation *op) const {
    return hova::judgeUnit(cast<ProjectTokensOp>(op));
  }
};
} // namespace

void attachProjectTokensRecipe(MLIRContext &context) {
  ProjectTokensOp::attachInterface<ProjectTokensRecipe>(context);
}

} // namespace hova
