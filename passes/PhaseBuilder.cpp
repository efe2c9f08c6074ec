//===- PhaseBuilder.cpp - A phase while its passes are listed -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/PhaseBuilder.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hova {

PhaseBuilder::PhaseBuilder(OpPassManager &manager, StringRef phase,
                           const PassSelection &selection,
                           const ExtendPipeline &extend, PhasePart part)
    : manager(manager), phase(phase), selection(selection), extend(extend),
      isListed(part == PhasePart::All) {
  extendAt("before-" + phase);
}

void PhaseBuilder::extendAt(const Twine &point) {
  if (extend && isListed) {
    extend(point.str(), manager);
  }
}

void PhaseBuilder::addTo(std::unique_ptr<Pass> pass, StringRef root) {
  if (!isListed) {
    return;
  }
  std::string name = pass->getArgument().str();
  extendAt("before-" + name);
  // Neighbours with the same root are merged when they run.
  (root.empty() ? manager : manager.nest(root)).addPass(std::move(pass));
  extendAt("after-" + name);
}

void PhaseBuilder::add(std::unique_ptr<Pass> pass) {
  std::optional<StringRef> root = pass->getOpName();
  bool isOnModule = !root || *root == ModuleOp::getOperationName();
  addTo(std::move(pass), isOnModule ? "" : *root);
}

void PhaseBuilder::addOptional(std::unique_ptr<Pass> pass) {
  if (selection.runs(pass->getArgument())) {
    add(std::move(pass));
  }
}

void PhaseBuilder::addCheck(std::unique_ptr<Pass> pass) {
  extendAt("after-" + phase);
  isListed = true; // whichever part is
  add(std::move(pass));
}

} // namespace hova
