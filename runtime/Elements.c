//===- Elements.c - Element types of tensor files -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Elements.h"

#include <math.h>
#include <string.h>

typedef struct element_info {
  const char *name;
  const char *dtype;
  const char *numpy;
  uint64_t bits;
  const char *descr;
} element_info;

static const element_info elements[HOVA_NUM_ELEMENTS] = {
#define HOVA_ELEMENT_INFO(NAME, DTYPE, NUMPY, BITS, DESCR)                     \
  {#NAME, DTYPE, NUMPY, BITS, DESCR},
    HOVA_ELEMENTS(HOVA_ELEMENT_INFO)
#undef HOVA_ELEMENT_INFO
};

_Static_assert((int)HOVA_ELEMENT_BOOL == (int)HOVA_BOOL &&
                   (int)HOVA_ELEMENT_BF16 == (int)HOVA_BF16,
               "program types have the numbers of file types");

const char *hova_element_name(hova_element element) {
  return elements[element].name;
}

const char *hova_dtype_name(int32_t element) {
  return element >= 0 && element < HOVA_NUM_ELEMENTS ? elements[element].dtype
                                                     : "unknown";
}

const char *hova_numpy_name(hova_element element) {
  return elements[element].numpy;
}

hova_element hova_file_element(int32_t dtype) {
  return dtype == HOVA_BF16 ? HOVA_ELEMENT_F32 : (hova_element)dtype;
}

uint64_t hova_element_bits(hova_element element) {
  return elements[element].bits;
}

uint64_t hova_element_bytes(hova_element element) {
  return elements[element].bits / 8;
}

const char *hova_element_descr(hova_element element) {
  return elements[element].descr;
}

bool hova_element_is_read(hova_element element) {
  return element <= HOVA_ELEMENT_U64;
}

bool hova_element_is_float(hova_element element) {
  return element <= HOVA_ELEMENT_F16 || !hova_element_is_read(element);
}

/// The value of a float of 16 bits with `mantissa_bits` of them mantissa.
static double half_value(uint16_t bits, int mantissa_bits) {
  int exponent_bits = 15 - mantissa_bits;
  int exponent_mask = (1 << exponent_bits) - 1;
  int exponent = (bits >> mantissa_bits) & exponent_mask;
  int mantissa = bits & ((1 << mantissa_bits) - 1);
  int bias = exponent_mask >> 1;
  double magnitude;
  if (exponent == exponent_mask) {
    magnitude = mantissa ? NAN : INFINITY;
  } else if (exponent == 0) {
    magnitude = ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    magnitude =
        ldexp((1 << mantissa_bits) | mantissa, exponent - bias - mantissa_bits);
  }
  return bits >> 15 ? -magnitude : magnitude;
}

double hova_element_value(hova_element element, const void *data,
                          uint64_t index) {
  const char *at = (const char *)data + index * hova_element_bytes(element);
#define HOVA_LOAD(TYPE)                                                        \
  do {                                                                         \
    TYPE value;                                                                \
    memcpy(&value, at, sizeof value);                                          \
    return (double)value;                                                      \
  } while (0)
  switch (element) {
  case HOVA_ELEMENT_F32:
    HOVA_LOAD(float);
  case HOVA_ELEMENT_F64:
    HOVA_LOAD(double);
  case HOVA_ELEMENT_I32:
    HOVA_LOAD(int32_t);
  case HOVA_ELEMENT_I64:
    HOVA_LOAD(int64_t);
  case HOVA_ELEMENT_I8:
    HOVA_LOAD(int8_t);
  case HOVA_ELEMENT_BOOL:
  case HOVA_ELEMENT_U8:
    HOVA_LOAD(uint8_t);
  case HOVA_ELEMENT_I16:
    HOVA_LOAD(int16_t);
  case HOVA_ELEMENT_U16:
    HOVA_LOAD(uint16_t);
  case HOVA_ELEMENT_U32:
    HOVA_LOAD(uint32_t);
  case HOVA_ELEMENT_U64:
    HOVA_LOAD(uint64_t);
  case HOVA_ELEMENT_BF16:
  case HOVA_ELEMENT_F16: {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return half_value(bits, element == HOVA_ELEMENT_BF16 ? 7 : 10);
  }
  default:
    return NAN;
  }
#undef HOVA_LOAD
}

uint16_t hova_bf16_from_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) {
    return (uint16_t)((bits >> 16) | 0x40);
  }
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t hova_f16_from_f32(float value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  if (value != value) {
    return sign | 0x7e00;
  }
  double magnitude = fabs((double)value);
  // Halfway between the largest f16, 65504, and the next power of two.
  if (magnitude >= 65520.0) {
    return sign | 0x7c00;
  }
  // Counted in units of the last place, the rounding of an integer is the
  // rounding of the float; a carry into the exponent is the right one.
  int exponent = -24;
  if (magnitude != 0) {
    frexp(magnitude, &exponent);
  }
  int unit = exponent - 11 < -24 ? -24 : exponent - 11;
  long count = lrint(ldexp(magnitude, -unit));
  return sign | (uint16_t)(count + (long)(unit + 24) * 1024);
}
