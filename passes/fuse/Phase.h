//===- Phase.h - The phase fuse ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_FUSE_PHASE_H
#define HOVA_PASSES_FUSE_PHASE_H

#include "passes/FuseOptions.h"
#include "passes/PhaseBuilder.h"

namespace hova {

/// Adds the passes of the phase; the last checks its promise.
void buildFusePhase(PhaseBuilder &phase, const FuseOptions &options);

/// Registers the passes of the phase by name.
void registerFusePhase();

} // namespace hova

#endif // HOVA_PASSES_FUSE_PHASE_H
