//===- Emulated.h - How a context emulates its GPU --------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// For programs that emulate a GPU alone, linked as objects.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_CUDA_EMULATED_H
#define HOVA_RUNTIME_CUDA_EMULATED_H

#include "runtime/emulation/Emulation.h"
#include "runtime/hova_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Chooses the order of blocks and warps and when asynchronous copies take
/// place in the next runs. No result depends on it. A new context has seed 0
/// (all in order) and HOVA_EMULATION_LATE.
void hova_set_emulation(hova_context *context, uint64_t seed,
                        hova_emulation_copies copies);

/// Chooses how mma.sync adds in the next runs. A new context has
/// HOVA_EMULATION_IN_ORDER.
void hova_set_emulation_sums(hova_context *context, hova_emulation_sums sums);

/// Chooses where results of `approx` instructions lie in the next runs. A new
/// context has HOVA_EMULATION_NEAREST.
void hova_set_emulation_approximations(hova_context *context,
                                       hova_emulation_approximations way);

/// What all launches of the last run did together.
hova_emulation_counts hova_emulation_counts_of(hova_context *context);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_CUDA_EMULATED_H
