//===- Schedule.h - The attributes of a kernel's schedule -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The phase `assign` writes the schedule of every kernel as attributes, and the
// phase `tile` obeys them. The terms are explained in docs/glossary.md.
//
// On a kernel:
//   hova.tile             The register tile of a product: its rows and columns.
//   hova.lanes            The vector length of row operations.
//   hova.grain            The number of units that a thread takes at least.
//   hova.pairs            A unit attribute. Attention in bf16 multiplies pairs.
// On a kernel whose units are rows or weight panels, also:
//   hova.k_block          The K block: steps of K that one pass over the rows
//                         takes at most.
//   hova.reduction_split  The steps of K that are summed in a row at most.
//                         Without it a sum is not split.
//   hova.block            The row group: rows that pass through all stages
//                         together at most.
// On an image weight that a product reads:
//   panel                 The columns of a weight panel.
//
// The stages are regions (`hova.stage`), in their order. Each result of one has
// a layout; where it lives follows from who reads it.
//
// For example:
//
//   %r = hova.kernel "main" units<batch 1, token 197> (%x, %w)
//       attributes {hova.tile = array<i64: 6, 64>, hova.lanes = 64 : i64,
//                   hova.grain = 48 : i64, hova.k_block = 256 : i64,
//                   hova.block = 256 : i64} {
//   ^bb0(%a: tensor<1x197x768xf32>, %b: tensor<768x768xf32>):
//     %r = hova.stage [#hova.layout<rows 784>] {
//       %p = hova.linear %a, %b : ...
//       %s = hova.add %p, %a : ...
//       hova.yield %s : tensor<1x197x768xf32>
//     } : tensor<1x197x768xf32>

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
/// One number per input, and one per result, of a kernel: which of the kernel's
/// arguments is the row table of that value. The number is -1 where rows stand
/// in the kernel's own order. The list of inputs may end early; the inputs that
/// it leaves out have no table.
inline constexpr llvm::StringLiteral kInputRowsAttr = "hova.input_rows";
inline constexpr llvm::StringLiteral kResultRowsAttr = "hova.result_rows";

/// Whether `op` is a view: a slice of columns inside a kernel that belongs to
/// no stage. It takes no time, because it is an address in its operand.
inline bool isKernelView(mlir::Operation *op) {
  auto slice = llvm::dyn_cast_or_null<SliceOp>(op);
  return slice && slice.takesColumns() &&
         !llvm::isa<StageOp>(op->getParentOp());
}

/// The schedule of one kernel in memory. Each field has the attribute of its
/// name.
struct Schedule {
  Division division = Division::rows; ///< Follows from the kernel's units.
  int64_t tileRows = 1;
  int64_t tileColumns = 1;
  int64_t kBlock = 1;
  int64_t reductionSplit = std::numeric_limits<int64_t>::max();
  int64_t block = 1;
  int64_t lanes = 1;
  int64_t grain = 1;
  bool pairs = false;

  /// Reads the attributes of `kernel`. Where one is missing, it reports an
  /// error on the kernel and fails.
  static mlir::FailureOr<Schedule> of(KernelOp kernel);
  /// Writes the attributes of `kernel`.
  void write(KernelOp kernel) const;
};

/// The number of parts into which `threads` threads divide `units` units. There
/// is one part per thread, unless a part would have fewer than `grain` units.
inline int64_t partsOf(int64_t units, int64_t grain, int64_t threads) {
  return std::min(threads, std::max<int64_t>(units / grain, 1));
}

} // namespace hova

#endif // HOVA_PASSES_SCHEDULE_H
