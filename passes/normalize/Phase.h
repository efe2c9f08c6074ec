//===- Phase.h - The phase normalize ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_NORMALIZE_PHASE_H
#define HOVA_PASSES_NORMALIZE_PHASE_H

#include "passes/FuseOptions.h"
#include "passes/PhaseBuilder.h"

namespace hova {

/// Adds the passes of the phase; the last checks its promise.
void buildNormalizePhase(PhaseBuilder &phase, const FuseOptions &options);

/// Registers the passes of the phase by name.
void registerNormalizePhase();

} // namespace hova

#endif // HOVA_PASSES_NORMALIZE_PHASE_H
