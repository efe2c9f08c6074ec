//===- HovaCudaDialect.h - What a GPU says of kernels ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_HOVACUDADIALECT_H
#define HOVA_CODEGEN_CUDA_HOVACUDADIALECT_H

#include "dialect/Schedule.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "passes/fuse/FusionPolicy.h"

#include "codegen/cuda/HovaCudaDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cuda/HovaCudaAttrs.h.inc"

#endif // HOVA_CODEGEN_CUDA_HOVACUDADIALECT_H
