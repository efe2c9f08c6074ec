//===- Gpus.cpp - A row of figures for each level of GPUs -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Limits are those of NVIDIA's CUDA C++ programming guide (compute
// capabilities); a test compares them with NVIDIA's calculator. Rates are those
// of data sheets, of products with sums of f32.

#include "codegen/cuda/facts/GpuFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hova {

//===----------------------------------------------------------------------===//
// 163 KiB of shared memory and more
//===----------------------------------------------------------------------===//

/// As measured on an H100 (docs/rationale/gpu-measured.md).
static constexpr ProductTile largeTiles[] = {{128, 128, 2, 2, 1.0, 1.07},
                                             {64, 128, 2, 2, 1.18, 1.32},
                                             {128, 64, 2, 2, 1.18, 1.38},
                                             {64, 64, 2, 2, 1.35, 1.68}};

/// Not measured but for the first two: others have the warps of 64x64, and
/// eight of these do not wait alone.
static constexpr ProductTile largeScaledTiles[] = {{64, 128, 2, 2, 1.18, 1.32},
                                                   {64, 64, 2, 2, 1.35, 1.68},
                                                   {32, 128, 1, 4, 1.35, 1.68},
                                                   {32, 256, 1, 8, 1.35, 1.35},
                                                   {64, 128, 2, 4, 1.35, 1.35}};

static constexpr ProductTile largeInnerTile = {64, 64, 4, 1, 1.35, 1.68};

/// A warp has 16 rows, and all columns. Products of a turn are under way while
/// the next one is waited for.
static constexpr ProductTile groupTile(int64_t rows, int64_t columns,
                                       int64_t stages = 3) {
  ProductTile tile = {rows, columns, rows / kMmaRows, 1};
  tile.stages = stages;
  tile.underWay = 1;
  return tile;
}

/// An A100 and an H100 (SXM), which run the same code.
static constexpr int64_t processorsOf80[] = {108, 132};
static constexpr int64_t processorsOf90[] = {132};

/// 312 TFLOP/s against 1.6 TB/s.
static constexpr GpuFacts sm80 = {"sm_80",
                                  80,
                                  /*isExact=*/false,
                                  "+ptx80",
                                  163 * 1024,
                                  164 * 1024,
                                  2048,
                                  32,
                                  processorsOf80,
                                  /*cycleMacs16=*/1024,
                                  /*cycleMacs32=*/64,
                                  /*flopsPerByte=*/195,
                                  largeTiles,
                                  largeScaledTiles,
                                  largeInnerTile,
                                  /*attentionBlocks=*/1,
                                  /*groupTiles=*/{},
                                  /*overlapsLaunches=*/false,
                                  /*hasClusters=*/false,
                                  /*leastRowsOfBlock=*/kRowsOfBlock,
                                  /*modelledAs=*/"sm_90a"};

/// Nothing of these is measured: how long they take, the model says
/// (codegen/cuda/BlockWork.h).
static constexpr ProductTile groupTiles[] = {
    groupTile(128, 256), groupTile(128, 224), groupTile(128, 192),
    groupTile(128, 160), groupTile(128, 128), groupTile(128, 96),
    groupTile(64, 256),  groupTile(64, 224),  groupTile(64, 192),
    groupTile(64, 160),  groupTile(64, 128),  groupTile(64, 96),
    groupTile(64, 64, 4)};

/// An H100 (SXM) has 989 TFLOP/s against 3.35 TB/s, and mma.sync reaches what
/// an A100 has in a cycle: tiles of groups of warps are compared with that. It
/// keeps 1,755 MHz in large products and gets 8.1 TB/s from its second cache.
static constexpr GpuFacts sm90a = {"sm_90a",
                                   90,
                                   /*isExact=*/true,
                                   "+ptx80",
                                   227 * 1024,
                                   228 * 1024,
                                   2048,
                                   32,
                                   processorsOf90,
                                   /*cycleMacs16=*/1024,
                                   /*cycleMacs32=*/128,
                                   /*flopsPerByte=*/295,
                                   largeTiles,
                                   largeScaledTiles,
                                   largeInnerTile,
                                   /*attentionBlocks=*/1,
                                   groupTiles,
                                   /*overlapsLaunches=*/true,
                                   /*hasClusters=*/true,
                                   /*leastRowsOfBlock=*/2,
                                   /*modelledAs=*/"sm_90a",
                                   /*cyclesOfTime=*/1755,
                                   /*bytesOfTime=*/8.1e6};

//===----------------------------------------------------------------------===//
// 99 KiB of shared memory
//===----------------------------------------------------------------------===//

// Nothing here is measured. Tensor cores take twice as long for a product as
// those of 8.0, while shared memory is as fast, so that small tiles lose half
// as much. Slots are so few and small that a multiprocessor has two blocks, or
// one of eight warps, with what they stage before they store it.

