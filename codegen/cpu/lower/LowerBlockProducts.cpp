//===- LowerBlockProducts.cpp - Block products by AMX ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Eight tiles of 16 rows x 64 bytes: four of sums, two of each operand. A step
// of k loads each operand's two and multiplies four times:
//
//   a0 = left[0 .. h]              b0 = right[.., 0 .. 16]
//   a1 = left[rows - h .. rows]    b1 = right[.., 16 .. 32]
//   s00 += a0 b0 ; s01 += a0 b1 ; s10 += a1 b0 ; s11 += a1 b1
//
// LLVM configures the tiles of a function once, at its entry, if all of its
// tiles have few shapes, which have to be the same values: each height is
// converted once, where it is defined. Two heights in one function would spill
// tiles of 1 KiB in the loop.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/lower/FlatBuffer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERBLOCKPRODUCTSPASS
#include "codegen/cpu/Passes.h.inc"

/// Bytes of a tile's row, of all operands.
static constexpr int64_t kRowBytes = MatrixUnit::rowBytes;
static_assert(BlockProductOp::stepDepth == MatrixUnit::depth &&
              BlockProductOp::tileColumns == MatrixUnit::columns);

namespace {
/// Memory that tiles are loaded from: its first byte, and the bytes between
/// rows.
struct TileMemory {
  Value address; ///< i64
  Value stride;  ///< i64
  int64_t rowBytes;
};

/// Rows and bytes of a row as the instructions take them: i16.
struct TileShape {
  Value rows, rowBytes;
};

class BlockLowering {
public:
  explicit BlockLowering(func::FuncOp function)
      : function(function), b(function.getLoc(), function.getContext()) {}

  LogicalResult run();

private:
  LogicalResult lower(BlockProductOp op);
  FailureOr<TileMemory> placeOf(Operation *op, Value buffer, ValueRange place);
  void emitBlock(BlockProductOp op, const TileMemory &sums,
                 const TileMemory &left, const TileMemory &right);
  void emitMeanwhile(BlockProductOp op, Value step);

  Value integer(int64_t value, unsigned bits = 64) {
    return arith::ConstantIntOp::create(b, value, bits);
  }
  Value plus(Value address, Value bytes) {
    return b.createOrFold<arith::AddIOp>(address, bytes);
  }
  Value times(Value value, int64_t factor) {
    return b.createOrFold<arith::MulIOp>(value, integer(factor));
  }
  Value asInteger(Value index) {
    return b.createOrFold<arith::IndexCastOp>(b.getI64Type(), index);
  }
  /// That of tiles of this height, made where the height is.
  TileShape shapeOf(Value height);

  Value load(const TileShape &shape, const TileMemory &from, Value address,
             bool streams = false);
  Value zero(const TileShape &shape);
  Value multiply(const TileShape &shape, Value sum, Value left, Value right);
  void store(const TileShape &shape, Value tile, const TileMemory &to,
             Value address);
  template <typename... Operands>
  LLVM::CallIntrinsicOp call(StringRef name, bool makesTile,
                             Operands... operands);

  func::FuncOp function;
  ImplicitLocOpBuilder b;
  DenseMap<Value, TileShape> shapes; ///< by height
};
} // namespace

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

template <typename... Operands>
LLVM::CallIntrinsicOp BlockLowering::call(StringRef name, bool makesTile,
                                          Operands... operands) {
  auto intrinsic = b.getStringAttr("llvm.x86." + name + ".internal");
  SmallVector<Value> all = {operands...};
  if (!makesTile) {
    return LLVM::CallIntrinsicOp::create(b, intrinsic, all);
  }
  return LLVM::CallIntrinsicOp::create(
      b, Type(LLVM::LLVMX86AMXType::get(b.getContext())), intrinsic, all);
}

TileShape BlockLowering::shapeOf(Value height) {
  TileShape &shape = shapes[height];
  if (!shape.rows) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(height);
    shape.rows = arith::IndexCastOp::create(b, b.getI16Type(), height);
    shape.rowBytes = integer(kRowBytes, 16);
    if (!matchPattern(height, m_Constant())) {
      // A conversion alone LLVM repeats in every block that uses it. And it
      // compares shapes by both numbers as constants, or by both registers, of
      // which constants have a new one in every block: so the bytes of a row
      // are one that LLVM cannot compute, plus the sign of a height, 0.
      shape.rows = LLVM::FreezeOp::create(b, shape.rows);
      Value sign = arith::ShRUIOp::create(b, shape.rows, integer(15, 16));
      shape.rowBytes = arith::AddIOp::create(b, shape.rowBytes, sign);
    }
  }
  return shape;
}

static Value pointer(ImplicitLocOpBuilder &b, Value address) {
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                  address);
}

Value BlockLowering::load(const TileShape &shape, const TileMemory &from,
                          Value address, bool streams) {
  return call(streams ? "tileloaddt164" : "tileloadd64", /*makesTile=*/true,
              shape.rows, shape.rowBytes, pointer(b, address), from.stride)
      .getResult(0);
}

/// One for each sum: a tile that several began with would be spilled.
Value BlockLowering::zero(const TileShape &shape) {
  return call("tilezero", /*makesTile=*/true, shape.rows, shape.rowBytes)
      .getResult(0);
}

/// The shape is that of the sums; factors have as many bytes in a row.
Value BlockLowering::multiply(const TileShape &shape, Value sum, Value left,
                              Value right) {
  return call("tdpbf16ps", /*makesTile=*/true, shape.rows, shape.rowBytes,
              shape.rowBytes, sum, left, right)
      .getResult(0);
}

