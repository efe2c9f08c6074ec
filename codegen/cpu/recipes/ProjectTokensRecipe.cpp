//===- ProjectTokensRecipe.cpp - Loops of few sums of all tokens ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Units are batch entries, and shares of the columns where these are few. The
// weight, read transposed, is the left operand: step j of a tile reads one
// piece of a row of x and the numbers that token j has in all sums.
//
//   for columns, for rows:
//     y[rows, columns] = sum over tokens j of w[j, rows] * x[j, columns]

#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/Shapes.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

static void emit(KernelEmitter &e, ProjectTokensOp op) {
  int64_t tokens = shapeOf(op.getX())[1], width = shapeOf(op.getX())[2];
  int64_t projected = shapeOf(op.getWeight())[1];
  int64_t shares = blocksOf(*op->getParentOfType<KernelOp>().getUnits());
  int64_t lanes = e.schedule.tileColumns;
  Value x = e.buffer(op.getX()), result = e.buffer(op.getResult());
  Value weight = e.reinterpret(e.buffer(op.getWeight()), {projected, tokens},
                               {1, projected});
  auto emitTiles = [&](Expr batch, const Chunk &at) {
    forEachEvenBlock(
        e, "rows", projected, e.schedule.tileRows,
        [&](Expr row, int64_t height) {
          Expr sums = e.multiply({row, height, at}, {weight, {row, 0}},
                                 {x, {batch * tokens, at.column}}, tokens);
          e.store(sums, result, {batch * projected + row, height, at});
        });
  };
  // Shares begin at multiples of a tile's columns.
  int64_t whole = width / lanes, tiles = llvm::divideCeil(width, lanes);
  e.forLoop("column_share", e.begin, e.end, 1, [&](Expr unit) {
    Expr batch = unit / shares, share = unit % shares;
    Expr from = share * tiles / shares, to = (share + 1) * tiles / shares;
    e.forLoop("columns", from, min(to, whole), 1,
              [&](Expr tile) { emitTiles(batch, {tile * lanes, lanes}); });
    if (int64_t rest = width - whole * lanes) {
      // In the share that ends after the last whole tile.
      e.forLoop("columns", whole, to, 1, [&](Expr) {
        emitTiles(batch,
                  {whole * lanes, int64_t(llvm::PowerOf2Ceil(rest)), rest});
      });
    }
  });
}

namespace {
struct ProjectTokensRecipe
    : StoringCpuRecipe<ProjectTokensRecipe, ProjectTokensOp, emit> {};
} // namespace

void attachProjectTokensRecipe(MLIRContext &context) {
  ProjectTokensOp::attachInterface<ProjectTokensRecipe>(context);
}

} // namespace hova
