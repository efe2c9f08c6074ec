//===- ScoreLanes.h - The region of scores for vectors --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recipe has raw scores in vectors whose lanes are keys. This writes what the
// region of the attention makes of them. A value of the region is
//
// - uniform, the same for all lanes: a scalar, and the operations on it are
//   scalar, too, but for functions, which are an element of a vector;
// - linear, `first + step * lane`: the key, and what is added to it. An element
//   at such an index is one load, of consecutive columns in their order or
//   backwards;
// - or anything, a vector. An element at such an index is gathered.
//
// No read leaves its table: where ranges of the indices do not show that it is
// inside, lanes are compared with the sizes.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_CPU_RECIPES_SCORELANES_H
#define HOVA_CODEGEN_CPU_RECIPES_SCORELANES_H

#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/score/VisitedKeys.h"

namespace hova {

class ScoreLanes {
public:
  /// `captured` are the tensors that the region captures, as the kernel has
  /// them.
  ScoreLanes(KernelEmitter &emitter, const ScoreForm &form,
             mlir::ValueRange captured, const ScoreExtents &extents);

  /// Says what an index is, for all lanes.
  void setIndex(mlir::Value index, Expr value) { known[index] = {value}; }
  /// Says where the rows of a batch entry begin in what the region reads of
  /// inputs: where items have any number of tokens, their table knows.
  void setItem(Expr item);
  /// Says by how much the numbers of slots are larger than those of their
  /// lanes: where items have any number of keys, slots come after the last one
  /// of the item, and their numbers after the largest number of keys.
  void setSlotShift(Expr shift) { slotShift = shift; }
  /// Computes what depends on `sources` alone, here and not where it is asked
  /// for.
  void hoist(unsigned sources);

  /// Begins a vector of `lanes` keys from key `first` on. `inside` has the
  /// lanes whose key is one of the extents, or is null, which is all; `tokens`
  /// those that hold no slots.
  void beginLanes(Expr first, int64_t lanes, Expr inside, Expr tokens);
  void setRaw(Expr vector) { known[form.region.getRaw()] = {vector}; }

  /// A number or a condition of the region, as a vector.
  Expr vectorOf(mlir::Value value);

private:
  /// `first + step * lane`, where `first` is a scalar; or a vector.
  struct Lanes {
    Expr first;
    int64_t step = 0;

    bool isVector() const {
      return mlir::isa<mlir::VectorType>(first.getType());
    }
    bool isUniform() const { return step == 0 && !isVector(); }
    Lanes operator*(int64_t factor) const {
      return {first * factor, step * factor};
    }
  };

  Lanes expand(mlir::Value value);
  Lanes compute(mlir::Value value);
  Lanes computeLinear(mlir::Operation *op, llvm::ArrayRef<Lanes> operands);
  Expr computeMultiplyAdd(mlir::Operation *op);
  Expr apply(mlir::Operation *op, mlir::ValueRange operands, bool isUniform);
  Expr applyFunction(mlir::Operation *op, llvm::ArrayRef<Lanes> operands);
  Expr asVector(const Lanes &value);
  Lanes add(const Lanes &a, const Lanes &b);
  mlir::Type laneType(mlir::Type type) const;
  bool isNegative(mlir::Value value) const;

  // Elements.
  struct Place {
    Lanes row, column;
    Expr isInside; ///< i1 or a vector of it; null: always

    bool isUniform() const { return row.isUniform() && column.isUniform(); }
  };
  Lanes read(ElementOp op);
  Place placeOf(ElementOp op);
  Expr loadUniform(mlir::Value memref, const Place &place);
  Expr loadLanes(mlir::Value memref, const Place &place);
  Expr reverse(Expr vector);
  enum class Bounds { inside, insideOfTokens, unknown };
  Bounds boundsOf(ElementOp op) const;

  KernelEmitter &e;
  const ScoreForm &form;
  mlir::ValueRange captured;
  /// Of all indices, of those of tokens and of those of slots.
  ScoreForm::Ranges ranges, tokenRanges, slotRanges;
  bool hasSlots;
  mlir::Type laneInteger; ///< what integers of lanes are
  int64_t lanes = 0;
  Expr inside, tokens;
  Expr slotShift; ///< null: none
  Lanes laneKeys; ///< the number of the key that each lane has, unless a slot
  /// Of each captured tensor; null: each batch entry has a row of its own.
  llvm::SmallVector<Expr> firstRows;
  llvm::DenseMap<mlir::Value, Lanes> known;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_SCORELANES_H
