//===- Approximations.c - What PTX only approximates ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// PTX says how far the result of an `approx` instruction may lie from the
// truth, and which results are exact. A launch chooses where in that bound it
// lies; docs/gpu-arithmetic.md has the bounds.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulation/Block.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float nan_of_ptx(void) {
  uint32_t bits = 0x7FFFFFFF;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Subnormal numbers as zeros of their sign.
static float flush(float value) {
  return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

/// The unit of the last place of a number of f32 of this size.
static double last_place(double value) {
  int exponent;
  frexp(value, &exponent);
  return ldexp(1, exponent > -125 ? exponent - 24 : -149);
}

/// Whether the result for this argument is the largest that is allowed.
static bool lies_above(hova_self *self, float argument) {
  hova_emulation_approximations way = self->block->launch->approximations;
  return way == HOVA_EMULATION_EITHER ? (bits_of(argument) * 0x9E3779B9u) >> 31
                                      : way == HOVA_EMULATION_ABOVE;
}

/// A number of f32 whose distance from `value` is at most `error`: the nearest
/// to it, or the last one above or below.
static float within(hova_self *self, float argument, double value,
                    double error) {
  float nearest = (float)value;
  if (value != value) {
    return nan_of_ptx();
  }
  if (self->block->launch->approximations == HOVA_EMULATION_NEAREST ||
      error == 0 || isinf(nearest)) {
    return nearest;
  }
  bool is_above = lies_above(self, argument);
  double bound = is_above ? value + error : value - error;
  float last = (float)bound;
  if (is_above ? last > bound : last < bound) {
    last = nextafterf(last, is_above ? -INFINITY : INFINITY);
  }
  return last;
}

/// 2 units from what is correctly rounded; 1 for 0, and 0 where the result is
/// smaller than all numbers.
float hova_emulated_ex2(hova_self *self, float value) {
  float rounded = (float)exp2((double)value);
  bool is_exact = value == 0 || rounded == 0;
  return within(self, value, rounded, is_exact ? 0 : 2 * last_place(rounded));
}

float hova_emulated_ex2_ftz(hova_self *self, float value) {
  return flush(hova_emulated_ex2(self, flush(value)));
}

/// 2^-22, absolutely between 1/2 and 2 and relatively elsewhere.
float hova_emulated_lg2(hova_self *self, float value) {
  double exact = log2((double)value);
  double scale = value > 0.5f && value < 2 ? 1 : fabs(exact);
  return within(self, value, exact, 0x1p-22 * scale);
}

/// 1 unit.
float hova_emulated_rcp_ftz(hova_self *self, float value) {
  double exact = 1 / (double)flush(value);
  double error = exact == 0 ? 0 : last_place(exact);
  return flush(within(self, flush(value), exact, error));
}

/// 2^-22.9 of the result.
float hova_emulated_rsqrt(hova_self *self, float value) {
  double exact = 1 / sqrt((double)value);
  return within(self, value, exact, exp2(-22.9) * exact);
}

float hova_emulated_rsqrt_ftz(hova_self *self, float value) {
  return flush(hova_emulated_rsqrt(self, flush(value)));
}
