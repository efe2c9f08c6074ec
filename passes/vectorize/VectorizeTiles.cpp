//===- VectorizeTiles.cpp - One vector per row of a tile ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile of two dimensions becomes one vector per row. Left as it is, a loop
// that carries `vector<14x32xf32>` becomes a phi of an array, which LLVM keeps
// in memory. Addresses are written so that they fold into instructions: one
// flat base per access, computed outside the loop over k, plus constants.
// Functions without tiles are left alone.

#include "dialect/DenseOps.h"
#include "dialect/ProgramOps.h"
#include "dialect/TileOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VECTORIZETILESPASS
#include "passes/Passes.h.inc"

static VectorType rowType(Type tile) {
  auto type = cast<VectorType>(tile);
  return VectorType::get({type.getShape()[1]}, type.getElementType());
}

static bool isTile(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 2;
}

namespace {
/// Rewrites the tiles of one function.
class TileVectorizer {
public:
  explicit TileVectorizer(func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (llvm::any_of(op->getOperandTypes(), isTile) ||
          llvm::any_of(op->getResultTypes(), isTile)) {
        ops.push_back(op);
      }
    });
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      if (failed(rewrite(op))) {
        return failure();
      }
    }
    for (Operation *op : llvm::reverse(ops)) {
      op->erase();
    }
    return success();
  }

