//===- TileCpuKernels.cpp - Kernels as loops for a CPU --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where values lie is settled for every target alike (ProgramTiler.h); the
// loops are those of the CPU's recipes. Does nothing to a module without
// `@main`.

#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/recipes/CpuKernelCode.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_TILECPUKERNELSPASS
#include "codegen/cpu/Passes.h.inc"

namespace {
struct TileCpuKernelsPass final
    : impl::TileCpuKernelsPassBase<TileCpuKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(tileProgram(getOperation(), CpuKernelCode()))) {
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace hova
