//===- FusionPolicy.h - Which joins pay on a target -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_FUSE_FUSIONPOLICY_H
#define HOVA_PASSES_FUSE_FUSIONPOLICY_H

#include "dialect/Interfaces.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace hova {
struct Group;
} // namespace hova

#include "passes/fuse/FusionPolicy.h.inc"

namespace hova {

/// The policy that an option of a pass has the text of; null of an empty one.
/// Fails, with an error, where the text is none.
llvm::FailureOr<FusionPolicyAttrInterface>
parseFusionPolicy(llvm::StringRef text, mlir::MLIRContext *context);

} // namespace hova

#endif // HOVA_PASSES_FUSE_FUSIONPOLICY_H
