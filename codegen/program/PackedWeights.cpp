//===- PackedWeights.cpp - The file of packed weights ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/PackedWeights.h"

#include "runtime/hova_runtime.h"
#include "llvm/Support/CRC.h"

#include <algorithm>
#include <cstring>

namespace hova {

namespace {
/// Passes on what is written and keeps its checksum: the output may be a pipe,
/// and the weights are in memory one at a time.
class ChecksumStream final : public llvm::raw_ostream {
public:
  explicit ChecksumStream(llvm::raw_ostream &os) : os(os), begin(os.tell()) {
    SetBufferSize(1 << 16);
  }
  ~ChecksumStream() override { flush(); }

  uint32_t finish() {
    flush();
    return checksum;
  }

private:
  void write_impl(const char *data, size_t size) override {
    checksum = llvm::crc32(
        checksum,
        llvm::ArrayRef(reinterpret_cast<const uint8_t *>(data), size));
    os.write(data, size);
  }
  uint64_t current_pos() const override { return os.tell() - begin; }

  llvm::raw_ostream &os;
  uint64_t begin;
  uint32_t checksum = 0;
};
} // namespace

uint64_t getPackedWeightsBytes(const PackedWeightsInfo &info) {
  return HOVA_IMAGE_HEADER_BYTES + info.weightBytes +
         sizeof(hova_image_trailer);
}

llvm::Error writePackedWeights(llvm::raw_ostream &os,
                               const PackedWeightsInfo &info,
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
  hova_image_trailer trailer = {};
  std::memcpy(trailer.magic, HOVA_IMAGE_END, sizeof trailer.magic);
  ChecksumStream head(os);
  head.write(reinterpret_cast<const char *>(&header), sizeof header);
  head.write_zeros(HOVA_IMAGE_HEADER_BYTES - sizeof header);
  trailer.header_checksum = head.finish();
  ChecksumStream data(os);
  if (llvm::Error error = writeData(data)) {
    return error;
  }
  uint64_t written = data.tell();
  trailer.weight_checksum = data.finish();
  if (written != info.weightBytes) {
    return llvm::createStringError(
        std::errc::invalid_argument,
        "expects %llu bytes of weights in the image, got %llu",
        (unsigned long long)info.weightBytes, (unsigned long long)written);
  }
  os.write(reinterpret_cast<const char *>(&trailer), sizeof trailer);
  return llvm::Error::success();
}

} // namespace hova
