//===- WgmmaOps.h - Asynchronous products of warp groups --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_WGMMAOPS_H
#define HOVA_CODEGEN_CUDA_WGMMAOPS_H

#include "codegen/cuda/HovaCudaDialect.h"
#include "dialect/group/GroupOps.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "codegen/cuda/WgmmaOps.h.inc"

#endif // HOVA_CODEGEN_CUDA_WGMMAOPS_H
