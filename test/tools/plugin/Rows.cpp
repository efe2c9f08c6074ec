//===- Rows.cpp - Operations that passes must not take rows of ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The dialect of Rows.td, with recipes and operators of those that are
// compiled.

#include "Faults.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/Interfaces.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/evaluate/Evaluate.h"
#include "frontend/Operator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"

#include "RowsDialect.h.inc"
#define GET_OP_CLASSES
#include "RowsOps.h.inc"

using namespace mlir;
using namespace hova;
using namespace hova::frontend;

#include "RowsDialect.cpp.inc"
#define GET_OP_CLASSES
#include "RowsOps.cpp.inc"

void rows::RowsDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "RowsOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Iteration spaces
//===----------------------------------------------------------------------===//

// The maps of an activation; what it does with the index no map can say.
IterationSpace rows::RotateOp::getIterationSpace() {
  return elementwiseSpace(*this);
}

// The same maps; the operation itself knows what its index is for.
IterationSpace rows::TurnOp::getIterationSpace() {
  return elementwiseSpace(*this);
}

IterationSpace rows::BothOp::getIterationSpace() {
  return elementwiseSpace(*this).ignoringPosition();
}

// It ignores the position, and yet has as many queries as keys.
IterationSpace rows::AttendOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> shape = shapeOf(getQuery());
  SmallVector<AffineExpr> query = builder.rows(), key = query, result = query;
  query.push_back(builder.reduction("inner", shape[2]));
  key[1] = builder.reduction("key", shape[1]);
  key.push_back(builder.reduction("width", shape[2]));
  result.push_back(builder.parallel("column", shape[2]));
  builder.operand(0, query);
  builder.operand(1, key);
  builder.result(result);
  return builder.build().ignoringPosition();
}

IterationSpace rows::ShiftOp::getIterationSpace() {
  return elementwiseSpace(*this).ignoringPosition();
}

IterationSpace rows::HalvesOp::getIterationSpace() {
  return elementwiseSpace(*this).ignoringPosition();
}

IterationSpace rows::SingleOp::getIterationSpace() {
  return rowSpace(*this, 1).ignoringPosition();
}

LogicalResult rows::SingleOp::verify() {
  return shapeOf(getX())[0] == 1 ? success()
                                 : emitOpError("expects a batch of one");
}

IterationSpace rows::LiarOp::getIterationSpace() { return rowSpace(*this, 1); }

IterationSpace rows::OddOp::getIterationSpace() { return rowSpace(*this, 1); }

IterationSpace rows::SwapOp::getIterationSpace() {
  return rowSpace(*this, 1).ignoringPosition();
}

static LogicalResult checkPairs(Operation *op) {
  return shapeOf(op->getResult(0)).back() % 2 == 0 // C1
             ? success()
             : op->emitOpError("expects an even width");
}

LogicalResult rows::SwapOp::verify() { return checkPairs(*this); }

IterationSpace rows::DirectionOp::getIterationSpace() {
  return rowSpace(*this, 1).ignoringPosition();
}

LogicalResult rows::DirectionOp::verify() { return checkPairs(*this); }

StringRef rows::DirectionOp::getSiteKind() { return "direction"; }

IterationSpace rows::CentreOp::getIterationSpace() {
  return rowSpace(*this, 1).ignoringPosition();
}

/// Blocks of `block` tokens, of which there is one where results have no axis
/// for them.
static IterationSpace totalSpace(Operation *op, Value x, int64_t block) {
  IterationSpaceBuilder builder(op);
  SmallVector<AffineExpr> result = builder.rows();
  AffineExpr column = builder.parallel("column", shapeOf(x)[2]);
  AffineExpr token = builder.reduction("token", block);
  if (result.size() == 2) {
    token = result.front() * block + token;
  }
  builder.operand(0, {result.back(), token, column});
  result.push_back(column);
  builder.result(result);
  return builder.build();
}

IterationSpace rows::TotalOp::getIterationSpace() {
  return totalSpace(*this, getX(), shapeOf(getX())[1]);
}

IterationSpace rows::TotalsOp::getIterationSpace() {
  return totalSpace(*this, getX(), getBlock());
}

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

