//===- Storage.h - Types that values are stored in ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A program computes in f32. With storage of 16 bits, what enters a matrix
// product (weights, and the activations that they are multiplied with) and
// tables are numbers of that type, in memory and in value; everything else
// stays f32. A module says so with `hova.storage = bf16`; `hova.convert` says
// where a value is rounded.

#ifndef HOVA_DIALECT_STORAGE_H
#define HOVA_DIALECT_STORAGE_H

#include "dialect/HostTensor.h"
#include "mlir/IR/BuiltinTypes.h"

namespace hova {

/// Types that activations and weights are stored in.
enum class Storage { F32, BF16, F16 };

/// On the module: the type, where it is not f32.
inline constexpr llvm::StringLiteral kStorageAttr = "hova.storage";

/// "f32", "bf16", "f16".
llvm::StringRef nameOf(Storage storage);
/// Storage of elements of this type; F32 for all but the types of 16 bits.
Storage storageOf(mlir::Type element);
/// The type of stored elements.
mlir::FloatType storageType(mlir::MLIRContext *context, Storage storage);

/// The bits of `value` rounded to nearest, ties to even; NaN stays a NaN. Not
/// for F32.
uint16_t encode16(float value, Storage storage);
/// The number that these bits are.
float decode16(uint16_t bits, Storage storage);

/// `value` as a number of the type.
inline float roundTo(float value, Storage storage) {
  return storage == Storage::F32 ? value
                                 : decode16(encode16(value, storage), storage);
}
/// An F32 tensor of numbers of the type; `tensor` itself for F32.
HostTensor roundTo(const HostTensor &tensor, Storage storage);

} // namespace hova

#endif // HOVA_DIALECT_STORAGE_H
