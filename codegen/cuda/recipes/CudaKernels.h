//===- CudaKernels.h - What the recipes of kernels are written with -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The loops of the two kernels that multiply matrices, and the statistics of
// rows. They know sizes and matrices, and not what these are of, so that
// kernels are also made without a model
// (test/codegen/cuda/emulation/KernelTool.cpp). Sizes are in elements.

#ifndef HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELS_H
#define HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELS_H

#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "codegen/cuda/facts/ProductFacts.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/score/VisitedKeys.h"
#include <functional>

namespace hova {

/// Columns of the box that holds `width` columns.
int64_t boxColumns(int64_t width);

/// Columns of a part of the inner dimension of a product, of which a row has
/// `rowBytes` at most.
int64_t productStep(mlir::Type element, int64_t inner, int64_t rowBytes = 128);

/// The schedule of `parts` products of rows x inner and inner x columns of
/// `element`, all in one launch: the tile that costs least on the
/// multiprocessors that are counted on.
CudaScheduleAttr scheduleProduct(const GpuFacts &gpu, mlir::Type element,
                                 int64_t rows, int64_t inner, int64_t columns,
                                 int64_t parts = 1);

/// The same where each row of the left operand is multiplied with a factor for
/// every `scaledColumns` of the inner dimension, and a block has all of its
/// rows in group memory (`canScaleProduct`).
CudaScheduleAttr scheduleScaledProduct(const GpuFacts &gpu, mlir::Type element,
                                       int64_t rows, int64_t inner,
                                       int64_t columns, int64_t scaledColumns);

/// Whether there is.
bool canScaleProduct(const GpuFacts &gpu, mlir::Type element, int64_t inner,
                     int64_t scaledColumns);

/// Into how many parts, whole turns and whole units of `unit` each, the inner
/// dimension of a product is best divided: 1 where what it saves is less than
/// that parts are written and read again, and launched once more unless
/// `sumsAreFree`.
int64_t chooseProductParts(const GpuFacts &gpu, mlir::Type element,
                           int64_t rows, int64_t inner, int64_t columns,
                           bool sumsAreFree, int64_t unit = 1);

/// Whether blocks of a cluster can add tiles of this schedule of a product of
/// `element`: each has rows of them, and room for its own beside its ring.
bool canAddParts(const GpuFacts &gpu, CudaScheduleAttr schedule,
                 mlir::Type element);
/// The schedule of a product of which so many blocks of a cluster compute an
/// even part each, whole turns; null where none of the tiles can be added.
CudaScheduleAttr scheduleClusterProduct(const GpuFacts &gpu, mlir::Type element,
                                        int64_t rows, int64_t inner,
                                        int64_t columns, int64_t blocks);
/// The same of as many blocks as are best, whole units of `unit` each; null
/// where a product without a cluster is.
CudaScheduleAttr chooseClusterProduct(const GpuFacts &gpu, mlir::Type element,
                                      int64_t rows, int64_t inner,
                                      int64_t columns, int64_t unit = 1);

/// The same where the right operand is inner x columns.
CudaScheduleAttr scheduleInnerProduct(const GpuFacts &gpu, mlir::Type element,
                                      int64_t inner);

/// Scales the rows of a left operand, of which `boxes` hold a part of `step` of
/// the inner dimension each when `copies` have ended; these are awaited.
using ScaleBoxes =
    std::function<void(mlir::Value boxes, mlir::ValueRange copies)>;

/// Rows from `row` on of x wT, columns from `column` on, as a tile of f32: x is
/// rows x inner, w columns x inner, or, if it is not transposed, inner x
/// columns, both of one type. Copies of a part of `step` of the inner dimension
/// are `stages` deep. Rows of x are `sourceRow`'s, if it is given, and `scale`,
/// if it is given, changes them before they are multiplied. Columns, of a w
/// that is columns x inner, are `sourceColumn`'s, if it is given. Copies that
/// are under way `before` are awaited, with those of the first turn.
mlir::Value emitProduct(KernelBuilder &b, CudaScheduleAttr schedule,
                        mlir::Value x, mlir::Value w, Expr row, Expr column,
                        bool isTransposed = true,
                        const KernelBuilder::RowMap &sourceRow = {},
                        const ScaleBoxes &scale = {},
                        const KernelBuilder::RowMap &sourceColumn = {},
                        mlir::ValueRange before = {});

/// Rows of all heads of a sequence that group memory has, queries and keys in
/// one box and values in another, in slot 0 of each. Heads stand beside each
/// other, from these columns on.
struct HeadBox {
  mlir::Value rows, values;
  int64_t queryColumn = 0, keyColumn = 0;
};

/// Matrices of one head of one sequence, all of one type. The slots of a
/// memory are keys after the others, the same for all sequences; null without.
/// Scores, of f32, are queries x keys, and are written; null where nobody reads
/// them. Rows without a kept key are 0, or the mean of all values. Scores are
/// products unless there is a similarity; its vector is a row of as many
/// columns as keys have, null without. Weights are a softmax of scores, or
/// scores. With a box, which has all keys, its rows are read, those of the head
/// `number`, and the result has columns of all heads, of which the head's own
/// count.
struct HeadMatrices {
  mlir::Value queries, keys, values;
  mlir::Value memoryKeys = {}, memoryValues = {}, scores = {};
  bool emptyIsMean = false;
  SimilarityAttrInterface similarity = {};
  mlir::Value scoreVector = {};
  Normalization normalization = Normalization::softmax;
  std::optional<HeadBox> box = {};
  Expr number = {};
  /// Copies that have begun, and are awaited with the queries.
  llvm::ArrayRef<mlir::Value> before = {};
};

/// The schedule of an attention of `queries` rows of `element` to `keys` by
/// sequence and head, of which there are `heads` in all. `needsMore`: beside
/// raw scores something is read, written or computed for each query and key,
/// which takes registers.
CudaScheduleAttr scheduleAttention(const GpuFacts &gpu, mlir::Type element,
                                   int64_t heads, int64_t queries, int64_t keys,
                                   int64_t keyWidth, int64_t valueWidth,
                                   bool needsMore);

/// The blocks of `rows` queries of one head.
llvm::SmallVector<RowSpan> attentionBlocks(const ScoreExtents &extents,
                                           int64_t rows);

/// Boxes of keys that a block takes one after the other, where these are not
/// all, or those that its region leaves.
struct KeyList {
  struct Box {
    Expr first, end; ///< keys `first` to before `end`; null: a step
    /// Whether the box has keys at all; null: it has.
    Expr exists = {};
  };
  Expr count;
  /// A box may be asked for that is after the last: nobody reads its keys.
  std::function<Box(Expr box)> at;
  /// Every box has a step of keys, or none, and lies within the keys.
  bool areWhole;
};

/// Rows from `row` on of `softmax(scores of q kT) v`, as a tile of f32. Turns
/// take `step` keys, those of the next turn being on their way. With a list,
/// rows without a kept key are 0.
mlir::Value emitAttention(GroupEmitter &e, const ScoreRegion &scores,
                          mlir::ValueRange captured, const HeadMatrices &head,
                          const ScoreExtents &extents, Expr row,
                          const KeyList *list = nullptr);

/// Writes the scores of rows from `row` on, and nothing else.
void emitScores(GroupEmitter &e, const ScoreRegion &scores,
                mlir::ValueRange captured, const HeadMatrices &head,
                const ScoreExtents &extents, Expr row);

/// What `hova.layer_norm` makes of columns of each row.
struct RowNorm {
  NormKind kind;
  int64_t columns; ///< how many count
  double eps;
};

/// What each row of deviations is multiplied with, in the place of their sums
/// of squares, `total`.
mlir::Value emitNormFactors(KernelBuilder &b, mlir::Value total,
                            const RowNorm &norm);

/// A tile of f32 without the mean of its rows, of which `columns` elements
/// count: those of which `isThere` says so, if it is given; others become 0,
/// and are 0 already.
mlir::Value emitCentered(KernelBuilder &b, mlir::Value x, int64_t columns,
                         llvm::function_ref<Expr(Expr column)> isThere);

/// The norm along the rows of a tile of f32, without gain and bias, whose first
/// columns count, or those of which `counts` says so; others become 0. Those
/// after the first are 0 already, unless `counts` is given.
mlir::Value emitNormalised(KernelBuilder &b, mlir::Value x, const RowNorm &norm,
                           llvm::function_ref<Expr(Expr column)> counts = {});

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_CUDAKERNELS_H
