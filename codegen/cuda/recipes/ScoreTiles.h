//===- ScoreTiles.h - The region of scores for tiles of a group -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group has raw scores in a tile, queries along its rows and keys along its
// columns. This writes what the region of the attention makes of them: a map
// over the tile, which reads elements of captured tensors from tiles gathered
// before.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_CUDA_RECIPES_SCORETILES_H
#define HOVA_CODEGEN_CUDA_RECIPES_SCORETILES_H

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/score/VisitedKeys.h"

namespace hova {

/// Which conditions of the region mask a tile: those on keys alone, which are
/// padding, or all.
enum class TileMasks { ofKeys, all };

class ScoreElement;

class ScoreTiles {
public:
  /// Of the queries from `firstQuery` on, a multiple of the tile's rows unless
  /// `rowsAreAnywhere`, of a head and the block's batch entry, and of tiles of
  /// type `tile`, of f32. Reads what does not depend on keys.
  ScoreTiles(GroupEmitter &emitter, mlir::ValueRange captured,
             const ScoreForm &form, const ScoreExtents &extents,
             Expr firstQuery, TileType tile, bool rowsAreAnywhere,
             bool hasSoftmax = true);

  /// Why there is no code for the region on a GPU; empty: there is.
  static std::string whatLacks(const ScoreForm &form,
                               const ScoreExtents &extents);

  /// What is left to multiply the scores with in front of exponentials.
  double getFactor() const { return leavesFactor() ? form.factor : 1; }
  /// The scores of raw ones of `keys` in front of that factor; -inf where
  /// masked, or 0 without a softmax.
  mlir::Value apply(mlir::Value raw, const KeyList::Box &keys, TileMasks masks);
  /// What the region says of raw scores to whoever reads them, masked or not.
  /// What else is asked of these keys afterwards uses what it reads.
  mlir::Value carry(mlir::Value raw, Expr firstKey, bool keysAreWhole);
  /// Whether which keys are kept is known of their raw scores alone.
  bool masksByRaw() const;
  /// Infinity where the region keeps a key and makes no -inf of a raw score of
  /// 0, else 0; not where it `masksByRaw`.
  mlir::Value findKept(const KeyList::Box &keys);
  /// Infinity where a key is kept whose raw score is -inf, less elsewhere. With
  /// `scores` also where a key is kept that the region has not masked by a
  /// score of -inf.
  mlir::Value findKeptInfinite(mlir::Value raw, mlir::Value scores,
                               const KeyList::Box &keys, TileMasks masks);

private:
  using Elements = KernelBuilder::Elements;
  /// What a region reads, and tiles of it.
  using Reads = llvm::SmallVector<std::pair<ElementOp, mlir::Value>>;

  bool leavesFactor() const { return hasSoftmax && form.leavesFactor(); }
  mlir::Value getScore() const {
    return leavesFactor() ? form.early : form.region.getYield().getScore();
  }

  llvm::SmallVector<mlir::Value> conditionsOf(TileMasks masks) const;
  Reads readFor(mlir::ValueRange values, Expr firstKey, bool keysAreWhole);
  mlir::Value gather(ElementOp op, Expr firstKey, bool keysAreWhole);
  /// The tile of what `body` makes of the element of each query and key, at
  /// which values `wanted` of the region can be asked for, and of those that
  /// `tiles` have there. The first tile has raw scores; without, they are 0.
  mlir::Value
  map(mlir::ValueRange tiles, mlir::ValueRange wanted, Expr firstKey,
      bool keysAreWhole,
      llvm::function_ref<Expr(ScoreElement &at, Elements x, Expr key)> body);
  /// Null: always.
  Expr isKept(ScoreElement &at, Expr key, const KeyList::Box &keys,
              TileMasks masks);
  ScoreElement elementAt(Expr i, Expr j, Expr firstKey, const Reads &reads,
                         Elements x);

  GroupEmitter &e;
  KernelBuilder &b;
  mlir::ValueRange captured;
  const ScoreForm &form;
  ScoreForm::Ranges ranges;
  /// The same for all rows of a tile, also those that are no queries, with keys
  /// that are all there or not.
  ScoreForm::Ranges wholeRanges, partRanges;
  Expr firstQuery;
  TileType tile;
  bool hasSoftmax;
  /// Elements that do not depend on keys.
  llvm::DenseMap<mlir::Operation *, mlir::Value> ofQueries;
  /// Elements of the tile whose keys begin here, read for what it carries.
  Expr carriedKey;
  llvm::DenseMap<mlir::Operation *, mlir::Value> ofCarried;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_SCORETILES_H
