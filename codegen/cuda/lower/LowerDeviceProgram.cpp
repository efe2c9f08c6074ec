//===- LowerDeviceProgram.cpp - The kernels of a program alone ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which kernels run, and on what, is data for a GPU, made of the `main` that
// stands beside the code. What is lowered is the kernels. The tables that they
// read are evaluated here.

#include "codegen/cuda/DeviceProgram.h"
#include "codegen/cuda/Passes.h"
#include "codegen/reference/ProgramTables.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERDEVICEPROGRAMPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
struct LowerDeviceProgramPass final
    : impl::LowerDeviceProgramPassBase<LowerDeviceProgramPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp code = getOperation();
    auto main = code.lookupSymbol<func::FuncOp>("main");
    if (!main || !main->hasAttr(kArenaBytesAttr)) {
      return;
    }
    FailureOr<SmallVector<int64_t>> tables = evaluateTables(code, main);
    if (failed(tables)) {
      return signalPassFailure();
    }
    if (!tables->empty()) {
      code->setAttr(kTablesAttr,
                    DenseI64ArrayAttr::get(&getContext(), *tables));
    }
    if (auto program = code.lookupSymbol<func::FuncOp>(kTableProgram)) {
      program.erase();
    }
    main.erase();
    // Kernels are found by name from outside.
    for (auto kernel : code.getOps<func::FuncOp>()) {
      kernel.setPublic();
    }
  }
};
} // namespace
} // namespace hova
