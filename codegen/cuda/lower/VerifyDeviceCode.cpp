//===- VerifyDeviceCode.cpp - Refuse what is not in the table -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stands before the place where the ways to PTX and to emulation part.

#include "codegen/cuda/Passes.h"
#include "codegen/cuda/lower/DeviceOperations.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_VERIFYDEVICECODEPASS
#include "codegen/cuda/Passes.h.inc"

namespace {
struct VerifyDeviceCodePass final
    : impl::VerifyDeviceCodePassBase<VerifyDeviceCodePass> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(verifyDeviceCode(getOperation()))) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace hova
