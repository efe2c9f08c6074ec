//===- ProductTiles.cpp - Which tile of a product a block computes --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A large tile reads little of shared memory for each product, and a small one
// leaves no multiprocessor idle. The time of a launch is that of the
// multiprocessor that has most blocks; no tile is best for one number of
// multiprocessors alone, so that those of an A100 and of an H100 count both.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

int64_t productStep(Type element, int64_t inner) {
  // A part of f32 has half the columns, and as many bytes.
  return std::min(boxColumns(inner), element.isF32() ? kSegment / 2 : kSegment);
}

namespace {
struct ProductTile {
  int64_t rows, columns;
  /// Time of an element, where that of a tensor core without pause is 1: what
  /// the main loop reads and copies in shared memory, as counted in machine
  /// code (docs/rationale/gpu-main-loops.md).
  double pressure;
  /// The same for a block that has a multiprocessor to itself: nobody works
  /// while its four warps wait. Assumed, and not measured.
  double alone;
};
} // namespace

/// On 2 x 2 warps; of equal times the first is taken.
static constexpr ProductTile kTiles[] = {{128, 128, 1.0, 1.0},
                                         {64, 128, 1.12, 1.4},
                                         {128, 64, 1.12, 1.4},
                                         {64, 64, 1.5, 2.15}};

static double timeOf(const ProductTile &tile, int64_t rows, int64_t columns) {
  int64_t blocks = llvm::divideCeil(rows, tile.rows) *
                   llvm::divideCeil(columns, tile.columns);
  double time = 0;
  for (int64_t processors : kProcessors) {
    int64_t most = llvm::divideCeil(blocks, processors);
    time += most * (most == 1 ? tile.alone : tile.pressure);
  }
  return time * tile.rows * tile.columns;
}

CudaScheduleAttr scheduleProduct(Type element, int64_t rows, int64_t inner,
                                 int64_t columns) {
  const ProductTile *best = llvm::min_element(
      kTiles, [&](const ProductTile &a, const ProductTile &b) {
        return timeOf(a, rows, columns) < timeOf(b, rows, columns);
      });
  return CudaScheduleAttr::get(element.getContext(), best->rows, best->columns,
                               2, 2, productStep(element, inner),
                               kProductStages);
}

} // namespace hova
