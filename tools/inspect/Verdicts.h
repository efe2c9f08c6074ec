//===- Verdicts.h - What became of the sites of a program -----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_INSPECT_VERDICTS_H
#define HOVA_TOOLS_INSPECT_VERDICTS_H

#include "mlir/IR/BuiltinOps.h"

namespace hova::inspect {

/// The verdicts of a module after `fuse` for people: a paragraph per site, once
/// for sites of which the same is said, and one per pass that rewrites.
void printVerdicts(mlir::ModuleOp module, llvm::raw_ostream &os);

/// One JSON object.
void printVerdictsJson(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_VERDICTS_H
