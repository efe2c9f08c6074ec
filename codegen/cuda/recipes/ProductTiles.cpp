//===- ProductTiles.cpp - Which tile of a product a block computes --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A large tile reads little of shared memory for each product, and a small one
// leaves no multiprocessor idle. The time of a launch is that of the
// multiprocessor that has most blocks; no tile is best for one number of
// multiprocessors alone, so that those of an A100 and of an H100 count both.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/BlockWork.h"
#include "codegen/cuda/facts/Occupancy.h"
#include "codegen/cuda/facts/ProductFacts.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;

namespace hova {

int64_t productStep(Type element, int64_t inner, int64_t rowBytes) {
  int64_t columns = rowBytes / (element.getIntOrFloatBitWidth() / 8);
  return std::min(boxColumns(inner), std::max(columns, kSegment / 2));
}

/// Turns of f32 have at least 32 columns, and as many more bytes, for fewer of
/// which there is a place.
static int64_t stagesOf(const ProductTile &tile, Type element, int64_t step) {
  int64_t bytes = step * (element.getIntOrFloatBitWidth() / 8);
  return std::max<int64_t>(
      2, std::min(tile.stages, tile.stages * tile.rowBytes / bytes));
}

namespace {
/// What a launch computes, and in parts of `inner` each.
struct ProductSize {
  Type element;
  int64_t rows, inner, columns, parts = 1;
  /// Columns of a tile that take as long as what else is done to its rows.
  int64_t besideColumns = 0;
};
} // namespace

/// As many elements of a multiprocessor in a cycle as the largest tile reaches.
static double reachedMacs(const GpuFacts &gpu, Type element) {
  return kReachedShare *
         double(element.isF32() ? gpu.cycleMacs32 : gpu.cycleMacs16);
}

/// By the model, of `most` blocks of groups of warps on one multiprocessor:
/// their turns and their stores, of 16 bits.
static double modelledCycles(const GpuFacts &gpu, const ProductTile &tile,
                             const ProductSize &size, int64_t most) {
  double turnBytes = double((tile.rows + tile.columns) * tile.rowBytes);
  int64_t together = std::min(
      most, blocksByGroupMemory(gpu, tile.stages * int64_t(turnBytes)));
  bool isAlone = together * tile.warps() < kManyWarps;
  BlockWork turn, end;
  turn.addGroupProducts(double(tile.rows), double(tile.columns),
                        double(tile.rowBytes) / 2);
  turn.addCopy(turnBytes);
  end.addStore(double(tile.rows * tile.columns * 2));
  int64_t turns = llvm::divideCeil(size.inner * 2, tile.rowBytes);
  return double(most) *
             (double(turns) * turn.cycles(isAlone) + end.cycles(isAlone)) +
         double(most - 1) * kBlockCycles / double(together);
}

/// Cycles of the multiprocessors with most blocks, on average over the GPUs
/// that are counted on.
static double cyclesOf(const GpuFacts &gpu, const ProductTile &tile,
                       const ProductSize &size) {
  int64_t blocks = llvm::divideCeil(size.rows, tile.rows) *
                   llvm::divideCeil(size.columns, tile.columns) * size.parts;
  double sum = 0;
  for (int64_t processors : gpu.processors) {
    int64_t most = llvm::divideCeil(blocks, processors);
    sum += tile.isMeasured() ? most * (most == 1 ? tile.alone : tile.pressure)
                             : modelledCycles(gpu, tile, size, most);
  }
  double count = double(gpu.processors.size());
  return tile.isMeasured()
             ? sum * tile.rows * (tile.columns + size.besideColumns) / count *
                   double(size.inner) / reachedMacs(gpu, size.element)
             : sum / count;
}

static const ProductTile &chooseTile(const GpuFacts &gpu,
                                     const ProductSize &size,
                                     ArrayRef<ProductTile> tiles) {
  auto cycles = [&](const ProductTile &tile) {
    // A thread whose sums are half of its registers has none left to ask of
    // each of its columns whether it is there.
    bool isFull =
        tile.rows * tile.columns >= kHalfRegisters * kLanes * tile.warps() &&
        size.columns < tile.columns;
    return isFull ? std::numeric_limits<double>::infinity()
                  : cyclesOf(gpu, tile, size);
  };
  return *llvm::min_element(tiles,
                            [&](const ProductTile &a, const ProductTile &b) {
                              return cycles(a) < cycles(b);
                            });
}

static CudaScheduleAttr scheduleTile(const ProductTile &tile, Type element,
                                     int64_t inner, int64_t cluster = 1) {
  int64_t step = productStep(element, inner, tile.rowBytes);
  return CudaScheduleAttr::get(element.getContext(), tile.rows, tile.columns,
                               tile.rowWarps, tile.columnWarps, step,
                               stagesOf(tile, element, step), tile.underWay,
                               cluster);
}

/// Groups of warps multiply operands of 16 bits alone.
static ArrayRef<ProductTile> tilesFor(const GpuFacts &gpu, Type element) {
  return gpu.groupTiles.empty() || element.isF32() ? gpu.tiles : gpu.groupTiles;
}

CudaScheduleAttr scheduleProduct(const GpuFacts &gpu, Type element,
                                 int64_t rows, int64_t inner, int64_t columns,
                                 int64_t parts) {
  return scheduleTile(chooseTile(gpu, {element, rows, inner, columns, parts},
                                 tilesFor(gpu, element)),
                      element, inner);
}

CudaScheduleAttr scheduleInnerProduct(const GpuFacts &gpu, Type element,
                                      int64_t inner) {
  return scheduleTile(gpu.innerTile, element, inner);
}

/// As many stages as leave room for the rows of a block, their factors and a
/// stage of its results, for two blocks or one of eight warps; 0: none do.
static int64_t stagesBesideRows(const GpuFacts &gpu, const ProductTile &tile,
                                Type element, int64_t inner,
                                int64_t scaledColumns) {
  constexpr int64_t kFactorBytes = 4; // f32
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t step = productStep(element, inner, tile.rowBytes);
  int64_t factors = boxColumns(llvm::divideCeil(inner, scaledColumns));
  int64_t kept = tile.rows * (llvm::alignTo(inner, step) * bytes +
                              factors * kFactorBytes) +
                 kMmaRows * tile.rowWarps * tile.columns * 2;
  for (int64_t stages = tile.stages; stages > 1; --stages) {
    int64_t boxes = std::min(stages, llvm::divideCeilSigned(inner, step));
    int64_t blocks =
        blocksByGroupMemory(gpu, kept + boxes * tile.columns * step * bytes);
    if (blocks > 1 || blocks * tile.warps() >= kManyWarps) {
      return stages;
    }
  }
  return 0;
}

/// The tiles with room for the rows of a block, with as many stages as have.
static SmallVector<ProductTile> scaledTiles(const GpuFacts &gpu, Type element,
                                            int64_t inner,
                                            int64_t scaledColumns) {
  SmallVector<ProductTile> tiles;
  for (ProductTile tile : gpu.scaledTiles) {
    tile.stages = stagesBesideRows(gpu, tile, element, inner, scaledColumns);
    if (tile.stages != 0) {
      tiles.push_back(tile);
    }
  }
  return tiles;
}

/// Lanes have runs of columns of one factor.
bool canScaleProduct(const GpuFacts &gpu, Type element, int64_t inner,
                     int64_t scaledColumns) {
  return scaledColumns % kChunk == 0 &&
         !scaledTiles(gpu, element, inner, scaledColumns).empty();
}

CudaScheduleAttr scheduleScaledProduct(const GpuFacts &gpu, Type element,
                                       int64_t rows, int64_t inner,
                                       int64_t columns, int64_t scaledColumns) {
  SmallVector<ProductTile> tiles =
      scaledTiles(gpu, element, inner, scaledColumns);
  ProductSize size = {element, rows, inner, columns, 1, gpu.scalingColumns()};
  return scheduleTile(chooseTile(gpu, size, tiles), element, inner);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Of a block's sums, in f32, as a box has them.
static int64_t bytesOfSums(int64_t rows, int64_t columns) {
  return rows * columns * int64_t(sizeof(float));
}

bool canAddParts(const GpuFacts &gpu, CudaScheduleAttr schedule, Type element) {
  int64_t rows = schedule.getRows(), columns = schedule.getColumns();
  int64_t ring = schedule.getStages() * schedule.getStep() * (rows + columns) *
                 element.getIntOrFloatBitWidth() / 8;
  int64_t sums = bytesOfSums(rows, boxColumns(columns));
  return gpu.hasClusters &&
         rows % (schedule.getCluster() * schedule.warps()) == 0 &&
         columns % kLanes == 0 && ring + sums <= gpu.groupBytes;
}

/// The tile that is best for blocks of a cluster, and its cycles; no schedule
/// where none can be added.
static std::pair<CudaScheduleAttr, double>
bestInCluster(const GpuFacts &gpu, const ProductSize &size) {
  SmallVector<ProductTile> tiles;
  for (const ProductTile &tile : tilesFor(gpu, size.element)) {
    if (canAddParts(gpu,
                    scheduleTile(tile, size.element, size.inner, size.parts),
                    size.element)) {
      tiles.push_back(tile);
    }
  }
  if (tiles.empty()) {
    return {};
  }
  const ProductTile &tile = chooseTile(gpu, size, tiles);
  BlockWork sum;
  sum.addClusterSum(double(bytesOfSums(tile.rows, tile.columns)),
                    double(size.parts));
  return {scheduleTile(tile, size.element, size.inner, size.parts),
          cyclesOf(gpu, tile, size) + sum.cycles(/*isAlone=*/true)};
}

CudaScheduleAttr scheduleClusterProduct(const GpuFacts &gpu, Type element,
                                        int64_t rows, int64_t inner,
                                        int64_t columns, int64_t blocks) {
  return bestInCluster(gpu, {element, rows, inner / blocks, columns, blocks})
      .first;
}

CudaScheduleAttr chooseClusterProduct(const GpuFacts &gpu, Type element,
                                      int64_t rows, int64_t inner,
                                      int64_t columns, int64_t unit) {
  ProductSize whole = {element, rows, inner, columns};
  double least =
      kClusterShare *
      cyclesOf(gpu, chooseTile(gpu, whole, tilesFor(gpu, element)), whole);
  int64_t step = std::lcm(productStep(element, inner), unit);
  CudaScheduleAttr best;
  for (int64_t blocks = 2; blocks <= kMostClusterBlocks; blocks *= 2) {
    if (inner % (blocks * step) != 0) {
      continue;
    }
    auto [schedule, cycles] =
        bestInCluster(gpu, {element, rows, inner / blocks, columns, blocks});
    if (schedule && cycles < least) {
      best = schedule;
      least = cycles;
    }
  }
  return best;
}

int64_t chooseProductParts(const GpuFacts &gpu, Type element, int64_t rows,
                           int64_t inner, int64_t columns, bool sumsAreFree,
                           int64_t unit) {
  auto cyclesWith = [&](int64_t parts) {
    ProductSize size = {element, rows, inner / parts, columns, parts};
    const ProductTile &tile = chooseTile(gpu, size, tilesFor(gpu, element));
    double cycles = cyclesOf(gpu, tile, size) + kBlockCycles;
    double moved = 2.0 * 4 * double(parts * rows * columns); // f32, twice
    return parts == 1 ? cycles : cycles + moved / kCacheBytesOfCycle;
  };
  // Twice the cost of a launch, since what an A100 takes was not measured.
  double most = cyclesWith(1) - (sumsAreFree ? 0 : 2 * kLaunchCycles);
  int64_t best = 1, step = std::lcm(productStep(element, inner), unit);
  for (int64_t parts = 2; parts <= kMostProductParts; ++parts) {
    if (inner % (parts * step) == 0 && cyclesWith(parts) < most) {
      best = parts;
      most = cyclesWith(parts);
    }
  }
  return best;
}

} // namespace hova
