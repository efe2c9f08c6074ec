//===- TileCudaKernels.cpp - Kernels as functions of a block of threads ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Where values lie is settled for every target alike (ProgramTiler.h); what a
// block does is written by the recipes of the operations. Does nothing to a
// module without `@main`.

#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/recipes/CudaKernelCode.h"
#include "dialect/group/GroupOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_TILECUDAKERNELSPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
struct TileCudaKernelsPass final
    : impl::TileCudaKernelsPassBase<TileCudaKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(tileProgram(getOperation(), CudaKernelCode()))) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
