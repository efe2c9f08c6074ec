//===- ColumnOps.h - Operations on columns beside each other ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_COLUMNS_COLUMNOPS_H
#define HOVA_DIALECT_COLUMNS_COLUMNOPS_H

#include "dialect/HovaDialect.h"

#define GET_OP_CLASSES
#include "dialect/columns/ColumnOps.h.inc"

#endif // HOVA_DIALECT_COLUMNS_COLUMNOPS_H
