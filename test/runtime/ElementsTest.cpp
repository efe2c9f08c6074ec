//===- ElementsTest.cpp - 16-bit floats against the compiler's own --------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace {

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(Elements, every_bf16_is_the_upper_half_of_a_float) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint16_t half = static_cast<uint16_t>(bits);
    float expected = floatOf(bits << 16);
    double value = hova_element_value(HOVA_ELEMENT_BF16, &half, 0);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(
          std::isnan(floatOf((uint32_t)hova_bf16_from_f32(expected) << 16)));
      continue;
    }
    EXPECT_EQ(value, expected) << bits;
    EXPECT_EQ(hova_bf16_from_f32(expected), half) << bits;
  }
}

TEST(Elements, every_f16_survives_the_way_through_f32) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint16_t half = static_cast<uint16_t>(bits);
    double value = hova_element_value(HOVA_ELEMENT_F16, &half, 0);
    if (std::isnan(value)) {
      EXPECT_EQ(half & 0x7c00, 0x7c00);
      EXPECT_NE(half & 0x3ff, 0);
      continue;
    }
    EXPECT_EQ(hova_f16_from_f32(static_cast<float>(value)), half) << bits;
  }
}

/// Halfway points between neighbours go to the even one, and one step to either
/// side decides.
TEST(Elements, f16_rounds_to_nearest_even) {
  for (uint16_t half = 0; half < 0x7bff; ++half) {
    uint16_t next = half + 1;
    double low = hova_element_value(HOVA_ELEMENT_F16, &half, 0);
    double high = hova_element_value(HOVA_ELEMENT_F16, &next, 0);
    float middle = static_cast<float>((low + high) / 2);
    uint16_t even = half & 1 ? next : half;
    ASSERT_EQ(hova_f16_from_f32(middle), even) << half;
    ASSERT_EQ(hova_f16_from_f32(std::nextafter(middle, -1.0f)), half) << half;
    ASSERT_EQ(hova_f16_from_f32(std::nextafter(middle, 1e9f)), next) << half;
  }
  EXPECT_EQ(hova_f16_from_f32(65519.0f), 0x7bff);
  EXPECT_EQ(hova_f16_from_f32(65520.0f), 0x7c00);
  EXPECT_EQ(hova_f16_from_f32(-1e30f), 0xfc00);
  EXPECT_EQ(hova_f16_from_f32(-0.0f), 0x8000);
}

TEST(Elements, bf16_rounds_to_nearest_even) {
  EXPECT_EQ(hova_bf16_from_f32(floatOf(0x3f808000)), 0x3f80);
  EXPECT_EQ(hova_bf16_from_f32(floatOf(0x3f808001)), 0x3f81);
  EXPECT_EQ(hova_bf16_from_f32(floatOf(0x3f818000)), 0x3f82);
  EXPECT_EQ(hova_bf16_from_f32(floatOf(0x7f7fffff)), 0x7f80);
}

TEST(Elements, integers_are_read_with_their_sign) {
  const int8_t small = -3;
  const int64_t large = -(INT64_C(1) << 40);
  const uint16_t unsigned16 = 65535;
  EXPECT_EQ(hova_element_value(HOVA_ELEMENT_I8, &small, 0), -3);
  EXPECT_EQ(hova_element_value(HOVA_ELEMENT_I64, &large, 0), -0x1p40);
  EXPECT_EQ(hova_element_value(HOVA_ELEMENT_U16, &unsigned16, 0), 65535);
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpedantic"
extern "C" __bf16 __truncdfbf2(double value);
extern "C" _Float16 __truncdfhf2(double value);
extern "C" float __extendhfsf2(_Float16 value);

template <typename T> uint16_t bitsOf(T value) {
  uint16_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

TEST(Elements, a_double_is_rounded_once) {
  // Rounding to f32 first would reach the halfway point and go to even.
  EXPECT_EQ(bitsOf(__truncdfhf2(1 + 0x1p-11 + 0x1p-40)), 0x3c01);
  EXPECT_EQ(bitsOf(__truncdfhf2(1 + 0x1p-11)), 0x3c00);
  EXPECT_EQ(bitsOf(__truncdfhf2(-(1 + 0x1p-11 + 0x1p-40))), 0xbc01);
  EXPECT_EQ(bitsOf(__truncdfbf2(1 + 0x1p-8 + 0x1p-40)), 0x3f81);
  EXPECT_EQ(bitsOf(__truncdfbf2(1 + 0x3p-8 - 0x1p-40)), 0x3f81);
  EXPECT_EQ(bitsOf(__truncdfbf2(1e300)), 0x7f80);
  EXPECT_EQ(__extendhfsf2(static_cast<_Float16>(-1.5f)), -1.5f);
}
#pragma clang diagnostic pop

} // namespace
