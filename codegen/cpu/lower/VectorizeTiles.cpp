//===- VectorizeTiles.cpp - Give every row of a tile its own vector -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile of r x c elements becomes r vectors of c. Loops then carry registers:
// LLVM keeps a two-dimensional vector that a loop carries as an array in
// memory. Tiles live inside one block, so a walk with a map from tile to rows
// suffices; a tile that enters or leaves a region is an error. Functions
// without tiles stay as they are.

#include "codegen/cpu/Passes.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/lower/ProductRows.h"
#include "dialect/dense/DenseOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VECTORIZETILESPASS
#include "codegen/cpu/Passes.h.inc"

namespace {
/// Where the rows of a tile begin in a buffer: one after the other, or where a
/// table says.
class TileRows {
public:
  TileRows(const FlatBuilder &flat, const FlatBuffer &buffer, Value row,
           Value column)
      : flat(flat), buffer(buffer), column(column),
        first(flat.at(buffer, {row, column})) {}
  TileRows(const FlatBuilder &flat, const FlatBuffer &buffer, Value row,
           Value column, const FlatBuffer &table)
      : flat(flat), buffer(buffer), column(column),
        first(flat.at(table, {flat.index(0), row})), numbers(table.memory) {}

  /// The index of the first element of row `i`.
  Value at(int64_t i) const {
    if (!numbers) {
      return flat.plus(first, i * buffer.rowStride());
    }
    Value number = memref::LoadOp::create(flat.builder, flat.loc, numbers,
                                          flat.plus(first, i));
    Value wide = arith::IndexCastOp::create(
        flat.builder, flat.loc, flat.builder.getIndexType(), number);
    return flat.at(buffer, {wide, column});
  }

private:
  FlatBuilder flat;
  FlatBuffer buffer;
  Value column;
  Value first;   ///< index of the tile's first row, or of its number
  Value numbers; ///< null: rows are one after the other
};

class TileVectorizer {
public:
  TileVectorizer(func::FuncOp function, const ProductLoop &products)
      : function(function), products(products), builder(function.getContext()) {
  }

  LogicalResult run();

private:
  LogicalResult visit(Block &block);
  LogicalResult visitRegions(Operation *op);
  LogicalResult rewrite(Operation *op);
  LogicalResult rewriteProduct(TileProductOp op);
  LogicalResult rewriteLoad(TileLoadOp op);
  LogicalResult rewriteStore(TileStoreOp op);
  FailureOr<TileRows> findRows(Operation *op, const FlatBuffer &buffer,
                               Value row, Value column, Value table);
  void rewriteRows(TileRowsOpInterface op);
  LogicalResult rewriteBroadcast(vector::BroadcastOp op);
  LogicalResult rewriteExtract(vector::ExtractOp op);
  LogicalResult rewriteConstant(arith::ConstantOp op);
  void rewriteElementwise(Operation *op);

  /// The flat view of a buffer, made once, after the buffer's definition.
  FailureOr<FlatBuffer> flatten(Operation *user, Value memref);

  func::FuncOp function;
  ProductLoop products;
  OpBuilder builder;
  /// Of the operation that is rewritten.
  Location loc = builder.getUnknownLoc();
  DenseMap<Value, SmallVector<Value>> rows;
  DenseMap<Value, FlatBuffer> buffers;
  SmallVector<Operation *> done;
};
} // namespace

static bool isTile(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 2;
}

static int64_t rowCount(Value tile) {
  return cast<VectorType>(tile.getType()).getShape()[0];
}

LogicalResult TileVectorizer::run() {
  if (visitRegions(function).failed()) {
    return failure();
  }
  // Users stand after what they use.
  for (Operation *op : llvm::reverse(done)) {
    op->erase();
  }
  return success();
}

LogicalResult TileVectorizer::visitRegions(Operation *op) {
  for (Region &region : op->getRegions()) {
    for (Block &block : region) {
      if (llvm::any_of(block.getArgumentTypes(), isTile)) {
        return op->emitOpError("expects tiles to stay inside one block, got "
                               "one as a block argument");
      }
      if (visit(block).failed()) {
        return failure();
      }
    }
  }
  return success();
}

LogicalResult TileVectorizer::visit(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool hasTile = llvm::any_of(op.getOperandTypes(), isTile) ||
                   llvm::any_of(op.getResultTypes(), isTile);
    LogicalResult result = hasTile ? rewrite(&op) : visitRegions(&op);
    if (result.failed()) {
      return failure();
    }
  }
  return success();
}