private:
  using Rows = SmallVector<Value>;

  /// A one-dimensional view of a whole buffer, and its static strides.
  struct Flat {
    Value memref;
    SmallVector<int64_t> strides;
    int64_t offset = 0;
  };

  LogicalResult rewrite(Operation *op) {
    if (auto load = dyn_cast<TileLoadOp>(op)) {
      return rewriteLoad(load);
    }
    if (auto store = dyn_cast<TileStoreOp>(op)) {
      return rewriteStore(store);
    }
    if (auto product = dyn_cast<TileProductOp>(op)) {
      return rewriteProduct(product);
    }
    if (auto sum = dyn_cast<TileRowSumOp>(op)) {
      return rewriteRowSum(sum);
    }
    if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
      return rewriteBroadcast(broadcast);
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      if (splat) {
        Value row = arith::ConstantOp::create(
            builder, op->getLoc(), splat.resizeSplat(rowType(constant.getType())));
        rows[constant] =
            Rows(cast<VectorType>(constant.getType()).getShape()[0], row);
        return success();
      }
    }
    if (op->hasTrait<OpTrait::Elementwise>() ||
        isa<ActivationOp, Exp2Op>(op)) {
      return rewriteElementwise(op);
    }
    return op->emitOpError("on tiles cannot be written row by row");
  }

  /// One clone per row.
  LogicalResult rewriteElementwise(Operation *op) {
    auto type = cast<VectorType>(op->getResult(0).getType());
    Rows result;
    for (int64_t i = 0; i < type.getShape()[0]; ++i) {
      IRMapping mapping;
      for (Value operand : op->getOperands()) {
        if (isTile(operand.getType())) {
          mapping.map(operand, rows[operand][i]);
        }
      }
      Operation *row = builder.clone(*op, mapping);
      row->getResult(0).setType(rowType(type));
      result.push_back(row->getResult(0));
    }
    rows[op->getResult(0)] = result;
    return success();
  }

  LogicalResult rewriteBroadcast(vector::BroadcastOp op) {
    auto type = cast<VectorType>(op.getType());
    auto source = dyn_cast<VectorType>(op.getSourceType());
    int64_t count = type.getShape()[0];
    Rows result;
    for (int64_t i = 0; i < count; ++i) {
      Value from = op.getSource();
      if (source && source.getRank() == 2) {
        const Rows &own = rows[op.getSource()];
        from = own[own.size() == 1 ? 0 : i];
      }
      if (from.getType() != rowType(type)) {
        from = vector::BroadcastOp::create(builder, op.getLoc(), rowType(type),
                                           from);
      }
      result.push_back(from);
    }
    rows[op.getResult()] = result;
    return success();
  }

  LogicalResult rewriteRowSum(TileRowSumOp op) {
    Rows result;
    for (Value row : rows[op.getTile()]) {
      Value sum = vector::ReductionOp::create(
          builder, op.getLoc(), vector::CombiningKind::ADD, row,
          arith::FastMathFlags::reassoc);
      result.push_back(vector::BroadcastOp::create(
          builder, op.getLoc(), rowType(op.getSums().getType()), sum));
    }
    rows[op.getSums()] = result;
    return success();
  }

  //===--- Addresses ------------------------------------------------------===//

  Flat &flatten(Value memref) {
    Flat &flat = flats[memref];
    if (flat.memref) {
      return flat;
    }
    auto type = cast<MemRefType>(memref.getType());
    (void)type.getStridesAndOffset(flat.strides, flat.offset);
    int64_t extent = flat.offset + 1;
    for (auto [size, stride] : llvm::zip(type.getShape(), flat.strides)) {
      extent += (size - 1) * stride;
    }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(memref);
    flat.memref = memref::ReinterpretCastOp::create(
        builder, memref.getLoc(),
        MemRefType::get({extent}, type.getElementType()), memref,
        /*offset=*/0, ArrayRef<int64_t>{extent}, ArrayRef<int64_t>{1});
    return flat;
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, function.getLoc(), value);
  }
  Value add(Value a, Value b) {
    return builder.createOrFold<arith::AddIOp>(function.getLoc(), a, b);
  }
  Value add(Value a, int64_t b) { return b ? add(a, index(b)) : a; }
  Value mul(Value a, int64_t b) {
    return builder.createOrFold<arith::MulIOp>(function.getLoc(), a, index(b));
  }

  /// The flat index of an element.
  Value base(const Flat &flat, ValueRange indices) {
    Value sum = index(flat.offset);
    for (auto [position, stride] : llvm::zip(indices, flat.strides)) {
      sum = add(sum, mul(position, stride));
    }
    return sum;
  }

  Value mask(int64_t lanes, int64_t valid) {
    SmallVector<bool> bits(lanes);
    std::fill_n(bits.begin(), valid, true);
    auto type = VectorType::get({lanes}, builder.getI1Type());
    return arith::ConstantOp::create(builder, function.getLoc(),
                                     DenseElementsAttr::get(type, bits));
  }

  Value load(const Flat &flat, Value at, VectorType type,
             std::optional<int64_t> columns) {
    Location loc = function.getLoc();
    if (!columns) {
      return vector::LoadOp::create(builder, loc, type, flat.memref, at);
    }
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    return vector::MaskedLoadOp::create(builder, loc, type, flat.memref, at,
                                        mask(type.getNumElements(), *columns),
                                        zero);
  }

  LogicalResult rewriteLoad(TileLoadOp op) {
    Flat flat = flatten(op.getSource());
    Value start = base(flat, {op.getRow(), op.getColumn()});
    auto type = cast<VectorType>(op.getTile().getType());
    Rows result;
    for (int64_t i = 0; i < type.getShape()[0]; ++i) {
      result.push_back(load(flat, add(start, i * flat.strides[0]), rowType(type),
                            op.getColumns()));
    }
    rows[op.getTile()] = result;
    return success();
  }

  LogicalResult rewriteStore(TileStoreOp op) {
    Flat flat = flatten(op.getTarget());
    Value start = base(flat, {op.getRow(), op.getColumn()});
    for (auto [i, row] : llvm::enumerate(rows[op.getTile()])) {
      Value at = add(start, i * flat.strides[0]);
      if (std::optional<uint64_t> columns = op.getColumns()) {
        int64_t lanes = cast<VectorType>(row.getType()).getNumElements();
        vector::MaskedStoreOp::create(builder, op.getLoc(), flat.memref, at,
                                      mask(lanes, *columns), row);
      } else {
        vector::StoreOp::create(builder, op.getLoc(), row, flat.memref, at);
      }
    }
    return success();
  }

  /// for k: b = rhs[k]; acc[i] = fma(lhs[i][k], b, acc[i])
  LogicalResult rewriteProduct(TileProductOp op) {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getTile().getType());
    Flat lhs = flatten(op.getLhs());
    Flat rhs = flatten(op.getRhs());
    Value left = base(lhs, {op.getRow(), op.getColumn()});
    Value right = base(rhs, op.getRhsIndices());
    int64_t step = rhs.strides[rhs.strides.size() - 2];
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(rowType(type)));
    Rows start(type.getShape()[0], zero);
    auto loop = scf::ForOp::create(builder, loc, index(0), op.getDepth(),
                                   index(1), start);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    Value k = loop.getInductionVar();
    Value vector = load(rhs, add(right, mul(k, step)), rowType(type),
                        op.getColumns());
    Value element = add(left, k);
    Rows next;
    for (auto [i, sum] : llvm::enumerate(loop.getRegionIterArgs())) {
      Value scalar = memref::LoadOp::create(
          builder, loc, lhs.memref, add(element, i * lhs.strides[0]));
      Value spread =
          vector::BroadcastOp::create(builder, loc, rowType(type), scalar);
      next.push_back(vector::FMAOp::create(builder, loc, spread, vector, sum));
    }
    scf::YieldOp::create(builder, loc, next);
    rows[op.getTile()] = Rows(loop.getResults());
    return success();
  }

  func::FuncOp function;
  OpBuilder builder;
  DenseMap<Value, Rows> rows;
  DenseMap<Value, Flat> flats;
};

struct VectorizeTilesPass final
    : impl::VectorizeTilesPassBase<VectorizeTilesPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(TileVectorizer(getOperation()).run())) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
