//===- VectorizeTiles.cpp - Give every row of a tile its own vector -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile of r x c elements becomes r vectors of c. Loops then carry registers:
// LLVM keeps a two-dimensional vector that a loop carries as an array in
// memory. Tiles live inside one block, so a walk with a map from tile to rows
// suffices; a tile that enters or leaves a region is an error. Functions
// without tiles stay as they are.
//
// Every access to a tile's buffer has one index into a flat view of the whole
// buffer: a base outside the loop over k, plus k, plus a constant for the row.
// The constant becomes the displacement of the machine instruction.

#include "dialect/DenseOps.h"
#include "dialect/TileOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/vectorize/FlatBuffer.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VECTORIZETILESPASS
#include "passes/Passes.h.inc"

namespace {
/// A vector type and which of its lanes are in memory.
struct Lanes {
  VectorType type;
  Value mask; ///< null where all are
};

class TileVectorizer {
public:
  explicit TileVectorizer(func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  LogicalResult run();

private:
  LogicalResult visit(Block &block);
  LogicalResult visitRegions(Operation *op);
  LogicalResult rewrite(Operation *op);
  LogicalResult rewriteProduct(TileProductOp op);
  void rewriteLoad(TileLoadOp op, const FlatBuffer &source);
  void rewriteStore(TileStoreOp op, const FlatBuffer &target);
  void rewriteRowSum(TileRowSumOp op);
  LogicalResult rewriteBroadcast(vector::BroadcastOp op);
  LogicalResult rewriteConstant(arith::ConstantOp op);
  void rewriteElementwise(Operation *op);

  /// The flat view of a buffer, made once, behind the buffer's definition.
  FailureOr<FlatBuffer> flatten(Operation *user, Value memref);
  /// Index of an element whose position is known at run time.
  Value flatIndex(const FlatBuffer &buffer, ValueRange position);
  Value plus(Value index, int64_t constant);
  /// The same index as a value that LLVM does not take apart.
  Value pin(Value index);
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Lanes lanesOf(VectorType type, std::optional<uint64_t> valid);
  Value load(const FlatBuffer &buffer, Value at, const Lanes &lanes);
  void store(Value vector, const FlatBuffer &buffer, Value at,
             const Lanes &lanes);

  func::FuncOp function;
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

/// The vector of one row of a tile.
static VectorType rowType(Type tile) {
  auto type = cast<VectorType>(tile);
  return VectorType::get(type.getShape().drop_front(), type.getElementType());
}

LogicalResult TileVectorizer::run() {
  if (visitRegions(function).failed()) {
    return failure();
  }
  // Users stand behind what they use.
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
      .Case([&](TileLoadOp load) -> LogicalResult {
        FailureOr<FlatBuffer> source = flatten(load, load.getSource());
        if (succeeded(source)) {
          rewriteLoad(load, *source);
        }
        return source;
      })
      .Case([&](TileStoreOp store) -> LogicalResult {
        FailureOr<FlatBuffer> target = flatten(store, store.getTarget());
        if (succeeded(target)) {
          rewriteStore(store, *target);
        }
        return target;
      })
      .Case([&](TileRowSumOp sum) {
        rewriteRowSum(sum);
        return success();
      })
      .Case([&](vector::BroadcastOp broadcast) {
        return rewriteBroadcast(broadcast);
      })
      .Case(
          [&](arith::ConstantOp constant) { return rewriteConstant(constant); })
      .Default([&](Operation *other) -> LogicalResult {
        if (!isa<ActivationOp, Exp2Op>(other) &&
            !OpTrait::hasElementwiseMappableTraits(other)) {
          return other->emitOpError("has a tile but no form for its rows");
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
    return user->emitOpError(
               "expects a buffer of static shape and offset, got ")
           << memref.getType();
  }
  return buffers[memref] = *flat;
}

Value TileVectorizer::plus(Value index, int64_t constant) {
  return constant ? builder.createOrFold<arith::AddIOp>(loc, index,
                                                        this->index(constant))
                  : index;
}

Value TileVectorizer::flatIndex(const FlatBuffer &buffer, ValueRange position) {
  Value sum;
  for (auto [at, stride] : llvm::zip(position, buffer.strides)) {
    Value part =
        stride == 1
            ? at
            : builder.createOrFold<arith::MulIOp>(loc, at, index(stride));
    sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum, part) : part;
  }
  return plus(sum, buffer.offset);
}

Lanes TileVectorizer::lanesOf(VectorType type, std::optional<uint64_t> valid) {
  int64_t lanes = type.getNumElements();
  if (!valid || static_cast<int64_t>(*valid) >= lanes) {
    return {type, Value()};
  }
  SmallVector<bool> bits(lanes, false);
  std::fill_n(bits.begin(), *valid, true);
  return {type, arith::ConstantOp::create(
                    builder, loc,
                    DenseElementsAttr::get(
                        VectorType::get(type.getShape(), builder.getI1Type()),
                        bits))};
}

Value TileVectorizer::load(const FlatBuffer &buffer, Value at,
                           const Lanes &lanes) {
  if (!lanes.mask) {
    return vector::LoadOp::create(builder, loc, lanes.type, buffer.memory, at);
  }
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(lanes.type));
  return vector::MaskedLoadOp::create(builder, loc, lanes.type, buffer.memory,
                                      at, lanes.mask, zero);
}

void TileVectorizer::store(Value vector, const FlatBuffer &buffer, Value at,
                           const Lanes &lanes) {
  if (lanes.mask) {
    vector::MaskedStoreOp::create(builder, loc, buffer.memory, at, lanes.mask,
                                  vector);
  } else {
    vector::StoreOp::create(builder, loc, vector, buffer.memory, at);
  }
}

void TileVectorizer::rewriteLoad(TileLoadOp op, const FlatBuffer &source) {
  Lanes lanes = lanesOf(rowType(op.getTile().getType()), op.getColumns());
  Value base = flatIndex(source, {op.getRow(), op.getColumn()});
  SmallVector<Value> tile;
  for (int64_t i = 0, e = rowCount(op.getTile()); i < e; ++i) {
    tile.push_back(load(source, plus(base, i * source.rowStride()), lanes));
  }
  rows[op.getTile()] = std::move(tile);
}

void TileVectorizer::rewriteStore(TileStoreOp op, const FlatBuffer &target) {
  Lanes lanes = lanesOf(rowType(op.getTile().getType()), op.getColumns());
  Value base = flatIndex(target, {op.getRow(), op.getColumn()});
  for (auto [i, row] : llvm::enumerate(rows.at(op.getTile()))) {
    store(row, target, plus(base, i * target.rowStride()), lanes);
  }
}

//===----------------------------------------------------------------------===//
// Products and sums
//===----------------------------------------------------------------------===//

/// Loop strength reduction would split the base of a row block into its terms
/// and compute a minimum and a multiplication again in every step over k.
Value TileVectorizer::pin(Value index) {
  if (matchPattern(index, m_Constant())) {
    return index;
  }
  Type i64 = builder.getI64Type();
  Value integer = arith::IndexCastOp::create(builder, loc, i64, index);
  Value frozen = LLVM::FreezeOp::create(builder, loc, integer);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    frozen);
}

/// for k: b = rhs[k, ..] ; acc[i] = fma(lhs[i, k], b, acc[i]) for every row i
LogicalResult TileVectorizer::rewriteProduct(TileProductOp op) {
  FailureOr<FlatBuffer> lhs = flatten(op, op.getLhs());
  FailureOr<FlatBuffer> rhs = flatten(op, op.getRhs());
  if (failed(lhs) || failed(rhs)) {
    return failure();
  }
  Lanes lanes = lanesOf(rowType(op.getTile().getType()), op.getColumns());
  Value lhsBase = pin(flatIndex(*lhs, {op.getRow(), op.getColumn()}));
  Value rhsBase = pin(flatIndex(*rhs, op.getRhsIndices()));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(lanes.type));
  SmallVector<Value> start(rowCount(op.getTile()), zero);
  auto loop = scf::ForOp::create(builder, loc, index(0), op.getDepth(),
                                 index(1), start);
  rows[op.getTile()] = SmallVector<Value>(loop.getResults());
  builder.setInsertionPointToEnd(loop.getBody());
  Value k = loop.getInductionVar();
  Value step =
      builder.createOrFold<arith::MulIOp>(loc, k, index(rhs->rowStride()));
  Value right =
      load(*rhs, arith::AddIOp::create(builder, loc, rhsBase, step), lanes);
  Value left = arith::AddIOp::create(builder, loc, lhsBase, k);
  SmallVector<Value> next;
  for (auto [i, sum] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value scalar = memref::LoadOp::create(builder, loc, lhs->memory,
                                          plus(left, i * lhs->rowStride()));
    Value splat = vector::BroadcastOp::create(builder, loc, lanes.type, scalar);
    next.push_back(vector::FMAOp::create(builder, loc, splat, right, sum));
  }
  scf::YieldOp::create(builder, loc, next);
  return success();
}

void TileVectorizer::rewriteRowSum(TileRowSumOp op) {
  SmallVector<Value> sums;
  for (Value row : rows.at(op.getTile())) {
    // Any order: without the flag the lanes would be added one by one.
    Value sum =
        vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD,
                                    row, arith::FastMathFlags::reassoc);
    sums.push_back(vector::BroadcastOp::create(
        builder, loc, rowType(op.getSums().getType()), sum));
  }
  rows[op.getSums()] = std::move(sums);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// A scalar, a row for all rows, a tile of one row, or a column for all
/// columns.
LogicalResult TileVectorizer::rewriteBroadcast(vector::BroadcastOp op) {
  Value source = op.getSource();
  VectorType type = rowType(op.getResult().getType());
  SmallVector<Value> own = isTile(source.getType())
                               ? rows.lookup(source)
                               : SmallVector<Value>{source};
  for (Value &row : own) {
    if (row.getType() != type) {
      row = vector::BroadcastOp::create(builder, loc, type, row);
    }
  }
  if (own.size() == 1) {
    own.assign(rowCount(op.getResult()), Value(own.front()));
  }
  rows[op.getResult()] = std::move(own);
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
    if (TileVectorizer(getOperation()).run().failed()) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
