//===- Halves.h - Numbers of 16 bits by their definitions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_CODEGEN_CUDA_EMULATION_HALVES_H
#define HOVA_TEST_CODEGEN_CUDA_EMULATION_HALVES_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace hova::test {

inline uint32_t wordOf(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

inline float numberOf(uint32_t word) {
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

/// To bf16 by the definition: the nearest of both neighbours, and of two that
/// are as near the even one.
inline uint32_t roundToBf16(float value) {
  if (std::isnan(value)) {
    return 0x7FFF;
  }
  uint32_t below = wordOf(value) >> 16;
  double down = numberOf(below << 16), up = numberOf((below + 1) << 16);
  if (std::isinf(value)) {
    return below;
  }
  if (std::isinf(up)) {
    up = std::copysign(0x1p128, value);
  }
  double toDown = std::abs(value - down), toUp = std::abs(up - value);
  return toDown < toUp || (toDown == toUp && below % 2 == 0) ? below
                                                             : below + 1;
}

/// f16 by the definition: a sign, 5 bits of exponent around 15, 10 after the
/// point.
inline double numberOfF16(uint32_t bits) {
  int exponent = bits >> 10 & 0x1F, rest = bits & 0x3FF;
  double size = exponent ? std::ldexp(0x400 + rest, exponent - 25)
                         : std::ldexp(rest, -24);
  return bits & 0x8000 ? -size : size;
}

/// The nearest of all, and of two that are as near the even one; 2^16 stands
/// for infinity, which then has the place of the next number.
inline uint32_t roundToF16(float value) {
  if (std::isnan(value)) {
    return 0x7FFF;
  }
  double size = std::min<double>(std::abs(value), 0x1p16);
  uint32_t below = 0, above = 0x7C00;
  while (above - below > 1) {
    uint32_t middle = (below + above) / 2;
    (numberOfF16(middle) <= size ? below : above) = middle;
  }
  double toBelow = size - numberOfF16(below),
         toAbove = numberOfF16(above) - size;
  uint32_t nearest = toBelow < toAbove || (toBelow == toAbove && below % 2 == 0)
                         ? below
                         : above;
  return nearest | (std::signbit(value) ? 0x8000 : 0);
}

} // namespace hova::test

#endif // HOVA_TEST_CODEGEN_CUDA_EMULATION_HALVES_H
