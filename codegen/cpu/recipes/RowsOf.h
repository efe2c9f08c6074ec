//===- RowsOf.h - The rows of an item, and strips ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_ROWSOF_H
#define HOVA_CODEGEN_CPU_RECIPES_ROWSOF_H

#include "passes/tile/Expr.h"

namespace hova {

/// Rows that follow each other.
struct RowsOf {
  Expr first, count;
};

/// Strips of columns, panels of a weight, from one up to before another.
struct Strips {
  Expr begin, end;
};

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_ROWSOF_H
