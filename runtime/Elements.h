//===- Elements.h - Element types of tensor files ---------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// Files may hold more types than programs compute with: integers of every
// width and 8-bit floats.
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

/// X(NAME of safetensors and of hova_element, bytes, "descr" of npy or null).
#define HOVA_ELEMENTS(X)                                                       \
  X(F32, 4, "<f4")                                                             \
  X(F64, 8, "<f8")                                                             \
  X(BF16, 2, NULL)                                                             \
  X(F16, 2, "<f2")                                                             \
  X(I32, 4, "<i4")                                                             \
  X(I64, 8, "<i8")                                                             \
  X(BOOL, 1, "|b1")                                                            \
  X(I8, 1, "|i1")                                                              \
  X(U8, 1, "|u1")                                                              \
  X(I16, 2, "<i2")                                                             \
  X(U16, 2, "<u2")                                                             \
  X(U32, 4, "<u4")                                                             \
  X(U64, 8, "<u8")                                                             \
  X(F8_E4M3, 1, NULL)                                                          \
  X(F8_E5M2, 1, NULL)

/// The first seven are those of hova_dtype and have its numbers.
typedef enum hova_element {
#define HOVA_ELEMENT_ENUMERATOR(NAME, BYTES, DESCR) HOVA_ELEMENT_##NAME,
  HOVA_ELEMENTS(HOVA_ELEMENT_ENUMERATOR)
#undef HOVA_ELEMENT_ENUMERATOR
      HOVA_NUM_ELEMENTS
} hova_element;

/// "F32" and so on.
const char *hova_element_name(hova_element element);
/// "f32" and so on, as descriptions and messages write it.
const char *hova_dtype_name(int32_t dtype);
uint64_t hova_element_bytes(hova_element element);
/// The type string of npy, or null where npy has none.
const char *hova_element_descr(hova_element element);
bool hova_element_is_float(hova_element element);

/// Element `index` as a double; exact but for 64-bit integers beyond 2^53.
/// 8-bit floats are not read: NaN.
double hova_element_value(hova_element element, const void *data,
                          uint64_t index);

/// Rounds to nearest, ties to even; NaN stays a (quiet) NaN.
uint16_t hova_bf16_from_f32(float value);
uint16_t hova_f16_from_f32(float value);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_ELEMENTS_H
