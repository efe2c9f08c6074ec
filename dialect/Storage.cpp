//===- Storage.cpp - Types that values are stored in ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Storage.h"
#include "llvm/ADT/bit.h"
#include <cassert>
#include <cmath>

using namespace mlir;
using namespace hova;

llvm::StringRef hova::nameOf(Storage storage) {
  switch (storage) {
  case Storage::BF16:
    return "bf16";
  case Storage::F16:
    return "f16";
  case Storage::F32:
    break;
  }
  return "f32";
}

Storage hova::storageOf(Type element) {
  return element.isBF16()  ? Storage::BF16
         : element.isF16() ? Storage::F16
                           : Storage::F32;
}

FloatType hova::storageType(MLIRContext *context, Storage storage) {
  switch (storage) {
  case Storage::BF16:
    return BFloat16Type::get(context);
  case Storage::F16:
    return Float16Type::get(context);
  case Storage::F32:
    break;
  }
  return Float32Type::get(context);
}

static uint16_t encodeBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value)) {
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  }
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static uint16_t encodeF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  uint16_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  constexpr uint32_t infinity = 0x7f800000, smallestNormal = 0x38800000,
                     overflow = 0x477ff000; // 65520, halfway beyond 65504
  if (magnitude > infinity) {
    return sign | 0x7e00;
  }
  if (magnitude >= overflow) {
    return sign | 0x7c00;
  }
  if (magnitude < smallestNormal) {
    // Added to 1/2, the last place of the sum is that of the smallest f16: the
    // addition rounds.
    float sum = llvm::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(llvm::bit_cast<uint32_t>(sum) -
                                        llvm::bit_cast<uint32_t>(0.5f));
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - (112u << 23)) >> 13);
}

uint16_t hova::encode16(float value, Storage storage) {
  assert(storage != Storage::F32 && "f32 has no form of 16 bits");
  return storage == Storage::BF16 ? encodeBF16(value) : encodeF16(value);
}

float hova::decode16(uint16_t bits, Storage storage) {
  assert(storage != Storage::F32 && "f32 has no form of 16 bits");
  if (storage == Storage::BF16) {
    return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) {
    return llvm::bit_cast<float>(sign | 0x7f800000 | (magnitude << 13));
  }
  // As f32 with the same exponent bits, scaled by the difference of the biases.
  float value = llvm::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return llvm::bit_cast<float>(sign | llvm::bit_cast<uint32_t>(value));
}

HostTensor hova::roundTo(const HostTensor &tensor, Storage storage) {
  assert(tensor.getElement() == HostTensor::Element::F32);
  if (storage == Storage::F32) {
    return tensor;
  }
  HostTensor result(HostTensor::Element::F32, tensor.getShape());
  const float *from = tensor.as<float>();
  float *to = result.mutableAs<float>();
  for (int64_t i = 0, e = tensor.size(); i < e; ++i) {
    to[i] = roundTo(from[i], storage);
  }
  return result;
}
