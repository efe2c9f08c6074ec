//===- ScratchLayout.h - Buffers in the scratch of a thread -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_SCRATCHLAYOUT_H
#define HOVA_CODEGEN_CPU_RECIPES_SCRATCHLAYOUT_H

#include "llvm/Support/MathExtras.h"

namespace hova {

/// Offsets of buffers in scratch, one after the other at whole cache lines.
class ScratchLayout {
public:
  /// The offset of a buffer of `elements` f32.
  int64_t take(int64_t elements) {
    int64_t offset = bytes;
    bytes += llvm::alignTo(4 * elements, 64);
    return offset;
  }
  int64_t bytes = 0;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_SCRATCHLAYOUT_H
