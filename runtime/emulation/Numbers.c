//===- Numbers.c - Arithmetic of PTX that hosts do otherwise --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Block.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float nan_of_ptx(void) { return from_bits(0x7FFFFFFF); }

/// cvt.rn.bf16.f32: to nearest, ties to even, subnormal numbers kept.
uint16_t hova_emulated_bf16(float value) {
  uint32_t bits = bits_of(value);
  return value != value ? 0x7FFF
                        : (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// cvt.rn.f16.f32: to nearest, ties to even; from 65520 on infinity. Below
/// 2^-14 numbers are multiples of 2^-24.
uint16_t hova_emulated_f16(float value) {
  uint16_t sign = (uint16_t)(bits_of(value) >> 16 & 0x8000);
  float size = fabsf(value);
  if (value != value) {
    return 0x7FFF;
  }
  if (size >= 65520) {
    return sign | 0x7C00;
  }
  if (size < 0x1p-14f) {
    // A sum with 2^-1 has its last place there, and rounds as asked.
    return sign | (uint16_t)(bits_of(size + 0x1p-1f) - bits_of(0x1p-1f));
  }
  uint32_t bits = bits_of(size) - ((127 - 15) << 23);
  return sign | (uint16_t)((bits + 0xFFF + (bits >> 13 & 1)) >> 13);
}

float hova_emulated_f32_of_f16(uint16_t value) {
  uint32_t exponent = value >> 10 & 0x1F, rest = value & 0x3FF;
  float size = exponent == 0x1F
                   ? rest ? nan_of_ptx() : INFINITY
                   : ldexpf((float)(exponent ? rest + 0x400 : rest),
                            (exponent ? (int)exponent : 1) - 25);
  return value & 0x8000 && size == size ? -size : size;
}

/// -0 is below 0.
float hova_emulated_max(float x, float y) {
  if (x != x) {
    return y != y ? nan_of_ptx() : y;
  }
  return y != y || x > y || (x == y && !signbit(x)) ? x : y;
}

float hova_emulated_min(float x, float y) {
  if (x != x) {
    return y != y ? nan_of_ptx() : y;
  }
  return y != y || x < y || (x == y && signbit(x)) ? x : y;
}

float hova_emulated_max_nan(float x, float y) {
  return x != x || y != y ? nan_of_ptx() : hova_emulated_max(x, y);
}

float hova_emulated_min_nan(float x, float y) {
  return x != x || y != y ? nan_of_ptx() : hova_emulated_min(x, y);
}

/// cvt.rzi: the nearest that there is, and 0 for what is no number.
int32_t hova_emulated_s32(float value) {
  if (value != value) {
    return 0;
  }
  return value >= 0x1p31f    ? INT32_MAX
         : value <= -0x1p31f ? INT32_MIN
                             : (int32_t)value;
}

uint32_t hova_emulated_u32(float value) {
  return !(value > 0) ? 0 : value >= 0x1p32f ? UINT32_MAX : (uint32_t)value;
}

void hova_emulated_divisor(hova_self *self, uint32_t place, uint32_t faulty) {
  if (faulty) {
    fault(self, place, "divides by 0, or the quotient has no value");
  }
}
