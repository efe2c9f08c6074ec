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
  /// Columns of a product that belong together, such as those of one weight
  /// panel: a value of its own is made of whole groups.
  int64_t columnGroup = 1;
};

} // namespace hova

#endif // HOVA_PASSES_FUSE_FUSIONPOLICY_H
