//===- SparseLayout.cpp - Sizes of attention to few blocks ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/SparseLayout.h"

namespace hova {

int64_t SparseLayout::countPairs(int64_t own) const {
  bool isGlobal = own == 0 || own == blocks - 1;
  int64_t candidates = causal ? std::max<int64_t>(own - 2, 0) : random;
  int64_t drawn = isGlobal ? 0 : std::min(random, candidates);
  int64_t length = lengthOf(own), pairs = 0;
  for (int64_t from = 0; from < length; from += lanes) {
    int64_t rows = std::min(length - from, lanes);
    int64_t last = own * block + from + rows - 1, keys = 0;
    for (int64_t seen : alwaysSeenBlocks(own, blocks)) {
      bool isLater = causal && seen * block / causal > last / causal;
      keys += isLater ? 0 : lengthOf(seen);
    }
    pairs += rows * (keys + drawn * block);
  }
  return pairs;
}

} // namespace hova
