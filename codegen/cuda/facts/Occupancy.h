//===- Occupancy.h - Blocks that a multiprocessor holds at once -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A multiprocessor holds as many blocks of a kernel as it has threads,
// registers and shared memory for. With fewer than two or three, nobody works
// while all wait for memory. Here is NVIDIA's calculation (cuda_occupancy.h,
// which a test compares with), and which of the three it is.

#ifndef HOVA_CODEGEN_CUDA_FACTS_OCCUPANCY_H
#define HOVA_CODEGEN_CUDA_FACTS_OCCUPANCY_H

#include "codegen/cuda/facts/GpuFacts.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace hova {

/// What a block takes of a multiprocessor.
struct BlockNeeds {
  int64_t threads = 0;
  int64_t groupBytes = 0;           ///< of shared memory, all of it
  std::optional<int64_t> registers; ///< of a thread; none: unknown
};

struct Occupancy {
  int64_t blocks = 0;
  /// What a further block is short of: "threads", "registers", "shared memory"
  /// or "blocks", of which there are never more.
  std::vector<std::string> limits;
};

/// Blocks whose warps find registers.
inline int64_t blocksByRegisters(const GpuFacts &gpu, int64_t registers,
                                 int64_t warps) {
  if (registers == 0) {
    return gpu.processorBlocks;
  }
  int64_t ofWarp = llvm::alignTo(registers * kLanes, kRegisterPiece);
  int64_t ofPart = kProcessorRegisters / kProcessorParts / ofWarp;
  return ofPart * kProcessorParts / warps;
}

/// Blocks that find shared memory.
inline int64_t blocksByGroupMemory(const GpuFacts &gpu, int64_t bytes) {
  return bytes > gpu.groupBytes
             ? 0
             : gpu.processorGroupBytes /
                   int64_t(
                       llvm::alignTo(bytes + kReservedGroupBytes, kGroupPiece));
}

/// Where registers are unknown, it is as if they were never short.
inline Occupancy getOccupancy(const GpuFacts &gpu, const BlockNeeds &needs) {
  int64_t warps = llvm::divideCeil(needs.threads, kLanes);
  struct Limit {
    const char *name;
    int64_t blocks;
  };
  std::vector<Limit> limits = {
      {"threads", gpu.processorThreads / kLanes / warps},
      {"shared memory", blocksByGroupMemory(gpu, needs.groupBytes)},
      {"blocks", gpu.processorBlocks}};
  if (needs.registers) {
    limits.insert(
        limits.begin() + 1,
        {"registers", blocksByRegisters(gpu, *needs.registers, warps)});
  }
  Occupancy result;
  result.blocks = std::min_element(limits.begin(), limits.end(),
                                   [](const Limit &a, const Limit &b) {
                                     return a.blocks < b.blocks;
                                   })
                      ->blocks;
  for (const Limit &limit : limits) {
    if (limit.blocks == result.blocks) {
      result.limits.push_back(limit.name);
    }
  }
  return result;
}

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_FACTS_OCCUPANCY_H
