//===- Schedule.h - The attributes of a kernel's schedule -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `assign` decides and `tile` obeys. On a kernel: `units`, `hova.tile`
// (rows and columns of a product's register tile), `hova.lanes` (vector length
// of row operations), `hova.grain` (units that a thread takes at least),
// `hova.pairs` where an attention of bf16 multiplies pairs; where units are
// rows, also `hova.k_block` (steps of the inner dimension that one pass over
// the rows takes at most), `hova.reduction_split` (steps that are summed in a
// row at most; none: as many as there are) and `hova.block` (rows that pass
// through all stages together, at most). On each operation of a row kernel:
// `hova.stage`; operations of one stage share a loop nest, whose anchor is the
// stage's first operation, the others being element-wise on its tiles. On image
// weights: `panel`.

#ifndef HOVA_PASSES_SCHEDULE_H
#define HOVA_PASSES_SCHEDULE_H

#include "dialect/ProgramOps.h"
#include "dialect/TokenOps.h"
#include "passes/Units.h"
#include <limits>

namespace hova {

inline constexpr llvm::StringLiteral kTileAttr = "hova.tile";
inline constexpr llvm::StringLiteral kKBlockAttr = "hova.k_block";
inline constexpr llvm::StringLiteral kReductionSplitAttr =
    "hova.reduction_split";
inline constexpr llvm::StringLiteral kBlockAttr = "hova.block";
inline constexpr llvm::StringLiteral kLanesAttr = "hova.lanes";
inline constexpr llvm::StringLiteral kGrainAttr = "hova.grain";
inline constexpr llvm::StringLiteral kPairsAttr = "hova.pairs";
inline constexpr llvm::StringLiteral kStageAttr = "hova.stage";
/// Of the inputs and of the results of a kernel: the number of the argument
/// that is the table of their rows, -1 for those in the kernel's order. Inputs
/// behind the last have none.
inline constexpr llvm::StringLiteral kInputRowsAttr = "hova.input_rows";
inline constexpr llvm::StringLiteral kResultRowsAttr = "hova.result_rows";

/// A column slice inside a kernel is an address of its operand.
inline bool isKernelView(mlir::Operation *op) {
  auto slice = llvm::dyn_cast_or_null<SliceOp>(op);
  return slice && !op->hasAttr(kStageAttr);
}

/// The schedule of one kernel, as read from its attributes.
struct Schedule {
  Division division = Division::rows;
  int64_t tileRows = 1;
  int64_t tileColumns = 1;
  int64_t kBlock = 1;
  int64_t reductionSplit = std::numeric_limits<int64_t>::max();
  int64_t block = 1;
  int64_t lanes = 1;
  int64_t grain = 1;
  bool pairs = false;

  /// Fails, with an error on the kernel, where an attribute is missing.
  static mlir::FailureOr<Schedule> of(KernelOp kernel);
  void write(KernelOp kernel) const;
};

/// Parts that `threads` threads make of `units` units.
inline int64_t partsOf(int64_t units, int64_t grain, int64_t threads) {
  return std::min(threads, std::max<int64_t>(units / grain, 1));
}

} // namespace hova

#endif // HOVA_PASSES_SCHEDULE_H
