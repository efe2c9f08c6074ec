//===- Passes.h - The passes of fuse --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_FUSE_PASSES_H
#define HOVA_PASSES_FUSE_PASSES_H

#include "passes/PassHeaders.h"

namespace hova {

#define GEN_PASS_DECL
#include "passes/fuse/Passes.h.inc"

} // namespace hova

#endif // HOVA_PASSES_FUSE_PASSES_H
