//===- LowerLookups.cpp - Table lookups as permutations of a register -----===//
// SPDX-License-Identifier: Apache-2.0
//
// `vpermps` picks, for each of 16 lanes, one of 16 entries by the low four bits
// of the lane's index. Narrower vectors are widened, wider ones divided.

#include "codegen/cpu/Passes.h"
#include "codegen/cpu/TileOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERLOOKUPSPASS
#include "codegen/cpu/Passes.h.inc"

/// Lanes `from .. from + 16` of a vector, or all of a narrow one and whatever
/// after them.
static Value registerOf(OpBuilder &builder, Location loc, Value vector,
                        int64_t from) {
  auto type = cast<VectorType>(vector.getType());
  int64_t lanes = type.getNumElements();
  auto whole = VectorType::get({kLookupEntries}, type.getElementType());
  if (type == whole) {
    return vector;
  }
  if (lanes < kLookupEntries) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(whole));
    return vector::InsertStridedSliceOp::create(
        builder, loc, vector, zero, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
  }
  return vector::ExtractStridedSliceOp::create(
      builder, loc, vector, ArrayRef<int64_t>{from},
      ArrayRef<int64_t>{kLookupEntries}, ArrayRef<int64_t>{1});
}

/// lookup %index, table -> vpermps table, %index for each 16 lanes
static Value lookUpByPermutation(OpBuilder &builder, LookupOp op) {
  Location loc = op.getLoc();
  VectorType type = op.getResult().getType();
  int64_t lanes = type.getNumElements();
  auto whole = VectorType::get({kLookupEntries}, type.getElementType());
  Value table =
      arith::ConstantOp::create(builder, loc, op.getTable().reshape(whole));
  auto lookUp = [&](int64_t from) -> Value {
    Value operands[] = {table, registerOf(builder, loc, op.getIndex(), from)};
    return LLVM::CallIntrinsicOp::create(
               builder, loc, whole,
               builder.getStringAttr("llvm.x86.avx512.permvar.sf.512"),
               operands)
        .getResult(0);
  };
  if (lanes == kLookupEntries) {
    return lookUp(0);
  }
  if (lanes < kLookupEntries) {
    return vector::ExtractStridedSliceOp::create(
        builder, loc, lookUp(0), ArrayRef<int64_t>{0}, ArrayRef<int64_t>{lanes},
        ArrayRef<int64_t>{1});
  }
  Value result =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  for (int64_t from = 0; from < lanes; from += kLookupEntries) {
    result = vector::InsertStridedSliceOp::create(
        builder, loc, lookUp(from), result, ArrayRef<int64_t>{from},
        ArrayRef<int64_t>{1});
  }
  return result;
}

namespace {
struct LowerLookupsPass final : impl::LowerLookupsPassBase<LowerLookupsPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](LookupOp op) {
      OpBuilder builder(op);
      op.getResult().replaceAllUsesWith(lookUpByPermutation(builder, op));
      op->erase();
    });
  }
};
} // namespace
} // namespace hova
