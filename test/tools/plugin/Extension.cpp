//===- Extension.cpp - A pass that says where it stands -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// linear x  ->  linear x {test.placed}, at the point EXTENSION_POINT.

#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/ExtensionPoints.h"

using namespace mlir;

namespace {
struct PlacePass : PassWrapper<PlacePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlacePass)
  StringRef getArgument() const final { return "test-place"; }
  StringRef getDescription() const final { return "Mark linears"; }
  void runOnOperation() final {
    getOperation().walk([](hova::LinearOp op) {
      op->setAttr("test.placed", UnitAttr::get(op->getContext()));
    });
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "extension", LLVM_VERSION_STRING, [] {
            PassRegistration<PlacePass>();
            hova::registerExtension(EXTENSION_POINT, "test-place");
          }};
}
