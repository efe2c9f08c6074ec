//===- CpuFacts.h - What is known about processors ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every figure of a machine that the compiler relies on, and the sizes that
// were measured to be best on it. Passes read them here or receive them as
// options; none holds a figure of its own.

#ifndef HOVA_CODEGEN_CPU_CPUFACTS_H
#define HOVA_CODEGEN_CPU_CPUFACTS_H

#include <cstddef>
#include <cstdint>

namespace hova {

/// Rows and columns of a register tile, in elements of f32.
struct RegisterTile {
  int64_t rows, columns;
};

/// A unit of the processor that multiplies matrices of bf16, into sums of f32
/// that are no vector's.
struct MatrixUnit {
  /// A register, in rows and bytes of each. There are eight: as many as a block
  /// of two by two sums and the operands of a step take.
  static constexpr int64_t rows = 16, rowBytes = 64;
  /// Steps of k and columns of f32 in a row.
  static constexpr int64_t depth = rowBytes / 2, columns = rowBytes / 4;
  /// A block: each operand is loaded once for two products.
  static constexpr int64_t blockRows = 2 * rows, blockColumns = 2 * columns;
  /// Steps of k and columns from which a product that is filled up to a block
  /// pays. Of 16 by 16 a block of 32 rows takes 64 cycles for four products of
  /// tiles, and about 140 for copies of the factors and for sums that pass
  /// through memory; vectors, with two multiply-adds of 16 lanes a cycle, 256.
  /// Of 12 by 16 it would be 192.
  static constexpr int64_t leastDepth = 16, leastColumns = 16;
};

struct CpuFacts {
  /// `avx512`: 32 registers of 512 bits, else 16 of 256. `oneFma`: one fused
  /// multiply-add of 512 bits a cycle, not two. `hasUnit`: there is a
  /// MatrixUnit.
  CpuFacts(bool avx512, bool oneFma, bool hasUnit)
      : rowLanes(avx512 ? 64 : 32),
        productTile{6, avx512 ? int64_t(64) : int64_t(16)},
        attentionTile{avx512 ? int64_t(14) : int64_t(6),
                      avx512 ? int64_t(32) : int64_t(16)},
        hasUnit(hasUnit), sequenceTile{6, avx512 ? int64_t(64) : int64_t(16)},
        kBlock(oneFma ? 4096 : 256) {}

  // Vectors and register tiles.

  /// No schedule goes beyond these: each height of a tile is a body of its own,
  /// and each row a vector that registers hold.
  static constexpr int64_t mostTileRows = 64;
  static constexpr int64_t mostLanes = 1024;

  /// Elements of f32 in a register of 512 bits, for what is written in its
  /// instructions: AVX-512 has no wider ones.
  static constexpr int64_t registerLanes = 16;
  /// Elements of a vector of a row operation.
  int64_t rowLanes;
  /// Of a product. With 32 registers of 512 bits, 6 rows by 64 columns need 24
  /// accumulators, 4 registers for the panel and 1 for the broadcast, and load
  /// 10 times for 24 multiply-adds where 14 x 32 loads 16 times for 28; small
  /// heights divide any number of rows evenly.
  RegisterTile productTile;
  RegisterTile attentionTile;

  /// Whether products of bf16 may be those of a MatrixUnit.
  bool hasUnit;

  // Short sequences, whose tokens lie in lanes.

  /// Tokens of a sequence: one register.
  static constexpr int64_t sequenceTokens = registerLanes;
  /// Channels and tokens of a register tile; tokens are those of whole
  /// sequences.
  RegisterTile sequenceTile;
  /// Sequences that a thread passes through a kernel together at most. All
  /// levels agree on them.
  static constexpr int64_t groupSequences = 4;
  /// Channels of any value of such a kernel, at most: with all of a tile's
  /// values it stays in the first-level cache, and weights in the second.
  static constexpr int64_t mostSequenceChannels = 128;
  /// Of sequences that are longer nobody expects that they fit a register tile.
  static constexpr int64_t shortTokens = 64;

  // Weights.

