//===- WeightImage.cpp - The file of packed weights -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/WeightImage.h"

#include "runtime/hova_runtime.h"

#include <algorithm>
#include <cstring>

namespace hova {

uint64_t getWeightImageBytes(const WeightImageInfo &info) {
  return HOVA_IMAGE_HEADER_BYTES + info.weightBytes;
}

llvm::Error writeWeightImage(llvm::raw_ostream &os, const WeightImageInfo &info,
                             WriteFunction writeData) {
  hova_image_header header = {};
  if (info.id.size() >= sizeof header.id) {
    return llvm::createStringError(
        std::errc::invalid_argument,
        "expects an image id below %zu bytes, got %zu", sizeof header.id,
        info.id.size());
  }
  std::memcpy(header.magic, HOVA_IMAGE_MAGIC, sizeof header.magic);
  header.abi = HOVA_ABI_VERSION;
  header.header_bytes = HOVA_IMAGE_HEADER_BYTES;
  header.weight_bytes = info.weightBytes;
  std::memcpy(header.id, info.id.data(), info.id.size());
  std::memcpy(header.model, info.model.data(),
              std::min(info.model.size(), sizeof header.model - 1));
  os.write(reinterpret_cast<const char *>(&header), sizeof header);
  os.write_zeros(HOVA_IMAGE_HEADER_BYTES - sizeof header);
  uint64_t begin = os.tell();
  if (llvm::Error error = writeData(os)) {
    return error;
  }
  uint64_t written = os.tell() - begin;
  if (written != info.weightBytes) {
    return llvm::createStringError(
        std::errc::invalid_argument,
        "expects %llu bytes of weights in the image, got %llu",
        (unsigned long long)info.weightBytes, (unsigned long long)written);
  }
  return llvm::Error::success();
}

} // namespace hova