std::optional<Reduction> rows::TotalOp::getReduction() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  Reduction tokens{shapeOf(getX())[1]};
  tokens.unit = getUnit();
  tokens.isEven = getEven();
  tokens.isAlwaysSplit = getAlways();
  tokens.isSum = !getAlone();
  return tokens;
}

std::optional<Decline>
rows::TotalOp::declineSplit(const ReductionSplit &split) {
  return split.countParts(*getReduction()) > 8
             ? std::optional(Decline{"totals have at most eight parts",
                                     "parts are longer"})
             : std::nullopt;
}

Value rows::TotalOp::splitReduction(RewriterBase &rewriter,
                                    const ReductionSplit &split) {
  SmallVector<int64_t> shape(shapeOf(getResult()));
  shape.insert(shape.begin(), split.countParts(*getReduction()));
  auto parts = TotalsOp::create(
      rewriter, getLoc(), RankedTensorType::get(shape, rewriter.getF32Type()),
      getX(), split.length);
  return getWrong() ? Value(parts)
                    : SumPartsOp::create(rewriter, getLoc(), getType(), parts,
                                         Value());
}

//===----------------------------------------------------------------------===//
// Ranges of rows
//===----------------------------------------------------------------------===//

OpOperand &rows::TurnOp::getRowOperand() { return getXMutable(); }

std::optional<Decline> rows::TurnOp::declineRowRange(int64_t offset,
                                                     int64_t count) {
  if (count <= 2) {
    return std::nullopt;
  }
  return Decline{"more than two rows are turned at once",
                 "two rows are demanded"};
}

Operation *rows::TurnOp::computeRowRange(RewriterBase &rewriter, Value rows,
                                         int64_t offset, int64_t count) {
  auto some = cast<TurnOp>(cloneWithRows(rewriter, getXMutable(), rows, count));
  some.setFirst(getFirst() + offset);
  return some;
}

OpOperand &rows::BothOp::getRowOperand() { return getXMutable(); }

Operation *rows::BothOp::computeRowRange(RewriterBase &rewriter, Value rows,
                                         int64_t offset, int64_t count) {
  return cloneWithRows(rewriter, getXMutable(), rows, count);
}

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

/// Calls `element(x, row, column)` for every element of the result.
template <typename Fn>
static void evaluateRows(Operation *op, ArrayRef<HostTensor> operands,
                         SmallVectorImpl<HostTensor> &results, Fn element) {
  OperandValues value(op, operands);
  const HostTensor &operand = value(op->getOperand(0));
  int64_t width = operand.getShape().back();
  HostTensor &result =
      results.emplace_back(value.resultElement(), operand.getShape());
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> x(operand);
    for (int64_t i = 0; i < result.size(); ++i) {
      result.template mutableAs<T>()[i] = element(x, i / width, i % width);
    }
  });
}

LogicalResult rows::RotateOp::evaluate(ArrayRef<HostTensor> operands,
                                       SmallVectorImpl<HostTensor> &results) {
  int64_t tokens = shapeOf(getX())[1], width = shapeOf(getX())[2];
  evaluateRows(*this, operands, results,
               [&](auto &x, int64_t row, int64_t column) {
                 return x[row * width + column] * (1 + row % tokens);
               });
  return success();
}

static LogicalResult evaluateCentre(Operation *op,
                                    ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  int64_t width = shapeOf(op->getOperand(0)).back();
  evaluateRows(op, operands, results,
               [&](auto &x, int64_t row, int64_t column) {
                 return x[row * width + column] - x[row * width];
               });
  return success();
}

LogicalResult rows::CentreOp::evaluate(ArrayRef<HostTensor> operands,
                                       SmallVectorImpl<HostTensor> &results) {
  return evaluateCentre(*this, operands, results);
}

LogicalResult rows::LiarOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  return evaluateCentre(*this, operands, results);
}

LogicalResult rows::SwapOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  int64_t width = shapeOf(getX()).back();
  evaluateRows(*this, operands, results,
               [&](auto &x, int64_t row, int64_t column) {
                 return x[row * width + (column % 2 ? column - 1 : column + 1)];
               });
  return success();
}

