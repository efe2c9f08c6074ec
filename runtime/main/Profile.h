//===- Profile.h - Which layer and which stage takes the time ---*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_PROFILE_H
#define HOVA_RUNTIME_MAIN_PROFILE_H

#include "runtime/main/Writer.h"

/// The time of every kernel over some runs.
typedef struct profile {
  double *kernel_ms; ///< [num_kernels], the mean of the runs; null: none
  uint64_t runs;
} profile;

/// Writes `, "profile": {..}`: the kernels, their stages and the places of the
/// description, with their times. A kernel's time is measured; where it has
/// several parts, it is divided by the work that was counted for each.
void hova_write_profile(writer *out, const hova_program *program,
                        const profile *measured);

#endif // HOVA_RUNTIME_MAIN_PROFILE_H
