//===- FusionPolicy.h - Which joins pay on a target -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `fuse` knows which operations may share a kernel; the target knows which
// should. Without a target every legal join pays.

#ifndef HOVA_PASSES_FUSE_FUSIONPOLICY_H
#define HOVA_PASSES_FUSE_FUSIONPOLICY_H

#include <cstdint>

namespace hova {

struct FusionPolicy {
  /// Products of fewer rows than this divide their columns among threads...
  int64_t fewRows = 0;
  /// ...if they have this many multiply-accumulates at least.
  int64_t leastMacs = 0;
  /// Columns of a product at whose multiples a column group begins and ends,
  /// such as the width of a weight panel.
  int64_t columnGroupWidth = 1;
  /// Where a kernel has fewer units than this, a dim that may be divided
  /// besides (the queries of an attention) is cut into blocks...
  int64_t fewUnits = 0;
  /// ...of this many elements at least.
  int64_t leastBlock = 1;
  /// Tokens of a block of a sum over tokens that is divided among units, at
  /// most.
  int64_t blockTokens = 64;
};

} // namespace hova

#endif // HOVA_PASSES_FUSE_FUSIONPOLICY_H
