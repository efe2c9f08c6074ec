//===- Scratch.h - Memory of the threads of a context -----------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A thread needs memory for the launches that it has a part in: their scratch,
// and the values between stages of one block of its share. Shares depend on the
// number of threads, which a context knows when it is created.
//
// Rows of shares take the place of values that are not alive during a launch;
// scratch of a thread has one place for all launches behind them, so that its
// cache lines stay its own.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_CPU_SCRATCH_H
#define HOVA_RUNTIME_CPU_SCRATCH_H

#include "runtime/hova_runtime.h"

#include <stdbool.h>

/// Where the buffers of its shares lie, in the order of the buffers.
const hova_share *hova_shares_of(const hova_launch *launch);

/// The launch behind `launch`.
const hova_launch *hova_next_launch(const hova_launch *launch);

/// Threads, of `threads`, that have a part in a launch.
uint64_t hova_parts_of(const hova_launch *launch, uint64_t threads);

/// The units before the share of `thread`: the first units % parts shares are
/// one longer. Kernels have loops for the shares that this can give alone
/// (RowBlockSizes, codegen/cpu/recipes/RowBlocks.h).
uint64_t hova_units_before(uint64_t thread, uint64_t units, uint64_t parts);

/// Rows of each buffer that the shares before `thread` have together.
uint64_t hova_rows_before(const hova_launch *launch, uint64_t thread,
                          uint64_t parts);

/// Where scratch of each of `threads` threads begins (`places` may be null) and
/// where the last one ends: behind the arena and the rows of shares. False, and
/// an end of UINT64_MAX, where addresses cannot tell that.
bool hova_place_scratch(const hova_launches *launches, uint64_t threads,
                        uint64_t arena_bytes, uint64_t *places, uint64_t *end);

#endif // HOVA_RUNTIME_CPU_SCRATCH_H
