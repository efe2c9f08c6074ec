//===- TokenLanes.h - Kernels of short sequences ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A sequence of 16 tokens and few channels leaves most lanes of a vector empty
// where lanes are channels. Here a value is a matrix in scratch with a row for
// each channel and a lane for each token of some whole sequences:
//
//   x[channel][sequence, token]
//
// so that a product has its operands exchanged (`y^T = W^T x^T`: the weight is
// read element by element, the tokens are the panel), a norm goes down the rows
// and an attention needs no transposition. All operations of a kernel work on
// the tokens of one tile before the next tile begins. What the kernel reads and
// writes has rows of tokens, as everywhere else: 16 x 16 blocks are transposed
// in registers on the way in and out.
//
// docs/rationale/tokens-in-lanes.md has the measurements.

#ifndef HOVA_CODEGEN_CPU_RECIPES_TOKENLANES_H
#define HOVA_CODEGEN_CPU_RECIPES_TOKENLANES_H

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "passes/tile/Arena.h"

namespace hova {

/// Where the values of a kernel lie in the scratch of a thread.
class TokenLanesLayout {
public:
  TokenLanesLayout(KernelOp kernel, const CpuSchedule &schedule);

  /// Tokens of a tile: those of whole sequences.
  int64_t lanes;
  /// Tokens of a unit: those of one or more tiles.
  int64_t unitTokens;
  /// Scratch that an operation uses while it runs: a matrix of 16 x 16.
  int64_t scratchOffset;
  int64_t bytes;

  /// Bytes from the start of scratch to the matrix of a value; nothing where it
  /// exists in registers alone.
  std::optional<int64_t> offsetOf(mlir::Value value) const;

private:
  llvm::SmallVector<ArenaBlock> blocks;
  llvm::DenseMap<mlir::Value, int64_t> blockOf; ///< its index
};

/// The loops of one kernel while they are written. A tile has channels as rows;
/// its columns are all tokens.
class TokenLanes {
public:
  TokenLanes(KernelEmitter &emitter, KernelOp kernel,
             const TokenLanesLayout &layout)
      : e(emitter), lanes(layout.lanes), kernel(kernel), layout(layout) {}

  KernelEmitter &e;
  const int64_t lanes;

  void emit();

  /// The matrix of a value, `memref<channels x lanes>`, or that transposed; for
  /// a slice of columns these rows of it.
  mlir::Value matrix(mlir::Value tensor, bool isTransposed = false);
  /// A matrix of 16 x 16 that nobody else uses.
  mlir::Value scratchMatrix();

  /// Channels `0 .. channels` in tiles of `most` at most: a loop over whole
  /// ones and one body for the rest.
  using TileBody = llvm::function_ref<void(const TilePlace &)>;
  void forEachTile(int64_t channels, int64_t most, TileBody body);
  void forEachTile(int64_t channels, TileBody body) {
    forEachTile(channels, e.schedule.tileRows, body);
  }
  /// A tile of a value, or of a weight that has an element for each channel.
  Expr load(mlir::Value tensor, const TilePlace &place);

  /// Applies the stage's element-wise operations to a tile of the anchor's
  /// result and stores what is read elsewhere; an anchor that is element-wise
  /// itself has no `tile`.
  void finishAndStore(const TilePlace &place, Expr tile);

private:
  void emitStage(Expr row);

  KernelOp kernel;
  const TokenLanesLayout &layout;
  StageOp stage;
  llvm::DenseSet<mlir::Value> loaded;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_TOKENLANES_H
