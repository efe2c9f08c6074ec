//===- Score.h - Meaning of the region of an attention's scores -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The region is run for one query and a list of keys at a time: every scalar of
// it is a list with an element per key. Numbers have the type of the
// evaluation, integers 64 bits.
//
// Jumps (`floor`, `ceil`, comparisons of numbers) are those of f32, operation
// by operation, in every evaluation: `floor(key / 0.3)` is 29 of key 9, and 30
// in float64.

#ifndef HOVA_DIALECT_EVALUATE_SCORE_H
#define HOVA_DIALECT_EVALUATE_SCORE_H

#include "dialect/evaluate/Evaluate.h"
#include "dialect/score/ScoreRegion.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <vector>

namespace hova {

template <typename T> class ScoreRow {
public:
  /// `captured` are the values of the captured tensors, which outlive this. A
  /// key may be listed more than once.
  ScoreRow(ScoreRegion region, llvm::ArrayRef<const HostTensor *> captured,
           llvm::ArrayRef<int64_t> keys);

  /// Runs the region on raw scores, one per key.
  void run(int64_t batch, int64_t head, int64_t query, const T *raw);

  // What it has yielded, by the place of a key in the list.
  const std::vector<T> &scores() { return numbers[yield.getScore()]; }
  /// 0 where a key is masked.
  const std::vector<int64_t> &kept() { return integers[yield.getKept()]; }
  /// Null where nothing is carried.
  const std::vector<T> *carried() {
    return yield.getCarried() ? &numbers[yield.getCarried()] : nullptr;
  }

private:
  template <typename Other> friend class ScoreRow;

  /// Runs, once, what is the same for every query, and lists the rest.
  void runWhatKeysDecide();
  /// The result of a jump.
  void takeFromSingle(mlir::Operation &op);
  void runOperation(mlir::Operation *op);
  void runConstant(mlir::Operation *op, mlir::Attribute value);
  void readElements(ElementOp op);
  template <typename Number>
  void readElementsOf(ElementOp op, llvm::ArrayRef<int64_t> shape,
                      const Number *table);
  void select(mlir::Operation *op);
  bool runNumbers(mlir::Operation *op);
  bool runIntegers(mlir::Operation *op);

  template <typename Function>
  void mapNumbers(mlir::Operation *op, Function function);
  template <typename Function>
  void mapIntegers(mlir::Operation *op, Function function);

  ScoreRegion region;
  ScoreYieldOp yield;
  llvm::ArrayRef<const HostTensor *> captured;
  int64_t keys; ///< in the list
  llvm::DenseMap<mlir::Value, std::vector<T>> numbers;
  llvm::DenseMap<mlir::Value, std::vector<int64_t>> integers;
  llvm::SmallVector<mlir::Operation *> ofQuery; ///< run for each query
  /// The region in f32, where an evaluation in float64 has jumps.
  std::unique_ptr<ScoreRow<float>> single;
};

/// Runs the region for queries of one batch entry and head.
template <typename T> class HeadScores {
public:
  HeadScores(ScoreRegion region, llvm::ArrayRef<const HostTensor *> captured,
             llvm::ArrayRef<int64_t> keys, int64_t batch, int64_t head)
      : batch(batch), head(head), ofRaw(region, captured, keys),
        ofZero(region, captured, keys), zeros(keys.size()) {}

  ScoreRow<T> &run(int64_t query, const T *raw) {
    ofRaw.run(batch, head, query, raw);
    return ofRaw;
  }
  /// Whether each key is kept for `query`, for which it was run.
  std::vector<bool> findKept(int64_t query);

private:
  int64_t batch, head;
  ScoreRow<T> ofRaw, ofZero;
  std::vector<T> zeros;
};

extern template class ScoreRow<float>;
extern template class ScoreRow<double>;
extern template class HeadScores<float>;
extern template class HeadScores<double>;

} // namespace hova

#endif // HOVA_DIALECT_EVALUATE_SCORE_H
