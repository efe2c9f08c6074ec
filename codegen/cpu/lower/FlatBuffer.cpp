//===- FlatBuffer.cpp - A buffer as one dimension -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/lower/FlatBuffer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace hova {

FailureOr<FlatBuffer> flattenBuffer(OpBuilder &builder, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  FlatBuffer flat;
  if (!type.hasStaticShape() ||
      type.getStridesAndOffset(flat.strides, flat.offset).failed()) {
    return failure();
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(memref);
  if (ShapedType::isDynamic(flat.offset)) {
    flat.offset = 0;
    flat.moved = memref::ExtractStridedMetadataOp::create(
                     builder, memref.getLoc(), memref)
                     .getOffset();
  }
  int64_t extent = flat.offset + 1;
  for (auto [size, stride] : llvm::zip(type.getShape(), flat.strides)) {
    extent += (size - 1) * stride;
  }
  flat.memory = memref::ReinterpretCastOp::create(
      builder, memref.getLoc(),
      MemRefType::get({extent}, type.getElementType()), memref,
      /*offset=*/0, ArrayRef<int64_t>{extent}, ArrayRef<int64_t>{1});
  return flat;
}

Value FlatBuilder::index(int64_t value) const {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value FlatBuilder::plus(Value index, int64_t constant) const {
  return constant ? builder.createOrFold<arith::AddIOp>(loc, index,
                                                        this->index(constant))
                  : index;
}

Value FlatBuilder::at(const FlatBuffer &buffer, ValueRange position) const {
  Value sum;
  for (auto [at, stride] : llvm::zip(position, buffer.strides)) {
    Value part =
        stride == 1
            ? at
            : builder.createOrFold<arith::MulIOp>(loc, at, index(stride));
    sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum, part) : part;
  }
  if (buffer.moved) {
    sum = builder.createOrFold<arith::AddIOp>(loc, sum, buffer.moved);
  }
  return plus(sum, buffer.offset);
}

Value FlatBuilder::pin(Value index) const {
  if (matchPattern(index, m_Constant())) {
    return index;
  }
  Type i64 = builder.getI64Type();
  Value integer = arith::IndexCastOp::create(builder, loc, i64, index);
  Value frozen = LLVM::FreezeOp::create(builder, loc, integer);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    frozen);
}

Lanes FlatBuilder::lanesOf(VectorType type,
                           std::optional<uint64_t> valid) const {
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

Type FlatBuffer::element() const {
  return cast<MemRefType>(memory.getType()).getElementType();
}

Value FlatBuilder::load(const FlatBuffer &buffer, Value index,
                        const Lanes &lanes) const {
  auto stored = VectorType::get(lanes.type.getShape(), buffer.element());
  Value value;
  if (!lanes.mask) {
    value = vector::LoadOp::create(builder, loc, stored, buffer.memory, index);
  } else {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(stored));
    value = vector::MaskedLoadOp::create(builder, loc, stored, buffer.memory,
                                         index, lanes.mask, zero);
  }
  return stored == lanes.type
             ? value
             : arith::ExtFOp::create(builder, loc, lanes.type, value);
}

Value FlatBuilder::loadScalar(const FlatBuffer &buffer, Value index) const {
  Value value = memref::LoadOp::create(builder, loc, buffer.memory, index);
  Type wide = builder.getF32Type();
  return value.getType() == wide
             ? value
             : arith::ExtFOp::create(builder, loc, wide, value);
}

void FlatBuilder::store(Value vector, const FlatBuffer &buffer, Value index,
                        const Lanes &lanes) const {
  auto stored = VectorType::get(lanes.type.getShape(), buffer.element());
  if (stored != lanes.type) {
    vector = arith::TruncFOp::create(builder, loc, stored, vector);
  }
  if (lanes.mask) {
    vector::MaskedStoreOp::create(builder, loc, buffer.memory, index,
                                  lanes.mask, vector);
  } else {
    vector::StoreOp::create(builder, loc, vector, buffer.memory, index);
  }
}

} // namespace hova
