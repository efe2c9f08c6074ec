//===- Schema.cpp - hova schema -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/verbs/Verbs.h"
#include "tools/inspect/Summary.h"

int hova::tool::runSchema(Arguments &) {
  return inspect::runSchema(llvm::outs());
}
