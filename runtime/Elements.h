//===- Elements.h - Element types of tensor files ---------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// Files may hold more types than programs compute with: integers of every
// width, complex numbers, and floats of 8 bits and fewer.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_ELEMENTS_H
#define HOVA_RUNTIME_ELEMENTS_H

#include "runtime/hova_runtime.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The largest rank that a file or a program may have.
#define HOVA_MAX_RANK 8

/// X(NAME of safetensors and of hova_element, name in messages, name in NumPy
/// or null, bits, "descr" of npy or null). Of the types after U64 a file may
/// have tensors, whose numbers are not read.
#define HOVA_ELEMENTS(X)                                                       \
  X(F32, "f32", "float32", 32, "<f4")                                          \
  X(F64, "f64", "float64", 64, "<f8")                                          \
  X(BF16, "bf16", NULL, 16, NULL)                                              \
  X(F16, "f16", "float16", 16, "<f2")                                          \
  X(I32, "i32", "int32", 32, "<i4")                                            \
  X(I64, "i64", "int64", 64, "<i8")                                            \
  X(BOOL, "bool", "bool", 8, "|b1")                                            \
  X(I8, "i8", "int8", 8, "|i1")                                                \
  X(U8, "u8", "uint8", 8, "|u1")                                               \
  X(I16, "i16", "int16", 16, "<i2")                                            \
  X(U16, "u16", "uint16", 16, "<u2")                                           \
  X(U32, "u32", "uint32", 32, "<u4")                                           \
  X(U64, "u64", "uint64", 64, "<u8")                                           \
  X(F8_E4M3, "f8_e4m3", NULL, 8, NULL)                                         \
  X(F8_E5M2, "f8_e5m2", NULL, 8, NULL)                                         \
  X(F8_E8M0, "f8_e8m0", NULL, 8, NULL)                                         \
  X(F8_E4M3FNUZ, "f8_e4m3fnuz", NULL, 8, NULL)                                 \
  X(F8_E5M2FNUZ, "f8_e5m2fnuz", NULL, 8, NULL)                                 \
  X(F6_E2M3, "f6_e2m3", NULL, 6, NULL)                                         \
  X(F6_E3M2, "f6_e3m2", NULL, 6, NULL)                                         \
  X(F4, "f4", NULL, 4, NULL)                                                   \
  X(C64, "c64", NULL, 64, NULL)

/// The first seven are those of hova_dtype and have its numbers.
typedef enum hova_element {
#define HOVA_ELEMENT_ENUMERATOR(NAME, ...) HOVA_ELEMENT_##NAME,
  HOVA_ELEMENTS(HOVA_ELEMENT_ENUMERATOR)
#undef HOVA_ELEMENT_ENUMERATOR
      HOVA_NUM_ELEMENTS
} hova_element;

/// "F32" and so on, as safetensors writes it.
const char *hova_element_name(hova_element element);
/// "f32" and so on, as descriptions and messages write it; of a hova_element or
/// a hova_dtype.
const char *hova_dtype_name(int32_t element);
/// "float32" and so on, or null where NumPy has no such type.
const char *hova_numpy_name(hova_element element);
/// The type of a file that holds a program's bf16, f16, ... : npy has no bf16,
/// whose values f32 holds.
hova_element hova_file_element(int32_t dtype);
uint64_t hova_element_bits(hova_element element);
/// Of an element that takes whole bytes.
uint64_t hova_element_bytes(hova_element element);
/// The type string of npy, or null where npy has none.
const char *hova_element_descr(hova_element element);
/// Whether hova_element_value knows what the bits of an element mean.
bool hova_element_is_read(hova_element element);
/// Whether an element is a number that need not be whole.
bool hova_element_is_float(hova_element element);

/// Element `index` as a double; exact but for 64-bit integers beyond 2^53. NaN
/// of a type that is not read.
double hova_element_value(hova_element element, const void *data,
                          uint64_t index);

/// Rounds to nearest, ties to even; NaN stays a (quiet) NaN.
uint16_t hova_bf16_from_f32(float value);
uint16_t hova_f16_from_f32(float value);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_ELEMENTS_H