LogicalResult TileVectorizer::rewrite(Operation *op) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
  done.push_back(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](TileProductOp product) { return rewriteProduct(product); })
      .Case([&](TileLoadOp load) { return rewriteLoad(load); })
      .Case([&](TileStoreOp store) { return rewriteStore(store); })
      .Case([&](TileRowsOpInterface rows) {
        rewriteRows(rows);
        return success();
      })
      .Case([&](vector::BroadcastOp broadcast) {
        return rewriteBroadcast(broadcast);
      })
      .Case([&](vector::ExtractOp extract) { return rewriteExtract(extract); })
      .Case(
          [&](arith::ConstantOp constant) { return rewriteConstant(constant); })
      .Default([&](Operation *other) -> LogicalResult {
        if (!isa<ActivationOp, Exp2Op>(other) &&
            !OpTrait::hasElementwiseMappableTraits(other)) {
          return other->emitOpError(
              "has a tile but no form for its rows: "
              "expects operations on tiles "
              "(codegen/cpu/TileOps.h), those that say it themselves "
              "(TileRowsOpInterface), element-wise ones, broadcasts, extracts "
              "and constants of one value");
        }
        rewriteElementwise(other);
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FailureOr<FlatBuffer> TileVectorizer::flatten(Operation *user, Value memref) {
  auto found = buffers.find(memref);
  if (found != buffers.end()) {
    return found->second;
  }
  FailureOr<FlatBuffer> flat = flattenBuffer(builder, memref);
  if (failed(flat)) {
    return user->emitOpError("expects a buffer of static shape, got ")
           << memref.getType();
  }
  return buffers[memref] = *flat;
}

FailureOr<TileRows> TileVectorizer::findRows(Operation *op,
                                             const FlatBuffer &buffer,
                                             Value row, Value column,
                                             Value table) {
  FlatBuilder flat(builder, loc);
  if (!table) {
    return TileRows(flat, buffer, row, column);
  }
  FailureOr<FlatBuffer> numbers = flatten(op, table);
  if (failed(numbers)) {
    return failure();
  }
  return TileRows(flat, buffer, row, column, *numbers);
}

LogicalResult TileVectorizer::rewriteLoad(TileLoadOp op) {
  FailureOr<FlatBuffer> source = flatten(op, op.getSource());
  if (failed(source)) {
    return failure();
  }
  FlatBuilder flat(builder, loc);
  Lanes lanes = flat.lanesOf(rowType(op.getTile().getType()), op.getColumns());
  FailureOr<TileRows> from =
      findRows(op, *source, op.getRow(), op.getColumn(), op.getRows());
  if (failed(from)) {
    return failure();
  }
  SmallVector<Value> tile;
  for (int64_t i = 0, e = rowCount(op.getTile()); i < e; ++i) {
    tile.push_back(flat.load(*source, from->at(i), lanes));
  }
  rows[op.getTile()] = std::move(tile);
  return success();
}

LogicalResult TileVectorizer::rewriteStore(TileStoreOp op) {
  FailureOr<FlatBuffer> target = flatten(op, op.getTarget());
  if (failed(target)) {
    return failure();
  }
  FlatBuilder flat(builder, loc);
  Lanes lanes = flat.lanesOf(rowType(op.getTile().getType()), op.getColumns());
  FailureOr<TileRows> to =
      findRows(op, *target, op.getRow(), op.getColumn(), op.getRows());
  if (failed(to)) {
    return failure();
  }
  for (auto [i, row] : llvm::enumerate(rows.at(op.getTile()))) {
    flat.store(row, *target, to->at(i), lanes);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Products, and what says itself what it is
//===----------------------------------------------------------------------===//

LogicalResult TileVectorizer::rewriteProduct(TileProductOp op) {
  FailureOr<FlatBuffer> lhs = flatten(op, op.getLhs());
  FailureOr<FlatBuffer> rhs = flatten(op, op.getRhs());
  if (failed(lhs) || failed(rhs)) {
    return failure();
  }
  SmallVector<Value> init;
  if (op.getInit()) {
    init = rows.at(op.getInit());
  }
  rows[op.getTile()] = emitProductRows(FlatBuilder(builder, loc), op, *lhs,
                                       *rhs, init, products);
  return success();
}

/// What the operation says of them.
void TileVectorizer::rewriteRows(TileRowsOpInterface op) {
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(isTile(operand.getType()) ? rows.at(operand)
                                                 : SmallVector<Value>{operand});
  }
  ImplicitLocOpBuilder inner(loc, builder);
  rows[op->getResult(0)] = op.emitRows(inner, operands);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// A scalar, a row for all rows, a tile of one row, or a column for all
/// columns.
LogicalResult TileVectorizer::rewriteBroadcast(vector::BroadcastOp op) {
  Value source = op.getSource();
  VectorType type = rowType(op.getResult().getType());
  SmallVector<Value> elements = isTile(source.getType())
                                    ? rows.lookup(source)
                                    : SmallVector<Value>{source};
  for (Value &row : elements) {
    if (row.getType() != type) {
      row = vector::BroadcastOp::create(builder, loc, type, row);
    }
  }
  if (elements.size() == 1) {
    elements.assign(rowCount(op.getResult()), Value(elements.front()));
  }
  rows[op.getResult()] = std::move(elements);
  return success();
}

/// A row of a tile is a vector as it stands.
LogicalResult TileVectorizer::rewriteExtract(vector::ExtractOp op) {
  ArrayRef<int64_t> position = op.getStaticPosition();
  if (op.hasDynamicPosition() || position.size() != 1) {
    return op.emitOpError("expects one row of a tile");
  }
  op.getResult().replaceAllUsesWith(rows.at(op.getSource())[position.front()]);
  return success();
}

LogicalResult TileVectorizer::rewriteConstant(arith::ConstantOp op) {
  auto value = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!value) {
    return op.emitOpError("expects a tile of equal elements");
  }
  Value row = arith::ConstantOp::create(
      builder, loc, value.resizeSplat(rowType(op.getType())));
  rows[op.getResult()].assign(rowCount(op.getResult()), row);
  return success();
}

void TileVectorizer::rewriteElementwise(Operation *op) {
  Value result = op->getResult(0);
  SmallVector<Value> tile;
  for (int64_t i = 0, e = rowCount(result); i < e; ++i) {
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      if (isTile(operand.getType())) {
        mapping.map(operand, rows.at(operand)[i]);
      }
    }
    Operation *row = builder.clone(*op, mapping);
    row->getResult(0).setType(rowType(result.getType()));
    tile.push_back(row->getResult(0));
  }
  rows[result] = std::move(tile);
}

namespace {
struct VectorizeTilesPass final
    : impl::VectorizeTilesPassBase<VectorizeTilesPass> {
  using Base::Base;
  void runOnOperation() override {
    if (TileVectorizer(getOperation(), {steps, lineElements}).run().failed()) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
