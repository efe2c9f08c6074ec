//===- Sums.c - How mma.sync adds -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// PTX leaves open in which order and with how many bits mma.sync adds. The
// plain rule is one product after the other, each sum rounded to the nearest
// f32. Devices add some products and the old sum at once: all are aligned to
// the largest exponent among them, what lies after a number of bits is cut
// off, and the exact sum of the rest is cut off to f32. How many products and
// bits that are is known from measurements of others, not from any that were
// made here:
//
//   F. A. Khattak, M. Mikaitis, Accurate Models of NVIDIA Tensor Cores,
//   arXiv:2512.07004; P. Xie et al., MMA-Sim: Bit-Accurate Reference Model of
//   Tensor Cores and Matrix Cores, arXiv:2511.10909.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulation/Block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A device: products that are added at once, and bits that are kept after the
/// leading one of the largest exponent.
typedef struct sum_model {
  uint32_t products, bits;
} sum_model;

static const sum_model models[] = {
    [HOVA_EMULATION_A100] = {8, 24},
    [HOVA_EMULATION_H100] = {16, 25},
};

//===----------------------------------------------------------------------===//
// In order of k
//===----------------------------------------------------------------------===//

/// sums[i][j] += left[i][k] right[k][j], one k after the other, each product
/// exact and each sum rounded to f32.
__attribute__((target("avx2,fma"))) static void
add_in_order_with_fma(float left[16][16], float right[16][8],
                      float sums[16][8]) {
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t k = 0; k < 16; ++k) {
      for (uint32_t j = 0; j < 8; ++j) {
        sums[i][j] = __builtin_fmaf(left[i][k], right[k][j], sums[i][j]);
      }
    }
  }
}

/// The same where the host has no such instruction.
static void add_in_order(float left[16][16], float right[16][8],
                         float sums[16][8]) {
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t k = 0; k < 16; ++k) {
      for (uint32_t j = 0; j < 8; ++j) {
        sums[i][j] = fmaf(left[i][k], right[k][j], sums[i][j]);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// As devices do
//===----------------------------------------------------------------------===//

#define LEAST_EXPONENT (-126)

/// A finite number: significand times 2^(exponent - 23). The exponent of
/// numbers below the normal ones, and of 0, is the least of normal numbers.
typedef struct parts {
  int64_t significand;
  int32_t exponent;
} parts;

static parts parts_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  int64_t significand = bits & 0x7FFFFF;
  int32_t exponent = (int32_t)(bits >> 23 & 0xFF);
  if (exponent) {
    significand |= 0x800000;
    exponent -= 127;
  } else {
    exponent = LEAST_EXPONENT;
  }
  return (parts){bits >> 31 ? -significand : significand, exponent};
}

/// Zeros after the significands of f16, which have 11 bits; those of bf16 have
/// 8.
#define ZEROS 13

/// Both operands are bf16, or both f16. The product of two significands may be
/// 2 or more, which moves no exponent.
static parts product_of(float x, float y) {
  parts a = parts_of(x), b = parts_of(y);
  int64_t significand = (a.significand >> ZEROS) * (b.significand >> ZEROS);
  if (!significand) {
    return (parts){0, LEAST_EXPONENT};
  }
  // Both had 23 bits after the point, and have 23 - ZEROS now.
  return (parts){significand * (1 << (2 * ZEROS - 23)),
                 a.exponent + b.exponent};
}

/// The significand in units of 2^(top - bits), cut off towards 0.
static int64_t align(parts term, int32_t top, uint32_t bits) {
  int32_t left = term.exponent - top + (int32_t)bits - 23;
  int64_t size = llabs(term.significand);
  size = left >= 0 ? size << left : left > -64 ? size >> -left : 0;
  return term.significand < 0 ? -size : size;
}

/// sum times 2^unit, cut off towards 0. A sum of 0 has no sign.
static float cut_off(int64_t sum, int32_t unit) {
  uint64_t size = (uint64_t)llabs(sum);
  if (!size) {
    return 0;
  }
  int32_t leading = unit + 63 - __builtin_clzll(size);
  int32_t last =
      leading - 23 < LEAST_EXPONENT - 23 ? LEAST_EXPONENT - 23 : leading - 23;
  if (last > unit) {
    size = last - unit < 64 ? size >> (last - unit) : 0;
    unit = last;
  }
  // At most 24 bits: exact, or beyond the largest f32.
  float value = ldexpf((float)size, unit);
  return sum < 0 ? -value : value;
}

/// What is not finite: no number, an infinity, or 0 for neither.
static float special_sum(const float *left, const float *right, uint32_t stride,
                         uint32_t count, float old) {
  double sum = old;
  for (uint32_t k = 0; k < count; ++k) {
    // Products are far from the largest f64.
    sum += (double)left[k] * right[k * stride];
  }
  return isfinite(sum) ? 0 : (float)sum;
}

static float add_at_once(const float *left, const float *right, uint32_t stride,
                         const sum_model *model, float old) {
  float special = special_sum(left, right, stride, model->products, old);
  if (special != 0) {
    return special;
  }
  parts terms[17];
  uint32_t count = model->products;
  int32_t top = LEAST_EXPONENT;
  terms[count] = parts_of(old);
  for (uint32_t k = 0; k < count; ++k) {
    terms[k] = product_of(left[k], right[k * stride]);
  }
  for (uint32_t k = 0; k <= count; ++k) {
    top = terms[k].exponent > top ? terms[k].exponent : top;
  }
  int64_t sum = 0;
  for (uint32_t k = 0; k <= count; ++k) {
    sum += align(terms[k], top, model->bits);
  }
  return cut_off(sum, top - (int32_t)model->bits);
}

void multiply(hova_emulation_sums how, bool has_fma, float left[16][16],
              float right[16][8], float sums[16][8]) {
  if (how == HOVA_EMULATION_IN_ORDER) {
    if (has_fma) {
      add_in_order_with_fma(left, right, sums);
    } else {
      add_in_order(left, right, sums);
    }
    return;
  }
  const sum_model *model = &models[how];
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t j = 0; j < 8; ++j) {
      for (uint32_t k = 0; k < 16; k += model->products) {
        sums[i][j] =
            add_at_once(&left[i][k], &right[k][j], 8, model, sums[i][j]);
      }
    }
  }
}
