//===- Passes.h - The passes of vectorize ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_VECTORIZE_PASSES_H
#define HOVA_CODEGEN_CPU_VECTORIZE_PASSES_H

#include "passes/Passes.h"

namespace hova {

#define GEN_PASS_DECL
#include "codegen/cpu/vectorize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/cpu/vectorize/Passes.h.inc"

} // namespace hova

#endif // HOVA_CODEGEN_CPU_VECTORIZE_PASSES_H