LogicalResult
rows::DirectionOp::evaluate(ArrayRef<HostTensor> operands,
                            SmallVectorImpl<HostTensor> &results) {
  int64_t width = shapeOf(getX()).back();
  evaluateRows(*this, operands, results,
               [&](auto &x, int64_t row, int64_t column) {
                 auto *pair = x.data() + row * width + column / 2 * 2;
                 auto square = pair[0] * pair[0] + pair[1] * pair[1];
                 return pair[column % 2] / std::sqrt(square + 1e-6);
               });
  return success();
}

/// Sums of blocks of `block` tokens.
static void evaluateTotals(Operation *op, int64_t block,
                           ArrayRef<HostTensor> operands,
                           SmallVectorImpl<HostTensor> &results) {
  OperandValues value(op, operands);
  const HostTensor &operand = value(op->getOperand(0));
  ArrayRef<int64_t> shape = operand.getShape();
  int64_t batch = shape[0], tokens = shape[1], width = shape[2];
  HostTensor &result =
      results.emplace_back(value.resultElement(), shapeOf(op->getResult(0)));
  withNumberType(value.resultElement(), [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> x(operand);
    auto sums = result.template mutableAs<T>();
    for (int64_t i = 0; i < result.size(); ++i) {
      int64_t part = i / (batch * width), entry = i / width % batch;
      int64_t end = std::min(tokens, (part + 1) * block);
      sums[i] = 0;
      for (int64_t token = part * block; token < end; ++token) {
        sums[i] += x[(entry * tokens + token) * width + i % width];
      }
    }
  });
}

LogicalResult rows::TotalOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  evaluateTotals(*this, shapeOf(getX())[1], operands, results);
  return success();
}

LogicalResult rows::TotalsOp::evaluate(ArrayRef<HostTensor> operands,
                                       SmallVectorImpl<HostTensor> &results) {
  evaluateTotals(*this, getBlock(), operands, results);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Rows of `x`. Without a chunk, `change` computes one number of a row; with
/// one, what becomes of the chunk by that number.
template <typename Fn>
static void emitRows(KernelEmitter &e, Value x, Fn change) {
  Value matrix = e.buffer(x);
  e.forEachRow([&](Expr row) {
    Expr number = change(matrix, row, Expr(), Expr());
    e.forEachChunk(shapeOf(x).back(), [&](const Chunk &at) {
      Expr chunk = e.load(matrix, row, at);
      e.finishAndStoreTile({row, at}, change(matrix, row, chunk, number));
    });
  });
}

static void emit(KernelEmitter &e, rows::RotateOp op) {
  int64_t tokens = shapeOf(op.getX())[1];
  emitRows(e, op.getX(), [&](Value, Expr row, Expr chunk, Expr factor) -> Expr {
    if (chunk) {
      return chunk * factor;
    }
    Expr count = toInteger(row % tokens + 1, e.builder.getI32Type());
    return e.compute<arith::SIToFPOp>(e.builder.getF32Type(), count);
  });
}

static void emit(KernelEmitter &e, rows::CentreOp op) {
  emitRows(e, op.getX(), [&](Value matrix, Expr row, Expr chunk, Expr first) {
    return chunk ? chunk - first : e.load(matrix, row, 0);
  });
}

static void emit(KernelEmitter &e, rows::LiarOp op) {
  emitRows(e, op.getX(), [&](Value, Expr, Expr chunk, Expr) {
    return chunk ? chunk : e.scalar(0);
  });
}

static void emit(KernelEmitter &e, rows::OddOp op) {
  emitRows(e, op.getX(), [&](Value, Expr, Expr chunk, Expr) {
    if (!chunk) {
      return e.scalar(0);
    }
    auto lanes = cast<VectorType>(chunk.getType()).getNumElements();
    Expr sum = e.compute<vector::MultiDimReductionOp>(
        chunk.broadcast(e.tileType(1, lanes)), e.splat(0, 1),
        ArrayRef<bool>{false, true}, vector::CombiningKind::ADD);
    return sum.broadcast(chunk.getType());
  });
}

static void emit(KernelEmitter &e, rows::SwapOp op) {
  Value matrix = e.buffer(op.getX());
  e.forEachRow([&](Expr row) {
    e.forEachChunk(shapeOf(op.getX()).back(), [&](const Chunk &at) {
      Expr tile = e.load(matrix, row, at).broadcast(e.tileType(1, at.lanes));
      e.finishAndStoreTile({row, at},
                           e.compute<rows::TileSwapOp>(tile, op.getWrong()));
    });
  });
}

/// Each row, shuffled.
SmallVector<Value>
rows::TileSwapOp::emitRows(ImplicitLocOpBuilder &b,
                           ArrayRef<SmallVector<Value>> operands) {
  SmallVector<Value> swapped;
  for (Value row : operands.front()) {
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < cast<VectorType>(row.getType()).getDimSize(0);
         ++i) {
      lanes.push_back(getWrong() ? i : i % 2 ? i - 1 : i + 1);
    }
    swapped.push_back(vector::ShuffleOp::create(b, row, row, lanes));
  }
  return swapped;
}

