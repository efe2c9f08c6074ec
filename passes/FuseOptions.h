//===- FuseOptions.h - What the phase fuse is told of a target --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_FUSEOPTIONS_H
#define HOVA_PASSES_FUSEOPTIONS_H

#include <cstdint>
#include <string>

namespace hova {

/// What a target decides about the phase, and passes obey.
struct FuseOptions {
  /// The text of a FusionPolicyAttrInterface, since pipelines are built without
  /// a context. Empty: every legal join pays.
  std::string policy;
  /// Columns of a product at whose multiples a column group begins and ends,
  /// such as the width of a strip of a weight's columns.
  int64_t columnGroupWidth = 1;
};

} // namespace hova

#endif // HOVA_PASSES_FUSEOPTIONS_H
