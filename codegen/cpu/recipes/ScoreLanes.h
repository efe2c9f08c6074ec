//===- ScoreLanes.h - The region of scores for vectors --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recipe has raw scores in vectors whose lanes are keys. This writes what the
// region of the attention makes of them. A value of the region is
//
// - uniform, the same for all lanes: a scalar, and the operations on it are
//   scalar, too;
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
#include "dialect/VisitedKeys.h"

namespace hova {

class ScoreLanes {
public:
  /// `captured` are the tensors that the region captures, as the kernel has
  /// them.
  ScoreLanes(KernelEmitter &emitter, const ScoreForm &form,
             mlir::ValueRange captured, const ScoreExtents &extents);

  /// Says what an index is, for all lanes.
  void setIndex(mlir::Value index, mlir::Value value) {
    known[index] = {value, 0, {}};
  }
  /// Computes what depends on `sources` alone, here and not where it is asked
  /// for.
  void hoist(unsigned sources);

  /// Begins a vector of `lanes` keys from key `first` on. `inside` has the
  /// lanes whose key is one of the extents, or is null, which is all; `tokens`
  /// those that hold no slots.
  void beginLanes(mlir::Value first, int64_t lanes, mlir::Value inside,
                  mlir::Value tokens);
  void setRaw(mlir::Value vector) {
    known[form.region.getRaw()] = {{}, 0, vector};
  }

  /// A number or a condition of the region, as a vector.
  mlir::Value vectorOf(mlir::Value value);

private:
  /// `base + step * lane`, or `vector` where that is there.
  struct Lanes {
    mlir::Value base;
    int64_t step = 0;
    mlir::Value vector;

    bool isUniform() const { return !vector && step == 0; }
  };

  Lanes expand(mlir::Value value);
  Lanes compute(mlir::Value value);
  Lanes computeLinear(mlir::Operation *op, llvm::ArrayRef<Lanes> operands);
  mlir::Value computeUniform(mlir::Operation *op,
                             llvm::ArrayRef<Lanes> operands);
  mlir::Value computeVector(mlir::Operation *op, mlir::ValueRange operands);
  mlir::Value computeMultiplyAdd(mlir::Operation *op);
  mlir::Value asVector(const Lanes &value);
  mlir::Type laneType(mlir::Type type) const;
  bool isNegative(mlir::Value value) const;

  // Elements.
  struct Place {
    Lanes row, column;
    mlir::Value isInside; ///< i1 or a vector of it; null: always
  };
  Lanes read(ElementOp op);
  Place placeOf(ElementOp op);
  Lanes loadUniform(ElementOp op, const Place &place);
  mlir::Value loadLanes(ElementOp op, const Place &place);
  mlir::Value load(mlir::Value memref, mlir::Value row, mlir::Value column,
                   mlir::Value mask);
  Lanes finish(ElementOp op, Lanes element);
  enum class Bounds { inside, insideOfTokens, unknown };
  Bounds boundsOf(ElementOp op) const;

  Lanes add(const Lanes &a, const Lanes &b);
  Lanes times(const Lanes &a, int64_t factor);
  mlir::Value reverse(mlir::Value vector);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value combineMasks(mlir::Value a, mlir::Value b);
  template <typename OpTy, typename... Args> OpTy make(Args &&...args) {
    return e.make<OpTy>(std::forward<Args>(args)...);
  }

  KernelEmitter &e;
  mlir::OpBuilder &b;
  mlir::Location loc;
  const ScoreForm &form;
  mlir::ValueRange captured;
  /// Of all indices, of those of tokens and of those of slots.
  ScoreForm::Ranges ranges, tokenRanges, slotRanges;
  bool hasSlots, isWide;
  int64_t lanes = 0;
  mlir::Value inside, tokens;
  llvm::DenseMap<mlir::Value, Lanes> known;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_SCORELANES_H
