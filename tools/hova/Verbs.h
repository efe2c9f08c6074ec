//===- Verbs.h - What hova can do -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function per verb, each in the file of its name; the result is the exit
// status.

#ifndef HOVA_TOOLS_HOVA_VERBS_H
#define HOVA_TOOLS_HOVA_VERBS_H

#include "mlir/IR/BuiltinOps.h"
#include "tools/hova/Arguments.h"

namespace hova::tool {

int runCheck(const Arguments &arguments);
int runCompile(const Arguments &arguments);
int runEvaluate(const Arguments &arguments);
int runExplain(const Arguments &arguments);
int runPackWeights(const Arguments &arguments);
int runSchema(const Arguments &arguments);
int runSummary(const Arguments &arguments);
int runVerify(const Arguments &arguments);

/// The verdicts of a module after `fuse`, one paragraph per attention.
void explainText(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_VERBS_H
