//===- ProjectTokensRecipe.cpp - Loops of few sums of all tokens ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Units are batch entries, and shares of the columns where these are few. The
// weight, read transposed, is the left operand: step j of a tile reads one
// piece of a row of x and the numbers that token j has in all sums.
//
//   for columns, for rows:
//     y[rows, columns] = sum over tokens j of w[j, rows] * x[j, columns]

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/LinearAttentionOps.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

namespace {
class ProjectTokensLoops {
public:
  ProjectTokensLoops(KernelEmitter &emitter, ProjectTokensOp op)
      : e(emitter), b(emitter.builder), tokens(shapeOf(op.getX())[1]),
        width(shapeOf(op.getX())[2]), projected(shapeOf(op.getWeight())[1]),
        shares(blocksOf(*op->getParentOfType<KernelOp>().getUnits())),
        lanes(e.schedule.tileColumns), x(e.buffer(op.getX())),
        result(e.buffer(op.getResult())),
        weight(transposed(e.buffer(op.getWeight()))) {}

  void emit();

private:
  Value transposed(Value matrix);
  void emitTiles(Value batch, Value column, int64_t lanes, int64_t valid);

  KernelEmitter &e;
  OpBuilder &b;
  int64_t tokens, width, projected;
  int64_t shares; ///< units of a batch entry
  int64_t lanes;
  Value x, result, weight;
};
} // namespace

/// [tokens, projected] as [projected, tokens].
Value ProjectTokensLoops::transposed(Value matrix) {
  auto from = cast<MemRefType>(matrix.getType());
  SmallVector<int64_t> strides = {1, projected};
  auto type =
      MemRefType::get({projected, tokens}, from.getElementType(),
                      StridedLayoutAttr::get(b.getContext(), 0, strides));
  return e.make<memref::ReinterpretCastOp>(
      type, matrix, 0, ArrayRef<int64_t>{projected, tokens}, strides);
}

void ProjectTokensLoops::emit() {
  // Shares begin at multiples of a tile's columns.
  int64_t whole = width / lanes, tiles = llvm::divideCeil(width, lanes);
  e.forLoop("column_share", e.begin, e.end, 1, [&](Value unit) {
    Value batch = e.div(unit, shares), share = e.rem(unit, shares);
    Value from = e.div(e.mul(share, tiles), shares);
    Value to = e.div(e.mul(e.add(share, 1), tiles), shares);
    Value end = e.make<arith::MinUIOp>(to, e.index(whole));
    e.forLoop("columns", from, end, 1, [&](Value tile) {
      emitTiles(batch, e.mul(tile, lanes), lanes, lanes);
    });
    if (int64_t rest = width - whole * lanes) {
      // In the share that ends after the last whole tile.
      e.forLoop("columns", e.index(whole), to, 1, [&](Value) {
        emitTiles(batch, e.index(whole * lanes), llvm::PowerOf2Ceil(rest),
                  rest);
      });
    }
  });
}

void ProjectTokensLoops::emitTiles(Value batch, Value column, int64_t lanes,
                                   int64_t valid) {
  IntegerAttr columns;
  if (valid < lanes) {
    columns = b.getI64IntegerAttr(valid);
  }
  forEachEvenBlock(
      e, "rows", projected, e.schedule.tileRows,
      [&](Value row, int64_t height) {
        Value sums = e.make<TileProductOp>(
            VectorType::get({height, lanes}, b.getF32Type()), weight, row,
            e.index(0), x, ValueRange{e.mul(batch, tokens), column},
            e.index(tokens), columns);
        e.make<TileStoreOp>(sums, result, e.add(e.mul(batch, projected), row),
                            column, columns);
      });
}

static void emit(KernelEmitter &e, ProjectTokensOp op) {
  ProjectTokensLoops(e, op).emit();
}

namespace {
struct ProjectTokensRecipe
    : CpuRecipe<ProjectTokensRecipe, ProjectTokensOp, emit> {
  bool takesJoins(Operation *) const { return false; }
};
} // namespace

void attachProjectTokensRecipe(MLIRContext &context) {
  ProjectTokensOp::attachInterface<ProjectTokensRecipe>(context);
}

} // namespace hova
