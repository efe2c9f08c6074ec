//===- Verdicts.h - What became of the sites of a program -----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_INSPECT_VERDICTS_H
#define HOVA_TOOLS_INSPECT_VERDICTS_H

#include "codegen/program/DeviceReport.h"
#include "tools/inspect/Places.h"
#include "llvm/Support/JSON.h"

namespace hova::inspect {

/// The verdicts of a module after `assign` for people: a paragraph per site,
/// once for sites of which the same is said, and one per pass that rewrites.
/// With a path, first the layers below it, and the kernels that hold parts of
/// them.
void printVerdicts(mlir::ModuleOp module, const Scope &scope,
                   llvm::raw_ostream &os);

/// The same as one JSON object, with the layers and kernels of the scope, and
/// with what the kernels take of a GPU where `report` says it.
llvm::json::Object verdictsJson(mlir::ModuleOp module, const Scope &scope,
                                const DeviceReport *report);

/// What became of each site and why, in short: "path", "kind", "fused" and
/// "why".
llvm::json::Array briefVerdicts(mlir::ModuleOp module);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_VERDICTS_H
