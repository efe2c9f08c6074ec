//===- SumOps.h - Sums of rows that pass between groups ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_SUMOPS_H
#define HOVA_CODEGEN_CUDA_SUMOPS_H

#include "codegen/cuda/HovaCudaDialect.h"
#include "dialect/group/GroupOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "codegen/cuda/SumOps.h.inc"

#endif // HOVA_CODEGEN_CUDA_SUMOPS_H
