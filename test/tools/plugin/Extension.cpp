//===- Extension.cpp - Passes that say where they stand -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// linear x  ->  linear x {test.placed}, at the point EXTENSION_POINT. Programs
// are right without two more, test.optional and test.reassociating.

#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/ExtensionPoints.h"

using namespace mlir;

namespace {
void mark(func::FuncOp function, StringRef mark) {
  function.walk([&](hova::LinearOp op) {
    op->setAttr(mark, UnitAttr::get(op->getContext()));
  });
}

struct PlacePass : PassWrapper<PlacePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlacePass)
  StringRef getArgument() const final { return "test-place"; }
  StringRef getDescription() const final { return "Mark linears"; }
  void runOnOperation() final { mark(getOperation(), "test.placed"); }
};

struct OptionalPass : PassWrapper<OptionalPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OptionalPass)
  StringRef getArgument() const final { return "test-optional"; }
  StringRef getDescription() const final { return "Mark linears, or not"; }
  void runOnOperation() final { mark(getOperation(), "test.optional"); }
};

struct ReassociatingPass
    : PassWrapper<ReassociatingPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReassociatingPass)
  StringRef getArgument() const final { return "test-reassociating"; }
  StringRef getDescription() const final { return "Mark linears, or not"; }
  void runOnOperation() final { mark(getOperation(), "test.reassociating"); }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "extension", LLVM_VERSION_STRING, [] {
            using hova::ExtensionUse;
            PassRegistration<PlacePass>();
            PassRegistration<OptionalPass>();
            PassRegistration<ReassociatingPass>();
            hova::registerExtension(EXTENSION_POINT, "test-place");
            hova::registerExtension(EXTENSION_POINT, OPTIONAL_PASSES,
                                    ExtensionUse::optional);
            hova::registerExtension(EXTENSION_POINT, "test-reassociating",
                                    ExtensionUse::reassociating);
          }};
}
