//===- GpuFacts.h - In what GPUs differ -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A level is what GPUs of one compute capability have in common. Each is a row
// of figures (Gpus.cpp): what recipes, policies and the calculation of
// occupancy ask of a machine they ask the row of their operation's module,
//
//   module attributes {hova_cuda.gpu = "sm_86"} { ... }
//
// and where it names none, that of 8.0. So a recipe is written without a word
// about levels, and IR says by itself what it is for.

#ifndef HOVA_CODEGEN_CUDA_FACTS_GPUFACTS_H
#define HOVA_CODEGEN_CUDA_FACTS_GPUFACTS_H

#include "codegen/cuda/facts/AllGpus.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir {
class Operation;
} // namespace mlir

namespace hova {

/// What a block computes of a product, and how.
struct ProductTile {
  int64_t rows, columns, rowWarps, columnWarps;
  /// Time of an element, where that of the largest tile of 8.0 is 1: the
  /// smaller the part of a warp, the more its main loop reads of shared memory.
  /// 0: nothing was measured.
  double pressure = 0;
  /// The same for a block that has a multiprocessor to itself: nobody works
  /// while its warps wait.
  double alone = 0;
  /// Bytes of the inner dimension, of each row, that a turn takes: 128 or 64.
  int64_t rowBytes = 128;
  /// Turns whose operands have a place in shared memory.
  int64_t stages = 3;
  /// Turns whose products go on during the next ones.
  int64_t underWay = 0;
  int64_t warps() const { return rowWarps * columnWarps; }
  bool isMeasured() const { return pressure != 0; }
};

struct GpuFacts {
  /// After `--gpu-arch=`, and LLVM's and ptxas' name of the architecture.
  llvm::StringLiteral name;
  int64_t capability; ///< 80 for 8.0
  /// Whether code for it runs on no GPU of a later capability.
  bool isExact;
  /// The version of PTX of its code: LLVM's name of the feature.
  llvm::StringLiteral ptxVersion;

  /// Bytes of shared memory that a block may ask for.
  int64_t groupBytes;
  /// What a multiprocessor has for the blocks that it holds at once.
  int64_t processorGroupBytes, processorThreads, processorBlocks;
  /// Multiprocessors of the GPUs that are counted on.
  llvm::ArrayRef<int64_t> processors;
  /// Multiply-adds of a multiprocessor in a cycle: on its tensor cores, with
  /// operands of 16 bits, and in f32.
  int64_t cycleMacs16, cycleMacs32;
  /// What a byte of memory costs beside floating-point operations, where the
  /// time of a kernel is divided among its stages.
  int64_t flopsPerByte;

  /// Of equal times the first is taken. For operands of 16 bits; those of f32
  /// go by the same.
  llvm::ArrayRef<ProductTile> tiles;
  /// Those whose blocks may have all of their rows in shared memory.
  llvm::ArrayRef<ProductTile> scaledTiles;
  /// That of a product whose right operand is not transposed, and whose columns
  /// are not divided among warps.
  ProductTile innerTile;
  /// Blocks of an attention that a multiprocessor is to have room for, where
  /// shorter turns make it.
  int64_t attentionBlocks;
  /// Those of groups of warps, for operands of 16 bits whose right one is
  /// [out][in]; none where the GPU has no products under way.
  llvm::ArrayRef<ProductTile> groupTiles = {};
  /// Whether a launch may begin while the one before it still runs, and its
  /// kernel waits (`griddepcontrol`).
  bool overlapsLaunches = false;
  /// Whether blocks run in clusters and read each other's shared memory.
  bool hasClusters = false;
  /// Rows of a block of a kernel of rows, each a warp's, where more of them
  /// leave multiprocessors idle: two at least, since copies of a box need a
  /// thread for each word of a row.
  int64_t leastRowsOfBlock = kRowsOfBlock;
  /// The row of the GPU for which times of its code are modelled, since the
  /// model was compared with one. Empty: there is none.
  llvm::StringLiteral modelledAs = "";
  /// Of that GPU, in a microsecond: cycles of a multiprocessor under load, and
  /// bytes that all of them get from the second cache.
  double cyclesOfTime = 0, bytesOfTime = 0;

  /// The time in which shared memory moves 16 bytes of every lane of a warp,
  /// where that of a product of mma.sync is 1.
  double moveTime() const {
    return (double(kLanes * kChunkBytes) / (kBanks * kBankBytes)) /
           (double(kMmaRows * kMmaColumns * kMmaDepth) / double(cycleMacs16));
  }
  /// As many columns of a tile take as long as its rows are scaled: three
  /// instructions of a thread for each of them and one of the inner dimension,
  /// of which a multiprocessor begins those of four warps in a cycle.
  int64_t scalingColumns() const {
    return 3 * cycleMacs16 / (kProcessorParts * kLanes);
  }
};

/// On a module: the name of the GPU that its code is for.
inline constexpr llvm::StringLiteral kGpuAttr = "hova_cuda.gpu";

/// All rows, by capability.
llvm::ArrayRef<const GpuFacts *> getGpus();
/// The row of a name; null: there is none.
const GpuFacts *findGpu(llvm::StringRef name);
/// Names of all rows, with commas between them, for messages.
std::string getGpuNames();
/// Adds a row, which outlives the process, before any is asked for by others.
void registerGpu(const GpuFacts &gpu);

/// The rows of names with commas between them, in the order in which a program
/// tries them: those with more shared memory first, and of these the later
/// ones. Without a name they are those whose code runs on every GPU from 8.0
/// on. An error, the end of a sentence, names what is unknown or given twice.
llvm::Expected<llvm::SmallVector<const GpuFacts *>>
resolveGpus(llvm::StringRef names);

/// The row of the GPU that `op` is for.
const GpuFacts &gpuOf(mlir::Operation *op);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_FACTS_GPUFACTS_H
