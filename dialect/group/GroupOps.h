//===- GroupOps.h - Tiles that a group of threads holds -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_GROUP_GROUPOPS_H
#define HOVA_DIALECT_GROUP_GROUPOPS_H

#include "dialect/HovaDialect.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"

#define GET_TYPEDEF_CLASSES
#include "dialect/group/GroupTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/group/GroupOps.h.inc"

namespace hova {

// What operations on tiles of a group have in common, those of a target too.

/// Whether `matrix`, the operand called `name`, has static columns, which stand
/// beside each other, and rows a static distance apart; an error on `op` if
/// not.
mlir::LogicalResult verifyRows(mlir::Operation *op, llvm::StringRef name,
                               mlir::MemRefType matrix);
/// Whether `in_bounds` says something of rows and of columns.
mlir::LogicalResult verifyInBounds(mlir::Operation *op,
                                   llvm::ArrayRef<bool> inBounds);

} // namespace hova

#endif // HOVA_DIALECT_GROUP_GROUPOPS_H
