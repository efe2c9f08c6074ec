//===- FlatBuffer.cpp - A buffer as one dimension -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/vectorize/FlatBuffer.h"

using namespace mlir;

FailureOr<hova::FlatBuffer> hova::flattenBuffer(OpBuilder &builder,
                                                Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  FlatBuffer flat;
  if (!type.hasStaticShape() ||
      type.getStridesAndOffset(flat.strides, flat.offset).failed() ||
      ShapedType::isDynamic(flat.offset)) {
    return failure();
  }
  int64_t extent = flat.offset + 1;
  for (auto [size, stride] : llvm::zip(type.getShape(), flat.strides)) {
    extent += (size - 1) * stride;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(memref);
  flat.memory = memref::ReinterpretCastOp::create(
      builder, memref.getLoc(),
      MemRefType::get({extent}, type.getElementType()), memref,
      /*offset=*/0, ArrayRef<int64_t>{extent}, ArrayRef<int64_t>{1});
  return flat;
}
