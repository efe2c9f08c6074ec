//===- ClusterOps.h - Sums that blocks of a cluster add ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_CLUSTEROPS_H
#define HOVA_CODEGEN_CUDA_CLUSTEROPS_H

#include "codegen/cuda/HovaCudaDialect.h"
#include "dialect/group/GroupOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "codegen/cuda/ClusterOps.h.inc"

#endif // HOVA_CODEGEN_CUDA_CLUSTEROPS_H
