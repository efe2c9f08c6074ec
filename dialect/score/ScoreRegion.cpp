//===- ScoreRegion.cpp - Verifying and writing score regions
//----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/score/ScoreRegion.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace hova {

static bool isScalarOfScores(Type type) {
  return type.isF32() || type.isIndex() || type.isInteger(1) ||
         type.isInteger(32) || type.isInteger(64);
}

bool isScoreOperation(Operation *op) {
  bool hasMeaning =
      isa<ElementOp, NumberOp, ScoreYieldOp, arith::ConstantOp, arith::AddFOp,
          arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
          arith::MaximumFOp, arith::MinimumFOp, arith::CmpFOp, arith::SelectOp,
          arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp,
          arith::RemSIOp, arith::MaxSIOp, arith::MinSIOp, arith::CmpIOp,
          arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::IndexCastOp,
          arith::SIToFPOp, math::AbsFOp, math::CeilOp, math::ExpOp,
          math::FloorOp, math::FmaOp, math::LogOp, math::Log2Op, math::SqrtOp,
          math::TanhOp>(op);
  auto areScalars = [](TypeRange types) {
    return llvm::all_of(types, isScalarOfScores);
  };
  TypeRange operands = op->getOperandTypes();
  return hasMeaning && areScalars(op->getResultTypes()) &&
         areScalars(isa<ElementOp>(op) ? operands.drop_front() : operands);
}

bool isScoreJump(Operation *op) {
  return isa<math::CeilOp, math::FloorOp, arith::CmpFOp>(op);
}

static SmallVector<Type> argumentTypes(Builder &builder, ValueRange captured) {
  SmallVector<Type> types(ScoreRegion::kIndices, builder.getIndexType());
  types.front() = builder.getF32Type();
  llvm::append_range(types, captured.getTypes());
  return types;
}

//===----------------------------------------------------------------------===//
// Verifiers and maps
//===----------------------------------------------------------------------===//

/// Whether an integer is a positive constant.
static bool isPositive(Value value) {
  IntegerAttr constant;
  return matchPattern(value, m_Constant(&constant)) &&
         constant.getValue().isStrictlyPositive();
}

/// An operation inside of the region.
static LogicalResult verifyScoreOperation(Operation *op) {
  auto element = dyn_cast<ElementOp>(op);
  bool reads = !element || isa<BlockArgument>(element.getTable());
  if (!isScoreOperation(op) || !reads) { // C7
    return op->emitOpError("has no meaning among the scores of an attention: "
                           "these are scalars of arith and math and elements "
                           "of captured tensors");
  }
  if (isa<arith::FloorDivSIOp, arith::RemSIOp>(op) &&
      !isPositive(op->getOperand(1))) { // C8
    return op->emitOpError("among scores expects a positive constant divisor");
  }
  return success();
}

LogicalResult verifyScoreRegion(Operation *op, Region &region,
                                ValueRange captured, bool carriesScores) {
  Block &block = region.front();
  Builder builder(op->getContext());
  SmallVector<Type> types = argumentTypes(builder, captured);
  if (block.getArgumentTypes() != TypeRange(types) ||
      !isa<ScoreYieldOp>(block.getTerminator())) { // C6
    return op->emitOpError("expects scores of a raw score, four indices and "
                           "the captured tensors, which end with "
                           "'hova.score_yield'");
  }
  for (Operation &op : block) {
    if (failed(verifyScoreOperation(&op))) {
      return failure();
    }
  }
  Value carried = ScoreRegion(region).getYield().getCarried();
  if (static_cast<bool>(carried) != carriesScores) { // C9
    return op->emitOpError(
        "expects a carried score exactly where it gives scores");
  }
  return success();
}

void nameScoreArguments(Region &region, OpAsmSetValueNameFn setName) {
  StringRef names[] = {"raw", "batch", "head", "query", "key"};
  for (auto [argument, name] : llvm::zip(region.getArguments(), names)) {
    setName(argument, name);
  }
}

