//===- DeviceCall.h - Arguments of the fixture for a GPU --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_RUNTIME_CUDA_DEVICECALL_H
#define HOVA_TEST_RUNTIME_CUDA_DEVICECALL_H

#include "DeviceFixture.h"
#include "test/runtime/ImageChecksum.h"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

namespace hova::test {

/// Packed weights of which every one is 2, 3 and so on.
struct DeviceImage {
  static constexpr uint64_t kEnd =
      HOVA_IMAGE_HEADER_BYTES + DEVICE_WEIGHT_BYTES;
  static constexpr uint64_t kBytes = kEnd + sizeof(hova_image_trailer);
  alignas(64) char bytes[kBytes] = {};

  DeviceImage() {
    hova_image_header header = {};
    std::memcpy(header.magic, HOVA_IMAGE_MAGIC, 8);
    header.abi = HOVA_ABI_VERSION;
    header.header_bytes = HOVA_IMAGE_HEADER_BYTES;
    header.weight_bytes = DEVICE_WEIGHT_BYTES;
    std::strcpy(header.id, "0123abcd");
    std::memcpy(bytes, &header, sizeof header);
    for (int i = 0; i < DEVICE_WEIGHT_BYTES / 4; ++i) {
      const float w = 2 + static_cast<float>(i);
      std::memcpy(bytes + HOVA_IMAGE_HEADER_BYTES + 4 * i, &w, sizeof w);
    }
    hova_image_trailer trailer = sealOf(bytes, DEVICE_WEIGHT_BYTES);
    std::memcpy(bytes + kEnd, &trailer, sizeof trailer);
  }
};

/// Arguments of the fixture that are right until a test changes them.
struct DeviceCall {
  static constexpr std::array<int, DEVICE_ROWS> kOrder = {3, 0, 5, 1, 4, 2};
  alignas(64) float x[DEVICE_ROWS][DEVICE_COLUMNS];
  alignas(64) int64_t ids[DEVICE_ROWS] = {0, 1, 2, 9, 4, 7};
  alignas(64) float y[DEVICE_ROWS][DEVICE_COLUMNS];
  alignas(64) float first[DEVICE_COLUMNS];
  int64_t matrix[2] = {DEVICE_ROWS, DEVICE_COLUMNS};
  int64_t rows[1] = {DEVICE_ROWS}, columns[1] = {DEVICE_COLUMNS};
  hova_tensor inputs[2], outputs[2];

  DeviceCall() {
    for (int r = 0; r < DEVICE_ROWS; ++r) {
      for (int c = 0; c < DEVICE_COLUMNS; ++c) {
        x[r][c] = static_cast<float>(10 * r + c);
      }
    }
    clear();
    inputs[0] = hova_make_tensor("x", HOVA_F32, 2, matrix, x);
    inputs[1] = hova_make_tensor("ids", HOVA_I64, 1, rows, ids);
    outputs[0] = hova_make_tensor("y", HOVA_F32, 2, matrix, y);
    outputs[1] = hova_make_tensor("first", HOVA_F32, 1, columns, first);
  }
  void clear() {
    std::memset(y, 0x11, sizeof y);
    std::memset(first, 0x11, sizeof first);
  }
  float sum(int row, int column) const {
    return x[row][column] * 2 + static_cast<float>(ids[row]);
  }
  bool isRight() const {
    for (int c = 0; c < DEVICE_COLUMNS; ++c) {
      for (int r = 0; r < DEVICE_ROWS; ++r) {
        if (y[r][c] != sum(kOrder[static_cast<size_t>(r)], c)) {
          return false;
        }
      }
      if (first[c] != sum(0, c)) {
        return false;
      }
    }
    return true;
  }
  bool isUntouched() const {
    DeviceCall other;
    return std::memcmp(y, other.y, sizeof y) == 0 &&
           std::memcmp(first, other.first, sizeof first) == 0;
  }
};

/// A context, or why there is none.
struct DeviceContext {
  hova_context *context = nullptr;
  hova_status status;
  std::string message;

  explicit DeviceContext(const hova_program &program = hova_program_device,
                         hova_options options = {}) {
    static const DeviceImage image;
    char text[1280] = "";
    if (!options.image) {
      options.image = image.bytes;
      options.image_bytes = DeviceImage::kBytes;
    }
    options.message = text;
    options.message_bytes = sizeof text;
    status = hova_create(&program, &options, &context);
    message = text;
  }
  DeviceContext(const DeviceContext &) = delete;
  ~DeviceContext() { hova_destroy(context); }

  hova_status run(DeviceCall &call) {
    status = hova_run(context, call.inputs, call.outputs);
    message = hova_message(context);
    return status;
  }
};

} // namespace hova::test

#endif // HOVA_TEST_RUNTIME_CUDA_DEVICECALL_H