void rows::TileSwapOp::evaluateTile(ArrayRef<ArrayRef<double>> operands,
                                    MutableArrayRef<double> result) {
  for (size_t i = 0; i < result.size(); i += 2) {
    result[i] = operands.front()[i + 1];
    result[i + 1] = operands.front()[i];
  }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

TileScope rows::DirectionOp::getScope() { return TileScope::pair; }

/// Of x and the partners of its elements.
Value rows::DirectionOp::emitTile(OpBuilder &builder, ValueRange tiles) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Expr x(tiles[0], &b), partner(tiles[1], &b);
  return x / sqrt(fma(x, x, fma(partner, partner, 1e-6)));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

template <typename OpT> static Operation *import(OperationImport &op) {
  return OpT::create(op.builder, op.loc, op.result(), op.operand("x"));
}

template <typename OpT>
static void addOperator(OperatorRegistry &registry, const char *name,
                        const char *mnemonic) {
  OperatorInfo info;
  info.name = name;
  info.summary = "an operation of the tests";
  info.roles = {{"input", true, false, "[batch, N, D]"}};
  auto build = [mnemonic](LayerContext &layer) {
    ValueRef x = layer.read("input");
    if (layer.hasFailed() ||
        !layer.expectRank("input", x, 3, "[batch, N, D]")) {
      return poison;
    }
    return layer.emit(mnemonic, "", {{"x", x}}, {}, ValueType(layer.type(x)));
  };
  registry.add({info, build, {{mnemonic, import<OpT>}}});
}

static void addOperators(OperatorRegistry &registry) {
  addOperator<rows::RotateOp>(registry, "rotate_by_row", "rows.rotate");
  addOperator<rows::CentreOp>(registry, "centre", "rows.centre");
  addOperator<rows::SingleOp>(registry, "single", "rows.single");
  addOperator<rows::LiarOp>(registry, "liar", "rows.liar");
  addOperator<rows::OddOp>(registry, "odd", "rows.odd");
  addOperator<rows::SwapOp>(registry, "swap", "rows.swap");
  addOperator<rows::DirectionOp>(registry, "direction", "rows.direction");
  registry.add(ExpressionFunction{
      "falling", 2, [](const auto &x) { return std::exp2(-x[0] / x[1]); }});
  addFaults(registry);
}

extern "C" LLVM_ATTRIBUTE_WEAK PluginInfo hovaGetPluginInfo() {
  return {HOVA_PLUGIN_VERSIONS, "hova-test-plugin", addOperators};
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "rows", LLVM_VERSION_STRING,
          [](DialectRegistry *registry) {
            registry->insert<rows::RowsDialect>();
            registry->addExtension(
                +[](MLIRContext *context, rows::RowsDialect *) {
                  attachRecipe<rows::RotateOp, emit>(*context);
                  attachRecipe<rows::CentreOp, emit>(*context);
                  attachRecipe<rows::LiarOp, emit>(*context);
                  attachRecipe<rows::OddOp, emit>(*context);
                  attachRecipe<rows::SwapOp, emit>(*context);
                });
          }};
}
