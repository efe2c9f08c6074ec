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
#include <numeric>

using namespace mlir;

namespace hova {

int64_t productStep(Type element, int64_t inner) {
  // A part of f32 has half the columns, and as many bytes.
  return std::min(boxColumns(inner), element.isF32() ? kSegment / 2 : kSegment);
}

namespace {
struct ProductTile {
  int64_t rows, columns;
  /// Time of an element, where that of the largest tile is 1, as measured on an
  /// H100 (docs/rationale/gpu-measured.md): the smaller a tile, the more its
  /// main loop reads of shared memory.
  double pressure;
  /// The same for a block that has a multiprocessor to itself: nobody works
  /// while its four warps wait.
  double alone;
};
} // namespace

/// On 2 x 2 warps; of equal times the first is taken. Measured with operands of
/// 16 bits; those of f32 go by the same.
static constexpr ProductTile kTiles[] = {{128, 128, 1.0, 1.07},
                                         {64, 128, 1.18, 1.32},
                                         {128, 64, 1.18, 1.38},
                                         {64, 64, 1.35, 1.68}};

/// The time of multiprocessors with most blocks, of all that are counted on,
/// for one step of k.
static double timeOf(const ProductTile &tile, int64_t rows, int64_t columns,
                     int64_t parts) {
  int64_t blocks = llvm::divideCeil(rows, tile.rows) *
                   llvm::divideCeil(columns, tile.columns) * parts;
  double time = 0;
  for (int64_t processors : kProcessors) {
    int64_t most = llvm::divideCeil(blocks, processors);
    time += most * (most == 1 ? tile.alone : tile.pressure);
  }
  return time * tile.rows * tile.columns;
}

static const ProductTile &chooseTile(int64_t rows, int64_t columns,
                                     int64_t parts,
                                     ArrayRef<ProductTile> tiles = kTiles) {
  return *llvm::min_element(tiles, [&](const ProductTile &a,
                                       const ProductTile &b) {
    return timeOf(a, rows, columns, parts) < timeOf(b, rows, columns, parts);
  });
}

CudaScheduleAttr scheduleProduct(Type element, int64_t rows, int64_t inner,
                                 int64_t columns, int64_t parts) {
  const ProductTile &best = chooseTile(rows, columns, parts);
  return CudaScheduleAttr::get(element.getContext(), best.rows, best.columns, 2,
                               2, productStep(element, inner), kProductStages);
}

/// Parts end where the columns of a factor do.
static int64_t scaledStep(Type element, int64_t inner, int64_t scaledColumns) {
  int64_t step = productStep(element, inner);
  return scaledColumns % step ? kSegment / 2 : step;
}

bool canScaleProduct(Type element, int64_t inner, int64_t scaledColumns) {
  constexpr int64_t kMostFactors = 32; // a row of the least box
  return scaledColumns % scaledStep(element, inner, scaledColumns) == 0 &&
         inner / scaledColumns <= kMostFactors;
}

CudaScheduleAttr scheduleScaledProduct(Type element, int64_t rows,
                                       int64_t inner, int64_t columns,
                                       int64_t scaledColumns) {
  // Of the largest tile no registers are left for what a part adds.
  const ProductTile &best =
      chooseTile(rows, columns, 1, ArrayRef(kTiles).drop_front());
  return CudaScheduleAttr::get(element.getContext(), best.rows, best.columns, 2,
                               2, scaledStep(element, inner, scaledColumns),
                               kProductStages);
}

// In cycles: the first copies of a block and its stores, and a launch after
// another; both together are 2 microseconds, as on an H100.
static constexpr double kBlockCycles = 1200, kLaunchCycles = 2800;
/// What the largest tile reaches of the multiply-adds of tensor cores.
static constexpr double kReached = 0.8;
/// Bytes that are moved to and from the second cache in a cycle. Assumed: a
/// fifth of what an A100 has, since a kernel of rows has few blocks.
static constexpr double kCycleBytes = 1024;
static constexpr int64_t kMostParts = 8;

int64_t chooseProductParts(Type element, int64_t rows, int64_t inner,
                           int64_t columns, bool sumsAreFree, int64_t unit) {
  double macs =
      kReached * double(element.isF32() ? kCycleMacs32 : kCycleMacs16);
  auto cyclesOf = [&](int64_t parts) {
    const ProductTile &tile = chooseTile(rows, columns, parts);
    double time =
        timeOf(tile, rows, columns, parts) / double(std::size(kProcessors));
    double own = time * double(inner / parts) / macs + kBlockCycles;
    double moved = 2.0 * 4 * double(parts * rows * columns); // f32, twice
    return parts == 1 ? own : own + moved / kCycleBytes;
  };
  // Twice the cost of a launch, since what an A100 takes was not measured.
  double most = cyclesOf(1) - (sumsAreFree ? 0 : 2 * kLaunchCycles);
  int64_t best = 1, step = std::lcm(productStep(element, inner), unit);
  for (int64_t parts = 2; parts <= kMostParts; ++parts) {
    if (inner % (parts * step) == 0 && cyclesOf(parts) < most) {
      best = parts;
      most = cyclesOf(parts);
    }
  }
  return best;
}

} // namespace hova
