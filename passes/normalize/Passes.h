//===- Passes.h - The passes of normalize ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_NORMALIZE_PASSES_H
#define HOVA_PASSES_NORMALIZE_PASSES_H

#include "passes/PassHeaders.h"

namespace hova {

#define GEN_PASS_DECL
#include "passes/normalize/Passes.h.inc"

} // namespace hova

#endif // HOVA_PASSES_NORMALIZE_PASSES_H
