//===- ScoreRegion.h - The mathematics of an attention's scores -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// An attention has a region that makes a score of a raw score and says whether
// the key counts (hova.attention). Nothing else says anything about scores:
//
//   ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index,
//        %bias: tensor<1x4x9x9xf32>):
//     %scaled = arith.mulf %raw, %scale : f32
//     %added = hova.element %bias[%zero, %head, %query, %key]
//     %score = arith.addf %scaled, %added : f32
//     %kept = arith.cmpi sle, %key, %query : index
//     hova.score_yield %score kept %kept
//
// The evaluator runs it. Passes ask `ScoreForm` (dialect/score/ScoreForm.h)
// what it depends on; a recipe keeps raw scores in tiles of its own shape, and
// has the region written for them. So a score that somebody invents is a few
// lines here, on every target.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_DIALECT_SCORE_SCOREREGION_H
#define HOVA_DIALECT_SCORE_SCOREREGION_H

#include "dialect/score/ScoreOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"

namespace hova {

/// What a region of scores holds, by name.
class ScoreRegion {
public:
  /// Arguments in front of the captured tensors.
  static constexpr unsigned kIndices = 5;

  explicit ScoreRegion(mlir::Region &region) : block(&region.front()) {}

  mlir::Block &getBlock() const { return *block; }
  mlir::Value getRaw() const { return block->getArgument(0); }
  mlir::Value getBatch() const { return block->getArgument(1); }
  mlir::Value getHead() const { return block->getArgument(2); }
  mlir::Value getQuery() const { return block->getArgument(3); }
  mlir::Value getKey() const { return block->getArgument(4); }
  mlir::Block::BlockArgListType getCaptured() const {
    return block->getArguments().drop_front(kIndices);
  }
  ScoreYieldOp getYield() const {
    return mlir::cast<ScoreYieldOp>(block->getTerminator());
  }

private:
  mlir::Block *block;
};

/// Whether an operation has a meaning among scores: those that the evaluator
/// runs and recipes write for vectors (dialect/evaluate/Score.cpp).
bool isScoreOperation(mlir::Operation *op);

/// Whether a result of an operation among scores leaps where its operands,
/// which are numbers, move by one unit in the last place: `floor`, `ceil` and
/// comparisons.
bool isScoreJump(mlir::Operation *op);

/// Verifies the region of `op`, which captures `captured` and yields a third
/// number exactly where it carries scores: constraints C6 to C9 of every
/// operation with such a region.
llvm::LogicalResult verifyScoreRegion(mlir::Operation *op, mlir::Region &region,
                                      mlir::ValueRange captured,
                                      bool carriesScores);

/// Names the arguments of a region in front of the captured tensors.
void nameScoreArguments(mlir::Region &region,
                        mlir::OpAsmSetValueNameFn setName);

/// The axes at which a region reads a captured tensor, as expressions of
/// `indices` (batch, head, query, key), or nothing where they are others or
/// more than one.
std::optional<llvm::SmallVector<mlir::AffineExpr>>
axesOfReads(mlir::BlockArgument captured,
            llvm::ArrayRef<mlir::AffineExpr> indices, mlir::AffineExpr zero);

/// Query 0 of a region becomes query `first` for its scores, which may depend
/// on where a query stands.
void shiftQueries(mlir::RewriterBase &rewriter, ScoreRegion region,
                  int64_t first);

/// Writes the region of an attention.
class ScoreWriter {
public:
  /// Gives `region` a block with the arguments of a region that captures
  /// `captured`, and writes into it.
  ScoreWriter(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::Region &region, mlir::ValueRange captured);

  ScoreRegion getRegion() const { return region; }

  /// `kept`, or whether the key is a memory slot after `keys` tokens.
  mlir::Value orSlot(mlir::Value kept, int64_t keys);

  /// Ends the region; `kept` may be null, which is all.
  void yield(mlir::Value score, mlir::Value kept, mlir::Value carried = {});

  mlir::ImplicitLocOpBuilder b;

private:
  ScoreRegion region;
};

} // namespace hova

#endif // HOVA_DIALECT_SCORE_SCOREREGION_H
