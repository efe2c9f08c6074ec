//===- ProgramTables.h - The tables by which kernels find rows --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_REFERENCE_PROGRAMTABLES_H
#define HOVA_CODEGEN_REFERENCE_PROGRAMTABLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace hova {

/// What the table program of `code` stores (passes/tile/ProgramAttrs.h): as
/// many bytes as `main` says, each table at its offset, in the order of bytes
/// of the processors that hova compiles for. Empty where the program has none.
/// Fails with an error where a table depends on a weight, is not of integers,
/// or has no place.
mlir::FailureOr<llvm::SmallVector<int64_t>>
evaluateTables(mlir::ModuleOp code, mlir::func::FuncOp main);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_PROGRAMTABLES_H
