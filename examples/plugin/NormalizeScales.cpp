//===- NormalizeScales.cpp - One factor where there were two --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pass outside of hova's repository. A scale of a scale is one scale by the
// product of both factors, which is rounded once. Leaves a scale alone whose
// operand has other readers: it would be computed anyway.

#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/ExtensionPoints.h"

using namespace mlir;

namespace {

struct NormalizeScalesPass
    : PassWrapper<NormalizeScalesPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NormalizeScalesPass)
  StringRef getArgument() const final { return "normalize-scales"; }
  StringRef getDescription() const final {
    return "Write a scale of a scale as one";
  }

  /// %y = scale %x by a ; scale %y by b  ->  scale %x by a * b
  void runOnOperation() final {
    getOperation().walk([](hova::ScaleOp op) {
      auto inner = op.getX().getDefiningOp<hova::ScaleOp>();
      if (!inner || !inner->hasOneUse()) {
        return;
      }
      double factor = op.getFactor().convertToDouble() *
                      inner.getFactor().convertToDouble();
      op.setFactor(APFloat(factor));
      op.getXMutable().assign(inner.getX());
      inner->erase();
    });
  }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "scales", LLVM_VERSION_STRING, [] {
            PassRegistration<NormalizeScalesPass>();
            hova::registerExtension("after-normalize", "normalize-scales");
          }};
}
