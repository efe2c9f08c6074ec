//===- RowCopies.h - Rows that a recipe only moves ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_ROWCOPIES_H
#define HOVA_CODEGEN_CPU_RECIPES_ROWCOPIES_H

#include "codegen/cpu/recipes/KernelEmitter.h"

namespace hova {

/// Hands `width` columns of a source row to the stage, at `column` of `row`.
void copyRow(KernelEmitter &e, mlir::Value source, mlir::Value sourceRow,
             mlir::Value sourceColumn, mlir::Value row, mlir::Value column,
             int64_t width);

/// Hands `width` zeros to the stage, at `column` of `row`.
void zeroRow(KernelEmitter &e, mlir::Value row, mlir::Value column,
             int64_t width);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ROWCOPIES_H
