//===- Summary.cpp - hova summary -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect/Summary.h"
#include "tools/hova/session/Plugins.h"
#include "tools/hova/session/Session.h"
#include "tools/hova/verbs/Verbs.h"

int hova::tool::runSummary(Arguments &arguments) {
  frontend::ModelOptions options = readModelOptions(arguments);
  auto kind = arguments.has(OPT_paper) ? inspect::SummaryKind::Paper
                                       : inspect::SummaryKind::Layers;
  bool json = arguments.word(OPT_format) == "json";
  if (arguments.failed()) {
    return *arguments.failed();
  }
  return inspect::runSummary(options, kind, json, llvm::outs(), llvm::errs(),
                             makeDialectRegistry());
}
