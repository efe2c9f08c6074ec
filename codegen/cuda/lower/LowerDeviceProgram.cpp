//===- LowerDeviceProgram.cpp - The kernels of a program alone ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which kernels run, and on what, is data for a GPU, made of the `main` that
// stands beside the code. What is lowered is the kernels. The tables that they
// read are evaluated here.

#include "codegen/cuda/DeviceProgram.h"
#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "codegen/reference/ProgramTables.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERDEVICEPROGRAMPASS
#include "codegen/cuda/Passes.h.inc"

/// Whether no launch writes a buffer.
static bool isSettled(Value buffer) {
  return isa_and_nonnull<ImageBufferOp, TableBufferOp>(buffer.getDefiningOp());
}

/// Says of each kernel which of its buffers no launch writes, in whichever of
/// its launches.
static void noteSettled(ModuleOp code, func::FuncOp main) {
  llvm::MapVector<StringRef, SmallVector<bool>> settled;
  for (auto launch : main.getOps<LaunchOp>()) {
    auto [found, isNew] =
        settled.insert({launch.getCallee(),
                        SmallVector<bool>(launch.getBuffers().size(), true)});
    for (auto [all, buffer] :
         llvm::zip_equal(found->second, launch.getBuffers())) {
      all &= isSettled(buffer);
    }
  }
  for (auto &[name, all] : settled) {
    SmallVector<int64_t> numbers;
    for (auto [number, is] : llvm::enumerate(all)) {
      if (is) {
        numbers.push_back(number);
      }
    }
    if (auto kernel = code.lookupSymbol<func::FuncOp>(name)) {
      kernel->setAttr(kSettledAttr,
                      DenseI64ArrayAttr::get(code.getContext(), numbers));
    }
  }
}

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
    if (gpuOf(code).overlapsLaunches) {
      noteSettled(code, main);
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
