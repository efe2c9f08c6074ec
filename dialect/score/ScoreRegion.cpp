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

Value ScoreWriter::orSlot(Value kept, int64_t keys) {
  if (!kept) {
    return {};
  }
  Value first = arith::ConstantIndexOp::create(b, keys);
  Value isSlot = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                       region.getKey(), first);
  return arith::OrIOp::create(b, kept, isSlot);
}

void ScoreWriter::yield(Value score, Value kept, Value carried) {
  if (!kept) {
    kept = arith::ConstantOp::create(b, b.getBoolAttr(true));
  }
  ScoreYieldOp::create(b, score, kept, carried);
}

} // namespace hova
