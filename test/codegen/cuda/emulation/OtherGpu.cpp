//===- OtherGpu.cpp - A level that only tests know ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OtherGpu.h"

namespace hova::test {

static constexpr ProductTile kTiles[] = {{32, 32, 2, 1, 1.0, 1.0, 64, 2}};
static constexpr int64_t kProcessors[] = {3};

/// Less of everything than any that there is.
const GpuFacts &getOtherGpu() {
  static constexpr GpuFacts gpu = {"sm_87",
                                   87,
                                   /*isExact=*/false,
                                   "+ptx80",
                                   20 * 1024,
                                   42 * 1024,
                                   1024,
                                   8,
                                   kProcessors,
                                   /*cycleMacs16=*/256,
                                   /*cycleMacs32=*/32,
                                   /*flopsPerByte=*/100,
                                   kTiles,
                                   kTiles,
                                   kTiles[0],
                                   /*attentionBlocks=*/1};
  static const bool isKnown = [] {
    registerGpu(gpu);
    return true;
  }();
  return isKnown ? gpu : *getGpus().front();
}

} // namespace hova::test
