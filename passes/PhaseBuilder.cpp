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

void PhaseBuilder::addTo(std::unique_ptr<Pass> pass, StringRef anchor) {
  if (!isListed) {
    return;
  }
  std::string name = pass->getArgument().str();
  extendAt("before-" + name);
  // Neighbours with the same anchor are merged when they run.
  (anchor.empty() ? manager : manager.nest(anchor)).addPass(std::move(pass));
  extendAt("after-" + name);
}

void PhaseBuilder::add(std::unique_ptr<Pass> pass) {
  std::optional<StringRef> anchor = pass->getOpName();
  bool isOnModule = !anchor || *anchor == ModuleOp::getOperationName();
  addTo(std::move(pass), isOnModule ? "" : *anchor);
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
