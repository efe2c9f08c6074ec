//===- RegisterPasses.cpp - Every target-neutral pass by its name ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Passes.h"
#include "passes/normalize/Passes.h"
#include "passes/tile/Passes.h"

namespace hova {

#define GEN_PASS_REGISTRATION
#include "passes/normalize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/fuse/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/tile/Passes.h.inc"

void registerHovaPasses() {
  registerNormalizePasses();
  registerFusePasses();
  registerTilePasses();
}

} // namespace hova