static constexpr ProductTile smallTiles[] = {
    {128, 128, 2, 4, 1.09, 1.09, 64, 4},
    {64, 128, 2, 2, 1.09, 1.16, 64, 3},
    {128, 64, 2, 2, 1.09, 1.19, 64, 3},
    {64, 64, 2, 2, 1.18, 1.34, 128, 2}};

static constexpr ProductTile smallScaledTiles[] = {{64, 64, 2, 2, 1.18, 1.34},
                                                   {32, 128, 1, 4, 1.18, 1.34},
                                                   {32, 256, 1, 8, 1.18, 1.18},
                                                   {64, 128, 2, 4, 1.18, 1.18},
                                                   {16, 128, 1, 8, 1.35, 1.35}};

static constexpr ProductTile smallInnerTile = {64,   64,   4,   1,
                                               1.18, 1.34, 128, 2};

/// An L4, an A10 and an L40S: code for 8.6 runs on 8.9 and 12.0.
static constexpr int64_t processorsOf86[] = {58, 72, 142};
/// An L4 and an L40S.
static constexpr int64_t processorsOf89[] = {58, 142};
/// A GeForce RTX 5090 and an RTX PRO 6000.
static constexpr int64_t processorsOf120[] = {170, 188};

/// An A10: 125 TFLOP/s against 600 GB/s.
static constexpr GpuFacts sm86 = {"sm_86",
                                  86,
                                  /*isExact=*/false,
                                  "+ptx80",
                                  99 * 1024,
                                  100 * 1024,
                                  1536,
                                  16,
                                  processorsOf86,
                                  /*cycleMacs16=*/512,
                                  /*cycleMacs32=*/128,
                                  /*flopsPerByte=*/208,
                                  smallTiles,
                                  smallScaledTiles,
                                  smallInnerTile,
                                  /*attentionBlocks=*/2};

/// An L40S: 362 TFLOP/s against 864 GB/s.
static constexpr GpuFacts sm89 = {"sm_89",
                                  89,
                                  /*isExact=*/false,
                                  "+ptx80",
                                  99 * 1024,
                                  100 * 1024,
                                  1536,
                                  24,
                                  processorsOf89,
                                  /*cycleMacs16=*/512,
                                  /*cycleMacs32=*/128,
                                  /*flopsPerByte=*/419,
                                  smallTiles,
                                  smallScaledTiles,
                                  smallInnerTile,
                                  /*attentionBlocks=*/2};

/// An RTX PRO 6000: 504 TFLOP/s against 1.79 TB/s.
static constexpr GpuFacts sm120 = {"sm_120",
                                   120,
                                   /*isExact=*/false,
                                   "+ptx87",
                                   99 * 1024,
                                   100 * 1024,
                                   1536,
                                   24,
                                   processorsOf120,
                                   /*cycleMacs16=*/512,
                                   /*cycleMacs32=*/128,
                                   /*flopsPerByte=*/281,
                                   smallTiles,
                                   smallScaledTiles,
                                   smallInnerTile,
                                   /*attentionBlocks=*/2,
                                   /*groupTiles=*/{},
                                   /*overlapsLaunches=*/true,
                                   /*hasClusters=*/true};

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static SmallVector<const GpuFacts *> &rows() {
  static SmallVector<const GpuFacts *> rows = {&sm80, &sm86, &sm89, &sm90a,
                                               &sm120};
  return rows;
}

ArrayRef<const GpuFacts *> getGpus() { return rows(); }

const GpuFacts *findGpu(StringRef name) {
  auto found =
      find_if(rows(), [&](const GpuFacts *row) { return row->name == name; });
  return found == rows().end() ? nullptr : *found;
}

std::string getGpuNames() {
  return join(map_range(rows(), [](const GpuFacts *row) { return row->name; }),
              ", ");
}

void registerGpu(const GpuFacts &gpu) {
  assert(!findGpu(gpu.name) && "a level has one row");
  auto after = find_if(rows(), [&](const GpuFacts *row) {
    return row->capability > gpu.capability;
  });
  rows().insert(after, &gpu);
}

/// The code of the second runs where there is less shared memory than the first
/// takes.
static constexpr StringLiteral kDefaultGpus = "sm_80,sm_86";

Expected<SmallVector<const GpuFacts *>> resolveGpus(StringRef names) {
  SmallVector<const GpuFacts *> gpus;
  for (StringRef name :
       split(names.empty() ? StringRef(kDefaultGpus) : names, ',')) {
    const GpuFacts *gpu = findGpu(name);
    if (!gpu) {
      return createStringError("expects levels of " + getGpuNames() +
                               ", got '" + name + "'");
    }
    if (is_contained(gpus, gpu)) {
      return createStringError("'" + name + "' is given twice");
    }
    gpus.push_back(gpu);
  }
  sort(gpus, [](const GpuFacts *a, const GpuFacts *b) {
    return std::pair(a->groupBytes, a->capability) >
           std::pair(b->groupBytes, b->capability);
  });
  return gpus;
}

} // namespace hova
