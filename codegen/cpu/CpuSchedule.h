//===- CpuSchedule.h - The schedule of a kernel on a CPU ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The phase `assign` writes the schedule of every kernel as one attribute,
// `#hova_cpu.schedule` (HovaCpuDialect.td tells what each parameter is), and
// the phase `tile` obeys it. The terms are explained in docs/glossary.md.
//
// The stages are regions (`hova.stage`), in their order. Each result of one has
// a layout; where it lives follows from who reads it. An image weight that a
// product reads has `panel`, the columns of a weight panel.
//
// For example:
//
//   %r = hova.kernel "main" units<batch 1, token 197> (%x, %w)
//       attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64,
//                                                 grain = 48, k_block = 256,
//                                                 block = 256>} {
//   ^bb0(%a: tensor<1x197x768xf32>, %b: tensor<768x768xf32>):
//     %r = hova.stage [#hova.layout<rows 784>] {
//       %p = hova.linear %a, %b : ...
//       %s = hova.add %p, %a : ...
//       hova.yield %s : tensor<1x197x768xf32>
//     } : tensor<1x197x768xf32>

#ifndef HOVA_CODEGEN_CPU_CPUSCHEDULE_H
#define HOVA_CODEGEN_CPU_CPUSCHEDULE_H

#include "dialect/program/ProgramOps.h"
#include "passes/Units.h"
#include <limits>

namespace hova {

/// The schedule of one kernel in memory. Each field has the parameter of its
/// name.
struct CpuSchedule {
  Division division = Division::rows; ///< Follows from the kernel's units.
  int64_t tileRows = 1;
  int64_t tileColumns = 1;
  int64_t kBlock = 1;
  int64_t reductionSplit = std::numeric_limits<int64_t>::max();
  int64_t block = 1;
  int64_t lanes = 1;
  int64_t grain = 1;
  bool pairs = false;
  bool matrixUnit = false;

  /// Reads the attribute of `kernel`. Where there is none, it is that of
  /// another target or it does not fit the kernel, reports an error on the
  /// kernel and fails.
  static mlir::FailureOr<CpuSchedule> of(KernelOp kernel);
  /// The same of a kernel whose schedule is known to be whole.
  static CpuSchedule read(KernelOp kernel);
  /// Writes the attribute of `kernel`.
  void write(KernelOp kernel) const;
};

/// The number of parts into which `threads` threads divide `units` units. There
/// is one part per thread, unless a part would have fewer than `grain` units.
inline int64_t partsOf(int64_t units, int64_t grain, int64_t threads) {
  return std::min(threads, std::max<int64_t>(units / grain, 1));
}

} // namespace hova

#endif // HOVA_CODEGEN_CPU_CPUSCHEDULE_H
