//===- RowsOf.h - The rows of an item ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_ROWSOF_H
#define HOVA_CODEGEN_CPU_RECIPES_ROWSOF_H

#include "passes/tile/Expr.h"

namespace hova {

/// Rows that follow each other.
struct RowsOf {
  Expr first, count;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ROWSOF_H
