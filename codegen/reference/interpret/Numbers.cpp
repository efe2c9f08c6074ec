//===- Numbers.cpp - Elements of memory and of vectors --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/interpret/Numbers.h"
#include "dialect/Storage.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include <cstring>

using namespace mlir;

namespace hova {

Kind kindOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<IndexType>(element)) {
    return Kind::I64;
  }
  if (isa<FloatType>(element)) {
    return element.isF64()    ? Kind::F64
           : element.isF32()  ? Kind::F32
           : element.isF16()  ? Kind::F16
           : element.isBF16() ? Kind::BF16
                              : Kind::None;
  }
  auto integer = dyn_cast<IntegerType>(element);
  switch (integer ? integer.getWidth() : 0) {
  case 1:
    return Kind::I1;
  case 8:
    return Kind::I8;
  case 16:
    return Kind::I16;
  case 32:
    return Kind::I32;
  case 64:
    return Kind::I64;
  default:
    return Kind::None;
  }
}

int64_t bytesOf(Kind kind) {
  switch (kind) {
  case Kind::F64:
  case Kind::I64:
    return 8;
  case Kind::F32:
  case Kind::I32:
    return 4;
  case Kind::F16:
  case Kind::BF16:
  case Kind::I16:
    return 2;
  case Kind::I1:
  case Kind::I8:
    return 1;
  case Kind::None:
    break;
  }
  return 0;
}

double roundToNarrow(Kind kind, double value) {
  switch (kind) {
  case Kind::F16:
    return roundTo(static_cast<float>(value), Storage::F16);
  case Kind::BF16:
    return roundTo(static_cast<float>(value), Storage::BF16);
  default:
    return value;
  }
}

int64_t wrapTo(Kind kind, int64_t value) {
  switch (kind) {
  case Kind::I1:
    return value & 1;
  case Kind::I8:
    return static_cast<int8_t>(value);
  case Kind::I16:
    return static_cast<int16_t>(value);
  case Kind::I32:
    return static_cast<int32_t>(value);
  default:
    return value;
  }
}

template <typename T> static T load(const uint8_t *memory) {
  T value;
  std::memcpy(&value, memory, sizeof value);
  return value;
}

template <typename T> static void store(uint8_t *memory, T value) {
  std::memcpy(memory, &value, sizeof value);
}

Lane readElement(Kind kind, const uint8_t *memory) {
  Lane lane;
  switch (kind) {
  case Kind::F64:
    lane.number = load<double>(memory);
    break;
  case Kind::F32:
    lane.number = load<float>(memory);
    break;
  case Kind::F16:
    lane.number = decode16(load<uint16_t>(memory), Storage::F16);
    break;
  case Kind::BF16:
    lane.number = decode16(load<uint16_t>(memory), Storage::BF16);
    break;
  case Kind::I1:
    lane.integer = load<uint8_t>(memory) & 1;
    break;
  case Kind::I8:
    lane.integer = load<int8_t>(memory);
    break;
  case Kind::I16:
    lane.integer = load<int16_t>(memory);
    break;
  case Kind::I32:
    lane.integer = load<int32_t>(memory);
    break;
  default:
    lane.integer = load<int64_t>(memory);
    break;
  }
  return lane;
}

void readElements(Kind kind, const uint8_t *memory,
                  MutableArrayRef<Lane> lanes) {
  if (kind == Kind::F32) {
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[i].number = load<float>(memory + i * sizeof(float));
    }
    return;
  }
  int64_t bytes = bytesOf(kind);
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i] = readElement(kind, memory + i * bytes);
  }
}

void writeElement(Kind kind, Lane lane, uint8_t *memory) {
  switch (kind) {
  case Kind::F64:
    return store(memory, lane.number);
  case Kind::F32:
    return store(memory, static_cast<float>(lane.number));
  case Kind::F16:
    return store(memory,
                 encode16(static_cast<float>(lane.number), Storage::F16));
  case Kind::BF16:
    return store(memory,
                 encode16(static_cast<float>(lane.number), Storage::BF16));
  case Kind::I1:
  case Kind::I8:
    return store(memory, static_cast<int8_t>(lane.integer));
  case Kind::I16:
    return store(memory, static_cast<int16_t>(lane.integer));
  case Kind::I32:
    return store(memory, static_cast<int32_t>(lane.integer));
  default:
    return store(memory, lane.integer);
  }
}

} // namespace hova
