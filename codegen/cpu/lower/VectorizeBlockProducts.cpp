//===- VectorizeBlockProducts.cpp - Block products as vectors -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Row by row in vectors, and what runs meanwhile after it. A schedule asks for
// block products where the level has a unit for them; a dump of it, up to phase
// `tile`, is still a program for any other.

#include "codegen/cpu/Passes.h"
#include "codegen/cpu/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VECTORIZEBLOCKPRODUCTSPASS
#include "codegen/cpu/Passes.h.inc"

/// A loop from 0 to `count`, with the insertion point in its body.
static Value beginLoop(ImplicitLocOpBuilder &b, Value count) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, zero, count, one);
  b.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

static void emitRow(ImplicitLocOpBuilder &b, BlockProductOp op, Value row,
                    int64_t column, int64_t columns) {
  auto plus = [&](Value index, Value by) {
    return b.createOrFold<arith::AddIOp>(index, by);
  };
  auto type = VectorType::get({1, columns}, b.getF32Type());
  Value offset = arith::ConstantIndexOp::create(b, column);
  Value sumsRow = plus(op.getSumsRow(), row);
  Value sumsColumn = plus(op.getSumsColumn(), offset);
  SmallVector<Value> right(op.getRhsIndices());
  right.back() = plus(right.back(), offset);
  Value init;
  if (op.getAdded()) {
    init = TileLoadOp::create(b, type, op.getSums(), sumsRow, sumsColumn,
                              /*columns=*/IntegerAttr());
  }
  Value tile = TileProductOp::create(
      b, type, op.getLhs(), plus(op.getRow(), row), op.getColumn(), op.getRhs(),
      right, op.getDepth(), /*columns=*/IntegerAttr(), init);
  TileStoreOp::create(b, tile, op.getSums(), sumsRow, sumsColumn,
                      /*columns=*/IntegerAttr());
}

static void expand(BlockProductOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value row = beginLoop(b, op.getRows());
  constexpr int64_t columns = 2 * BlockProductOp::tileColumns;
  for (int64_t column = 0, end = op.getColumns(); column < end;
       column += columns) {
    emitRow(b, op, row, column, columns);
  }
  if (op.getTurns()) {
    b.setInsertionPoint(op);
    IRMapping mapping;
    Block &body = op.getMeanwhile().front();
    mapping.map(body.getArgument(0), beginLoop(b, op.getTurns()));
    for (Operation &inner : body) {
      b.clone(inner, mapping);
    }
  }
  op.erase();
}

namespace {
struct VectorizeBlockProductsPass final
    : impl::VectorizeBlockProductsPassBase<VectorizeBlockProductsPass> {
  void runOnOperation() override {
    getOperation().walk([](BlockProductOp op) { expand(op); });
  }
};
} // namespace
} // namespace hova
