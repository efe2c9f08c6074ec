//===- Phase.cpp - The passes of tile for all targets ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A target builds the phase (codegen/Target.h).

#include "passes/tile/Phase.h"
#include "passes/tile/Passes.h"

namespace hova {
#define GEN_PASS_REGISTRATION
#include "passes/tile/Passes.h.inc"
} // namespace hova

void hova::registerTilePhase() { registerTilePasses(); }
