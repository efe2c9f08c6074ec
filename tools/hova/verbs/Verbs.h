//===- Verbs.h - What hova can do -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function per verb, each in the file of its name, and what chooses among
// them; the result is the exit status.

#ifndef HOVA_TOOLS_HOVA_VERBS_VERBS_H
#define HOVA_TOOLS_HOVA_VERBS_VERBS_H

#include "mlir/IR/BuiltinOps.h"
#include "tools/hova/options/Arguments.h"

namespace hova::tool {

/// What `hova` does with the words of its command line.
int runCommand(llvm::ArrayRef<const char *> words);

int runCheck(Arguments &arguments);
int runCompile(Arguments &arguments);
int runCompletion(Arguments &arguments);
int runImport(Arguments &arguments);
int runEvaluate(Arguments &arguments);
int runExplain(Arguments &arguments);
int runPackWeights(Arguments &arguments);
int runProfile(Arguments &arguments);
int runSchema(Arguments &arguments);
int runSummary(Arguments &arguments);
int runVerify(Arguments &arguments);
int runView(Arguments &arguments);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_VERBS_VERBS_H
