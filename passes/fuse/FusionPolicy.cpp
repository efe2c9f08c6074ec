//===- FusionPolicy.cpp - Which joins pay on a target ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/FusionPolicy.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

#include "passes/fuse/FusionPolicy.cpp.inc"

namespace hova {

FailureOr<FusionPolicyAttrInterface> parseFusionPolicy(StringRef text,
                                                       MLIRContext *context) {
  if (text.empty()) {
    return FusionPolicyAttrInterface();
  }
  Attribute parsed = parseAttribute(text, context);
  if (!parsed) {
    return failure();
  }
  auto policy = dyn_cast<FusionPolicyAttrInterface>(parsed);
  if (!policy) {
    return emitError(UnknownLoc::get(context), "no fusion policy: ") << parsed;
  }
  return policy;
}

} // namespace hova
