//===- RowTables.h - Where a kernel's rows are in another order -----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_ROWTABLES_H
#define HOVA_PASSES_ROWTABLES_H

#include "dialect/program/ProgramOps.h"

namespace hova {

/// One number per input, and one per result, of a kernel: which of the kernel's
/// arguments is the row table of that value. The number is -1 where rows stand
/// in the kernel's own order. The list of inputs may end early; the inputs that
/// it leaves out have no table.
inline constexpr llvm::StringLiteral kInputRowsAttr = "hova.input_rows";
inline constexpr llvm::StringLiteral kResultRowsAttr = "hova.result_rows";

/// Whether these numbers, where the kernel has them, are those of row tables.
/// Reports an error on the kernel.
llvm::LogicalResult checkRowTables(KernelOp kernel);

} // namespace hova

#endif // HOVA_PASSES_ROWTABLES_H
