//===- ProgramOps.h - Weights, kernels and launches
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_PROGRAM_PROGRAMOPS_H
#define HOVA_DIALECT_PROGRAM_PROGRAMOPS_H

#include "dialect/HovaDialect.h"
#include "dialect/Schedule.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/program/ProgramOps.h.inc"

#endif // HOVA_DIALECT_PROGRAM_PROGRAMOPS_H
