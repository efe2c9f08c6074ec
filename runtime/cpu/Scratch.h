//===- Scratch.h - Memory of the threads of a context -----------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A thread needs memory for the launches that it has a part in: their scratch,
// and the values between stages of one block of its chunk. Chunks depend on the
// number of threads, which a context knows when it is created.
//
// Rows of chunks take the place of values that are not alive during a launch;
// scratch of a thread has one place for all launches after them, so that its
// cache lines stay its own.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_CPU_SCRATCH_H
#define HOVA_RUNTIME_CPU_SCRATCH_H

#include "runtime/Sizes.h"
#include "runtime/hova_runtime.h"

#include <stdbool.h>

/// Where the buffers of its chunks lie, in the order of the buffers.
const hova_chunk *hova_chunks_of(const hova_launch *launch);

/// How a run of few rows divides it; null where it has no stages.
const hova_stages *hova_stages_of(const hova_launch *launch);

/// The steps of a launch, `count` of them; null, and one, where it has no
/// stages.
const hova_step *hova_steps_of(const hova_launch *launch, uint64_t *count);

/// The launch after `launch`.
const hova_launch *hova_next_launch(const hova_launch *launch);

/// The bytes of all launches, without the tables after them.
uint64_t hova_launch_bytes(const hova_launches *launches);

/// Makes of `launches`, those of the largest run, those of one of these sizes
/// on `threads` threads: `sized` has a copy of them, and as many bytes.
void hova_size_launches(const hova_launches *launches,
                        const hova_ranges *ranges, const hova_sizes *sizes,
                        uint64_t threads, hova_launches *sized);

/// Threads, of `threads`, that have a part in a launch.
uint64_t hova_parts_of(const hova_launch *launch, uint64_t threads);

/// The units before the chunk of `thread`: the first units % parts chunks are
/// one longer. Kernels have loops for the chunks that this can give alone
/// (RowBlockSizes, codegen/cpu/recipes/RowBlocks.h).
uint64_t hova_units_before(uint64_t thread, uint64_t units, uint64_t parts);

/// Where the chunk of `thread` begins, and that of the thread before ends.
uint64_t hova_chunk_start(const hova_launch *launch, uint64_t thread,
                          uint64_t parts);

/// Rows of each buffer of a launch: of the chunks before a thread's, together,
/// and of all.
typedef struct hova_chunk_rows {
  uint64_t before, all;
} hova_chunk_rows;

hova_chunk_rows hova_rows_of_chunk(const hova_launch *launch, uint64_t thread,
                                   uint64_t parts);

/// Bytes of the arena in front of the first row of a thread's chunk. All that
/// is said of where rows are follows from this: their addresses, and how large
/// the arena is.
uint64_t hova_chunk_place(const hova_chunk *chunk, uint64_t row_bytes,
                          hova_chunk_rows rows);

/// Whether the chunks are all units, every thread's rows are as many as its
/// chunk needs, and nobody else's, and the address that row 0 would have is
/// above zero in an arena at address `arena`. What hova_place_scratch has
/// measured is taken as given. `number` is that of the first launch of which it
/// does not hold.
bool hova_chunks_fit(const hova_launches *launches, uint64_t threads,
                     uintptr_t arena, uint64_t *number);

/// Where scratch of each of `threads` threads begins (`places` may be null) and
/// where the last one ends: after the arena and the rows of chunks. False, and
/// an end of UINT64_MAX, where addresses cannot tell that.
bool hova_place_scratch(const hova_launches *launches, uint64_t threads,
                        uint64_t arena_bytes, uint64_t *places, uint64_t *end);

#endif // HOVA_RUNTIME_CPU_SCRATCH_H