std::optional<SmallVector<AffineExpr>> axesOfReads(BlockArgument captured,
                                                   ArrayRef<AffineExpr> indices,
                                                   AffineExpr zero) {
  std::optional<SmallVector<AffineExpr>> found;
  for (Operation *user : captured.getUsers()) {
    SmallVector<AffineExpr> axes;
    for (Value index : cast<ElementOp>(user).getIndices()) {
      auto argument = dyn_cast<BlockArgument>(index);
      IntegerAttr constant;
      if (argument) {
        axes.push_back(indices[argument.getArgNumber() - 1]);
      } else if (matchPattern(index, m_Constant(&constant)) &&
                 constant.getValue().isZero()) {
        axes.push_back(zero);
      } else {
        return std::nullopt;
      }
    }
    if (found && *found != axes) {
      return std::nullopt;
    }
    found = axes;
  }
  return found;
}

void shiftQueries(RewriterBase &rewriter, ScoreRegion region, int64_t first) {
  Value query = region.getQuery();
  if (first == 0 || query.use_empty()) {
    return;
  }
  auto b = ImplicitLocOpBuilder::atBlockBegin(
      region.getBlock().getParentOp()->getLoc(), &region.getBlock(),
      rewriter.getListener());
  Value offset = arith::ConstantIndexOp::create(b, first);
  Value shifted = arith::AddIOp::create(b, query, offset);
  rewriter.replaceAllUsesExcept(query, shifted, shifted.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// ScoreWriter
//===----------------------------------------------------------------------===//

static ScoreRegion addBlock(OpBuilder &builder, Location loc, Region &region,
                            ValueRange captured) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types = argumentTypes(builder, captured);
  builder.createBlock(&region, {}, types,
                      SmallVector<Location>(types.size(), loc));
  return ScoreRegion(region);
}

ScoreWriter::ScoreWriter(OpBuilder &builder, Location loc, Region &region,
                         ValueRange captured)
    : b(loc, builder), region(addBlock(builder, loc, region, captured)) {
  b.setInsertionPointToEnd(&this->region.getBlock());
}

Value ScoreWriter::number(double value) {
  return NumberOp::create(b, b.getF32Type(), b.getF64FloatAttr(value));
}

Value ScoreWriter::integer(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value ScoreWriter::always() {
  return arith::ConstantOp::create(b, b.getBoolAttr(true));
}

Value ScoreWriter::scale(Value score, double factor) {
  return factor == 1 ? score : arith::MulFOp::create(b, score, number(factor));
}

Value ScoreWriter::divide(Value score, double by) {
  return by == 1 ? score : arith::DivFOp::create(b, score, number(by));
}

Value ScoreWriter::add(Value score, Value bias) {
  return arith::AddFOp::create(b, score, bias);
}

Value ScoreWriter::both(Value a, Value c) {
  return a && c ? arith::AndIOp::create(b, a, c) : a ? a : c;
}

Value ScoreWriter::readBroadcast(Value table, Value entry) {
  Value full[] = {entry ? entry : region.getBatch(), region.getHead(),
                  region.getQuery(), region.getKey()};
  SmallVector<Value> indices;
  for (auto [axis, size] : llvm::enumerate(shapeOf(table))) {
    bool isShared = size == 1 && axis + 1 < std::size(full);
    indices.push_back(isShared ? integer(0) : full[axis]);
  }
  return ElementOp::create(b, table, indices);
}

Value ScoreWriter::readEntry(Value index, int64_t below) {
  Value place = arith::RemSIOp::create(b, region.getBatch(),
                                       integer(shapeOf(index).front()));
  ElementOp entry = ElementOp::create(b, index, ValueRange{place});
  entry.setRange(ArrayRef<int64_t>{0, below});
  return arith::IndexCastOp::create(b, b.getIndexType(), entry.getResult());
}

Value ScoreWriter::isNotLater(int64_t group, int64_t shift) {
  Value position = region.getQuery();
  if (shift != 0) {
    position = arith::AddIOp::create(b, position, integer(shift));
  }
  if (group == 1) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sle, region.getKey(),
                                 position);
  }
  // The first key of the next group.
  Value size = integer(group);
  Value quotient = arith::FloorDivSIOp::create(b, position, size);
  Value limit = arith::MulIOp::create(
      b, arith::AddIOp::create(b, quotient, integer(1)), size);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, region.getKey(),
                               limit);
}

Value ScoreWriter::orSlot(Value kept, int64_t keys) {
  Value isSlot = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                       region.getKey(), integer(keys));
  return kept ? arith::OrIOp::create(b, kept, isSlot) : Value();
}

void ScoreWriter::yield(Value score, Value kept, Value carried) {
  ScoreYieldOp::create(b, score, kept ? kept : always(), carried);
}

} // namespace hova
