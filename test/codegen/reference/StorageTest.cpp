//===- StorageTest.cpp - Numbers of 16 bits -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tier T0 of the numeric policy, against LLVM's arbitrary-precision floats.

#include "dialect/Storage.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace hova;

namespace {

const llvm::fltSemantics &semanticsOf(Storage storage) {
  return storage == Storage::BF16 ? llvm::APFloat::BFloat()
                                  : llvm::APFloat::IEEEhalf();
}

class StorageTest : public testing::TestWithParam<Storage> {};

TEST_P(StorageTest, every_number_is_itself_again) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = decode16(bits, GetParam());
    llvm::APFloat exact(semanticsOf(GetParam()), llvm::APInt(16, bits));
    if (exact.isNaN()) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(roundTo(value, GetParam()))) << bits;
      continue;
    }
    EXPECT_EQ(value, exact.convertToFloat()) << bits;
    EXPECT_EQ(encode16(value, GetParam()), bits);
  }
}

TEST_P(StorageTest, numbers_between_go_to_the_nearest_even) {
  // All exponents, and patterns around each tie of both types.
  for (uint32_t exponent = 0; exponent < 0x200; ++exponent) {
    for (uint32_t place : {12u, 15u, 16u, 20u}) {
      for (uint32_t upper : {0u, 1u, 2u, 0x7fffffu}) {
        for (int offset = -1; offset <= 1; ++offset) {
          uint32_t mantissa =
              ((upper << (place + 1)) + (1u << place) + offset) & 0x7fffff;
          float value = llvm::bit_cast<float>((exponent << 23) | mantissa);
          if (std::isnan(value)) {
            continue;
          }
          llvm::APFloat exact(value);
          bool lost;
          exact.convert(semanticsOf(GetParam()),
                        llvm::APFloat::rmNearestTiesToEven, &lost);
          EXPECT_EQ(encode16(value, GetParam()),
                    exact.bitcastToAPInt().getZExtValue())
              << value;
        }
      }
    }
  }
}

TEST_P(StorageTest, has_a_type_and_a_name) {
  mlir::MLIRContext context;
  mlir::FloatType type = storageType(&context, GetParam());
  EXPECT_EQ(type.getWidth(), 16u);
  EXPECT_EQ(storageOf(type), GetParam());
  std::string text;
  llvm::raw_string_ostream(text) << type;
  EXPECT_EQ(nameOf(GetParam()), text);
}

INSTANTIATE_TEST_SUITE_P(Types, StorageTest,
                         testing::Values(Storage::BF16, Storage::F16));

TEST(Storage, f32_keeps_every_bit) {
  EXPECT_EQ(roundTo(1 + 0x1p-23f, Storage::F32), 1 + 0x1p-23f);
  HostTensor tensor(HostTensor::Element::F32, {2});
  EXPECT_EQ(roundTo(tensor, Storage::F32).data(), tensor.data());
}

} // namespace
