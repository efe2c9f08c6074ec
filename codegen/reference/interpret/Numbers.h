//===- Numbers.h - Elements of memory and of vectors ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_REFERENCE_INTERPRET_NUMBERS_H
#define HOVA_CODEGEN_REFERENCE_INTERPRET_NUMBERS_H

#include "mlir/IR/Types.h"
#include <cstdint>

namespace hova {

/// The type of an element. Indices are integers of 64 bits.
enum class Kind : uint8_t { None, F64, F32, F16, BF16, I1, I8, I16, I32, I64 };

/// Of a scalar, or of the elements of a vector or a buffer; None for others.
Kind kindOf(mlir::Type type);
int64_t bytesOf(Kind kind);
inline bool isFloat(Kind kind) {
  return kind >= Kind::F64 && kind <= Kind::BF16;
}

/// One element: a number that its kind can hold, or an integer with the sign
/// of its highest bit (a boolean is 0 or 1).
union Lane {
  double number;
  int64_t integer;
};

/// To 16 bits, from f32; others as they are.
double roundToNarrow(Kind kind, double value);

/// `value` rounded to nearest even. Sums, products, quotients and square roots
/// of numbers of f32 are exact after that, since a double has more than twice
/// their digits; 16 bits are rounded from f32, as programs do it.
inline double roundTo(Kind kind, double value) {
  return kind == Kind::F32 ? static_cast<float>(value)
                           : roundToNarrow(kind, value);
}
/// The low bits of `value`.
int64_t wrapTo(Kind kind, int64_t value);

Lane readElement(Kind kind, const uint8_t *memory);
/// As many as there are lanes, one after the other.
void readElements(Kind kind, const uint8_t *memory,
                  llvm::MutableArrayRef<Lane> lanes);
void writeElement(Kind kind, Lane lane, uint8_t *memory);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_INTERPRET_NUMBERS_H
