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

#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/AttentionOps.h"
#include "dialect/VisitedKeys.h"

namespace hova {

/// What masks a tile of scores needs.
struct TileMasks {
  /// Of the region: those on keys alone, which are padding, or all.
  enum Conditions { ofKeys, all } conditions;
  /// Keys from here on are none of the tile's; null: all are.
  mlir::Value end = {};
  /// Whether the tile has keys at all; null: it has.
  mlir::Value exists = {};
};

class ScoreTiles {
public:
  /// Of the queries from `firstQuery` on, a multiple of the tile's rows unless
  /// `rowsAreAnywhere`, of a head and the block's batch entry, and of tiles of
  /// type `tile`, of f32. Reads what does not depend on keys.
  ScoreTiles(GroupEmitter &emitter, mlir::ValueRange captured,
             const ScoreForm &form, const ScoreExtents &extents,
             mlir::Value firstQuery, TileType tile, bool rowsAreAnywhere,
             bool hasSoftmax = true);

  /// Why there is no code for the region on a GPU; empty: there is.
  static std::string whatLacks(const ScoreForm &form,
                               const ScoreExtents &extents);

  /// What is left to multiply the scores with in front of exponentials.
  double getFactor() const { return leavesFactor() ? form.factor : 1; }
  /// The scores of raw ones in front of that factor, where the keys begin with
  /// `firstKey`; -inf where masked, or 0 without a softmax.
  mlir::Value apply(mlir::Value raw, mlir::Value firstKey, TileMasks masks);
  /// What the region says of raw scores to whoever reads them, masked or not.
  mlir::Value carry(mlir::Value raw, mlir::Value firstKey, bool keysAreWhole);
  /// Whether which keys are kept is known of their raw scores alone.
  bool masksByRaw() const;
  /// Infinity where the region keeps a key and makes no -inf of a raw score of
  /// 0, else 0; not where it `masksByRaw`.
  mlir::Value findKept(mlir::Value firstKey, TileMasks masks);
  /// Infinity where a key is kept whose raw score is -inf, less elsewhere. With
  /// `scores` also where a key is kept that the region has not masked by a
  /// score of -inf.
  mlir::Value findKeptInfinite(mlir::Value raw, mlir::Value scores,
                               mlir::Value firstKey, TileMasks masks);

private:
  using Elements = llvm::SmallVector<std::pair<ElementOp, mlir::Value>>;

  bool leavesFactor() const { return hasSoftmax && form.leavesFactor(); }
  mlir::Value getScore() const {
    return leavesFactor() ? form.early : form.region.getYield().getScore();
  }

  llvm::SmallVector<mlir::Value> conditionsOf(TileMasks masks) const;
  /// Tiles of what the values of a region read.
  Elements readFor(mlir::ValueRange values, mlir::Value firstKey,
                   bool keysAreWhole);
  mlir::Value gather(ElementOp op, mlir::Value firstKey, bool keysAreWhole);
  mlir::Value isKept(class ScoreElement &element, mlir::Value key,
                     TileMasks masks);
  class ScoreElement elementAt(mlir::Value i, mlir::Value j,
                               mlir::Value firstKey);
  void setElements(class ScoreElement &element, const Elements &elements,
                   mlir::ValueRange values);

  GroupEmitter &e;
  KernelBuilder &b;
  mlir::ValueRange captured;
  const ScoreForm &form;
  ScoreForm::Ranges ranges;
  /// The same for all rows of a tile, also those that are no queries, with keys
  /// that are all there or not.
  ScoreForm::Ranges wholeRanges, partRanges;
  mlir::Value firstQuery;
  TileType tile;
  bool hasSoftmax;
  /// Elements that do not depend on keys.
  llvm::DenseMap<mlir::Operation *, mlir::Value> ofQueries;
  /// Elements of the tile whose keys begin here, read for what it carries.
  mlir::Value carriedKey;
  llvm::DenseMap<mlir::Operation *, mlir::Value> ofCarried;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_SCORETILES_H
