//===- Phase.h - The passes of tile for all targets -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_PHASE_H
#define HOVA_PASSES_TILE_PHASE_H

namespace hova {

/// Registers those passes of the phase by name that all targets have.
void registerTilePhase();

} // namespace hova

#endif // HOVA_PASSES_TILE_PHASE_H