void BlockLowering::store(const TileShape &shape, Value tile,
                          const TileMemory &to, Value address) {
  call("tilestored64", /*makesTile=*/false, shape.rows, shape.rowBytes,
       pointer(b, address), to.stride, tile);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

FailureOr<TileMemory> BlockLowering::placeOf(Operation *op, Value buffer,
                                             ValueRange place) {
  FailureOr<FlatBuffer> flat = flattenBuffer(b, buffer);
  if (failed(flat)) {
    return op->emitOpError("expects a buffer of static shape, got ")
           << buffer.getType();
  }
  int64_t bytes = flat->element().getIntOrFloatBitWidth() / 8;
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, flat->memory);
  Value index = FlatBuilder(b, b.getLoc()).at(*flat, place);
  int64_t rowBytes = flat->rowStride() * bytes;
  return TileMemory{plus(asInteger(start), times(asInteger(index), bytes)),
                    integer(rowBytes), rowBytes};
}

/// The turns of step `step` of all steps: an even share.
void BlockLowering::emitMeanwhile(BlockProductOp op, Value step) {
  if (!op.getTurns()) {
    return;
  }
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value width = arith::ConstantIndexOp::create(b, BlockProductOp::stepDepth);
  Value steps = b.createOrFold<arith::DivUIOp>(op.getDepth(), width);
  auto bound = [&](Value step) {
    Value all = arith::MulIOp::create(b, step, op.getTurns());
    return b.createOrFold<arith::DivUIOp>(all, steps);
  };
  Value to = bound(arith::AddIOp::create(b, step, one));
  auto turns = scf::ForOp::create(b, bound(step), to, one);
  Block &body = op.getMeanwhile().front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(turns.getBody());
  IRMapping mapping;
  mapping.map(body.getArgument(0), turns.getInductionVar());
  for (Operation &inner : body) {
    b.clone(inner, mapping);
  }
}

/// Two by two tiles of sums.
void BlockLowering::emitBlock(BlockProductOp op, const TileMemory &sums,
                              const TileMemory &left, const TileMemory &right) {
  TileShape shape = shapeOf(op.getHeight());
  TileShape whole{integer(MatrixUnit::rows, 16), integer(kRowBytes, 16)};
  Value second =
      asInteger(b.createOrFold<arith::SubIOp>(op.getRows(), op.getHeight()));
  Value half = integer(kRowBytes);
  Value secondLeft = times(second, left.rowBytes);
  Value below = plus(sums.address, times(second, sums.rowBytes));
  Value places[] = {sums.address, plus(sums.address, half), below,
                    plus(below, half)};
  SmallVector<Value> tiles;
  for (Value place : places) {
    tiles.push_back(op.getAdded() ? load(shape, sums, place) : zero(shape));
  }
  Value none = arith::ConstantIndexOp::create(b, 0);
  Value step = arith::ConstantIndexOp::create(b, BlockProductOp::stepDepth);
  auto loop = scf::ForOp::create(b, none, op.getDepth(), step, tiles);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value k = asInteger(loop.getInductionVar());
    Value leftAt = plus(left.address, times(k, 2));
    // A row of pairs is two steps of k.
    Value rightAt =
        plus(right.address,
             b.createOrFold<arith::MulIOp>(k, integer(right.rowBytes / 2)));
    Value lefts[] = {
        load(shape, left, leftAt, /*streams=*/true),
        load(shape, left, plus(leftAt, secondLeft), /*streams=*/true)};
    Value rights[] = {load(whole, right, rightAt),
                      load(whole, right, plus(rightAt, half))};
    SmallVector<Value> next;
    for (auto [i, sum] : llvm::enumerate(loop.getRegionIterArgs())) {
      next.push_back(multiply(shape, sum, lefts[i / 2], rights[i % 2]));
    }
    emitMeanwhile(op,
                  b.createOrFold<arith::DivUIOp>(loop.getInductionVar(), step));
    scf::YieldOp::create(b, next);
  }
  for (auto [tile, place] : llvm::zip(loop.getResults(), places)) {
    store(shape, tile, sums, place);
  }
}

LogicalResult BlockLowering::lower(BlockProductOp op) {
  b.setInsertionPoint(op);
  b.setLoc(op.getLoc());
  auto sums = placeOf(op, op.getSums(), {op.getSumsRow(), op.getSumsColumn()});
  auto left = placeOf(op, op.getLhs(), {op.getRow(), op.getColumn()});
  auto right = placeOf(op, op.getRhs(), op.getRhsIndices());
  if (failed(sums) || failed(left) || failed(right)) {
    return failure();
  }
  for (int64_t column = 0, end = op.getColumns(); column < end;
       column += MatrixUnit::blockColumns) {
    TileMemory to = *sums, from = *right;
    to.address = plus(to.address, integer(column * 4));
    from.address = plus(from.address, integer(column * 4));
    emitBlock(op, to, *left, from);
    // What runs meanwhile has run.
    if (op.getTurns()) {
      op.getTurnsMutable().clear();
    }
  }
  op.erase();
  return success();
}

LogicalResult BlockLowering::run() {
  SmallVector<BlockProductOp> products;
  function.walk([&](BlockProductOp op) { products.push_back(op); });
  for (BlockProductOp op : products) {
    if (failed(lower(op))) {
      return failure();
    }
  }
  return success();
}

namespace {
struct LowerBlockProductsPass final
    : impl::LowerBlockProductsPassBase<LowerBlockProductsPass> {
  void runOnOperation() override {
    if (BlockLowering(getOperation()).run().failed()) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
