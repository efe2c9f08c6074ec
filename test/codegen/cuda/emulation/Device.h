//===- Device.h - Runs kernels given as text, for tests ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_CODEGEN_CUDA_EMULATION_DEVICE_H
#define HOVA_TEST_CODEGEN_CUDA_EMULATION_DEVICE_H

#include "codegen/cuda/lower/EmulatedModule.h"
#include "runtime/emulation/Emulation.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hova::test {

/// Global memory of a launch, aligned as a device's is.
class Buffer {
public:
  Buffer(std::string name, hova_emulation_use use, size_t bytes)
      : name(std::move(name)), use(use), bytes(bytes),
        data(std::aligned_alloc(256, (bytes / 256 + 1) * 256)) {
    std::memset(data, 0xAB, bytes);
  }
  template <typename T>
  Buffer(std::string name, hova_emulation_use use, const std::vector<T> &values)
      : Buffer(std::move(name), use, values.size() * sizeof(T)) {
    std::memcpy(data, values.data(), bytes);
  }
  Buffer(Buffer &&other) noexcept
      : name(std::move(other.name)), use(other.use), bytes(other.bytes),
        data(other.data), settled(other.settled) {
    other.data = nullptr;
  }
  ~Buffer() { std::free(data); }

  template <typename T> std::vector<T> values() const {
    const T *first = static_cast<const T *>(data);
    return {first, first + bytes / sizeof(T)};
  }
  hova_emulation_buffer describe() const {
    return {name.c_str(), data, bytes, use, 0, 0, settled};
  }

  std::string name;
  hova_emulation_use use;
  size_t bytes;
  void *data;
  bool settled = false;
};

struct Shape {
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {32, 1, 1};
  uint32_t sharedBytes = 0;
  uint64_t seed = 0;
  hova_emulation_copies copies = HOVA_EMULATION_EARLY;
  hova_emulation_sums sums = HOVA_EMULATION_IN_ORDER;
  hova_emulation_approximations approximations = HOVA_EMULATION_NEAREST;
  bool countsAccesses = false;
  uint64_t mostTurns = 0;
  bool overlaps = false;
};

using Bytes = std::vector<char>;

/// Kernels of a module in the LLVM and NVVM dialects.
class Device {
public:
  /// What is wrong with the text, as the compiler says it, is in `errors`.
  explicit Device(llvm::StringRef text);

  /// Launches a kernel on all buffers; the report's message is empty when there
  /// was no fault, and no device computed other bits. What a device left of
  /// each buffer is in `left`, if it is given; it stays empty without a device.
  hova_emulation_report run(llvm::StringRef kernel, const Shape &shape,
                            llvm::ArrayRef<Buffer> buffers,
                            std::vector<Bytes> *left = nullptr) const;

  std::string errors;
  std::optional<EmulatedModule> module;

private:
  hova_emulation_report emulateLaunch(llvm::StringRef kernel,
                                      const Shape &shape,
                                      llvm::ArrayRef<Buffer> buffers) const;
  std::string compareWithDriver(llvm::StringRef kernel, Shape shape,
                                llvm::ArrayRef<Buffer> emulated,
                                std::vector<Bytes> before,
                                std::vector<Bytes> *left) const;

  /// What the GPU that the kernels are for gives to a block.
  uint32_t mostShared = 0;
  /// Where HOVA_TEST_DRIVER is set (DriverDevice.h).
  std::string ptx;
};

} // namespace hova::test

#endif // HOVA_TEST_CODEGEN_CUDA_EMULATION_DEVICE_H
