//===- AssignPhaseName.cpp - Note which phase a module has gone through ---===//
// SPDX-License-Identifier: Apache-2.0
//
// A dump says itself where its compilation goes on. Never does nothing.

#include "codegen/Passes.h"
#include "codegen/Pipeline.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ASSIGNPHASENAMEPASS
#include "codegen/Passes.h.inc"

namespace {
struct AssignPhaseNamePass final
    : impl::AssignPhaseNamePassBase<AssignPhaseNamePass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->setAttr(kPhaseAttr, StringAttr::get(&getContext(), phase));
  }
};
} // namespace
} // namespace hova
