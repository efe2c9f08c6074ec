//===- CheckKernels.h - What `tile` relies on -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_CHECKKERNELS_H
#define HOVA_PASSES_TILE_CHECKKERNELS_H

#include "passes/tile/ProgramTiler.h"

namespace hova {

/// Whether `main` consists of kernels that loops can be made for. Passes may
/// run between the phases before and `tile`, so their verify passes are not
/// enough. Reports the first thing that is not so on its operation.
llvm::LogicalResult checkKernels(mlir::func::FuncOp main,
                                 const KernelCode &code);

} // namespace hova

#endif // HOVA_PASSES_TILE_CHECKKERNELS_H
