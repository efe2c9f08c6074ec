//===- ImageChecksum.h - Checksums of images that tests make ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_RUNTIME_IMAGECHECKSUM_H
#define HOVA_TEST_RUNTIME_IMAGECHECKSUM_H

#include "runtime/hova_runtime.h"

#include <cstring>

namespace hova::test {

/// CRC-32, a bit at a time, as its definition says.
inline uint32_t crc32(const void *data, uint64_t size) {
  uint32_t crc = ~0u;
  for (uint64_t i = 0; i < size; ++i) {
    crc ^= static_cast<const uint8_t *>(data)[i];
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
  }
  return ~crc;
}

/// The end of an image of `weight_bytes` at `image`.
inline hova_image_trailer sealOf(const void *image, uint64_t weightBytes) {
  auto bytes = static_cast<const char *>(image);
  hova_image_trailer trailer = {};
  std::memcpy(trailer.magic, HOVA_IMAGE_END, sizeof trailer.magic);
  trailer.header_checksum = crc32(bytes, HOVA_IMAGE_HEADER_BYTES);
  trailer.weight_checksum = crc32(bytes + HOVA_IMAGE_HEADER_BYTES, weightBytes);
  return trailer;
}

} // namespace hova::test

#endif // HOVA_TEST_RUNTIME_IMAGECHECKSUM_H
