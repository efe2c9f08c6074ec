//===- BlockWork.h - What a block does between two waits --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The model of times counts it from the operations of a kernel, and the choice
// of a tile for groups of warps before there are any, by the same figures
// (docs/rationale/modelled-times.md).

#ifndef HOVA_CODEGEN_CUDA_BLOCKWORK_H
#define HOVA_CODEGEN_CUDA_BLOCKWORK_H

#include "codegen/cuda/WgmmaFacts.h"
#include "codegen/cuda/facts/ModelFacts.h"
#include <algorithm>

namespace hova {

/// Cycles of the parts of a multiprocessor, which work side by side.
struct BlockWork {
  double products = 0, issued = 0, special = 0, shared = 0, outside = 0;
  /// Whether warps go on while tensor cores multiply.
  bool isUnderWay = false;

  /// Copies by cp.async: an address and a copy of each chunk.
  void addCopy(double bytes) {
    shared += bytes / kSharedBytesOfCycle;
    outside += bytes / kCopiedBytesOfCycle;
    issued += 2 * bytes / double(kChunkBytes * kLanes * kProcessorParts);
  }

  /// Products of groups of warps, each of which reads its rows and all columns,
  /// in 16 bits, from shared memory.
  void addGroupProducts(double rows, double columns, double depth) {
    constexpr double kBytes = 2 * kWgmmaDepth; // of a row
    double count = rows / kWgmmaRows * depth / kWgmmaDepth;
    isUnderWay = true;
    products += count * columns / 2;
    shared += count * (kWgmmaRows + columns) * kBytes / kSharedBytesOfCycle;
    issued += count * kBesideGroupProduct;
  }

  /// The sum of the tiles of all blocks of a cluster, of so many bytes each: a
  /// block writes its own and reads a share of all.
  void addClusterSum(double bytes, double blocks) {
    shared += 2 * bytes / kSharedBytesOfCycle;
    outside += bytes * (blocks - 1) / blocks / kClusterBytesOfCycle +
               2 * kMeetingCycles;
  }

  void addStore(double bytes) { outside += bytes / kStoredBytesOfCycle; }

  /// Of a block that is alone on its multiprocessor, or beside others.
  double cycles(bool isAlone) const {
    double longest = std::max({products, issued, special, shared, outside});
    double others = products + issued + special + shared + outside - longest;
    double share = isUnderWay ? isAlone ? kUnderWayAlone : kUnderWayBeside
                   : isAlone  ? kOthersAlone
                              : kOthersBeside;
    return longest + share * others;
  }
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_BLOCKWORK_H
