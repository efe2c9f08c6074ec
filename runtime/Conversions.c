//===- Conversions.c - Calls that code generation falls back to -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Below AVX-512 BF16 the code generator turns a scalar rounding to bf16 into a
// call of the compiler's support library, and below F16C those of f16.
// Programs are linked without that library; the names and their conventions
// are its own.
//
//===----------------------------------------------------------------------===//

#include "runtime/Elements.h"

#include <math.h>
#include <string.h>

__bf16 __truncsfbf2(float value);
__bf16 __truncdfbf2(double value);
_Float16 __truncsfhf2(float value);
_Float16 __truncdfhf2(double value);
float __extendhfsf2(_Float16 value);

/// Rounds so that a second rounding gives what one alone would have given: if
/// the value is inexact, its last bit becomes odd.
static float round_to_odd(double value) {
  float nearest = (float)value;
  uint32_t bits;
  memcpy(&bits, &nearest, sizeof bits);
  if ((double)nearest == value || value != value || bits & 1) {
    return nearest;
  }
  // One step toward the value crosses it or not: of its two neighbours exactly
  // one has an odd last bit.
  int away = fabs((double)nearest) < fabs(value);
  bits += away ? 1u : UINT32_MAX;
  memcpy(&nearest, &bits, sizeof nearest);
  return nearest;
}

__bf16 __truncsfbf2(float value) {
  uint16_t bits = hova_bf16_from_f32(value);
  __bf16 result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

__bf16 __truncdfbf2(double value) { return __truncsfbf2(round_to_odd(value)); }

_Float16 __truncsfhf2(float value) {
  uint16_t bits = hova_f16_from_f32(value);
  _Float16 result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

_Float16 __truncdfhf2(double value) {
  return __truncsfhf2(round_to_odd(value));
}

float __extendhfsf2(_Float16 value) {
  return (float)hova_element_value(HOVA_ELEMENT_F16, &value, 0);
}