  /// Columns of a weight panel. One layout serves every level: a register tile
  /// is as wide or a part of it.
  int64_t panelColumns = 64;

  // Loops.

  /// The K block: steps of a product's inner dimension that one pass over the
  /// rows takes at most. Where two multiply-adds a cycle want their panel
  /// nearer than the second-level cache, a block of it stays in the first; with
  /// one, adding the sums of the blocks costs more.
  int64_t kBlock;
  /// Rows that pass through all stages of a kernel together, at most: what one
  /// stage writes is in the caches when the next reads it.
  int64_t groupRows = 256;
  /// The reduction split: products of f32 that are added in a row at most. The
  /// error of such a sum grows with their number, that of a sum of sums with
  /// the square root of how many there are: in BERT-base, whose longest sum has
  /// 3072, splits of 384 leave half of the error. A split more costs a store
  /// and a load of the register tile, 0.3 % here.
  int64_t reductionSplit = 384;

  /// Steps of a product's inner dimension in one turn of its loop.
  int64_t productSteps = 2;
  /// Panels of keys whose vectors of one row stand side by side without a loop,
  /// at most: with their sums they stay in registers.
  static constexpr int64_t unrolledPanels = 8;
  /// Blocks of rows of a product of any number of rows that prefetch all that
  /// it reads next. Of fewer every step would pay for what these alone need: a
  /// tenth of the time of 128 rows, measured on a Xeon.
  static constexpr int64_t fewestRowBlocks = 4;
  /// Steps of a bound that are compared one after the other, at most; more are
  /// compared at once, in vectors.
  static constexpr size_t fewSteps = 4;

  // Caches, the same on every level.

  static constexpr int64_t lineBytes = 64;
  /// Elements of f32 in a cache line.
  static constexpr int64_t lineElements = lineBytes / 4;
  /// Rows at distances that are multiples of this share few sets of the first
  /// cache: 86 instead of 114 GFLOP/s for a left operand with a stride of 4096
  /// bytes.
  static constexpr int64_t aliasBytes = 1024;
  /// Tensors up to this size stay in the second-level caches by themselves: two
  /// threads have 2 MiB or more.
  static constexpr int64_t cachedBytes = 1 << 21;
  /// A row of a larger table is prefetched this many rows before it is copied:
  /// the processor does not foresee which.
  static constexpr int64_t prefetchDistance = 4;

  // Division among threads.

  /// Every thread reads all weights for its own rows. With fewer rows than this
  /// that takes longer than the multiplications, so threads divide columns...
  int64_t fewRows = 96;
  /// ...in products of this many multiply-accumulates at least: to meet after
  /// a smaller one would cost more.
  int64_t leastColumnMacs = 524288;
  /// Multiply-accumulates of a thread chunk of columns: some microseconds of
  /// work, ten times what meeting the others costs.
  int64_t leastChunkMacs = 1 << 18;
  /// Register tiles of a thread chunk of many rows: 24 operations for each byte
  /// of the weights.
  int64_t leastChunkTiles = 8;
  /// Elements of a thread chunk of rows where no product is computed: to move
  /// them takes ten times what meeting the others costs.
  int64_t leastChunkElements = 1 << 14;
  /// An attention of fewer heads than this, those of all batch entries, leaves
  /// threads without work: its queries are divided as well...
  int64_t fewHeads = 8;
  /// ...in blocks of this many at least. A thread packs the keys of a head once
  /// for its blocks; even for one block that takes a percent of the time.
  int64_t leastQueries = 96;
  /// Tokens that a sum over tokens adds up in one unit, at most: seven register
  /// tiles of an attention. Their features and values stay in the first-level
  /// cache, and merging the sums of blocks takes one percent of the time.
  int64_t blockTokens = 98;
  /// What a byte that is read or written counts, in floating-point operations.
  static constexpr int64_t flopsPerByte = 4;
  /// Work from which a kernel is divided at all: floating-point operations, and
  /// those that the bytes of its buffers count. The barrier, and rows that lie
  /// in the cache of another core, cost as much as two microseconds of work.
  int64_t leastWork = 500000;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_CPUFACTS_H
