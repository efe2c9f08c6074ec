//===- Launches.c - A run as every thread walks it ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What follows from the number of a thread alone is computed here, once for
// every launch; generated code only calls the kernel.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Scratch.h"
#include "runtime/cpu/Team.h"

typedef struct walker {
  void *const *inputs, *const *outputs;
  char *arena;
  const char *weights;
  const char *launches; ///< where the tables lie
  const char *sequences;
} walker;

/// Where a buffer lies that all threads see.
static void *address_of(const walker *walker, uint64_t buffer) {
  uint64_t place = buffer & ~(uint64_t)HOVA_BUFFER_KINDS;
  switch (buffer & HOVA_BUFFER_KINDS) {
  case HOVA_IN_ARENA:
    return walker->arena + place;
  case HOVA_IN_WEIGHTS:
    return (char *)walker->weights + place;
  case HOVA_IN_TABLES:
    return (char *)walker->launches + place;
  case HOVA_IN_SEQUENCES:
    return (char *)walker->sequences + place;
  case HOVA_INPUT:
    return walker->inputs[place >> HOVA_BUFFER_KIND_BITS];
  default:
    return walker->outputs[place >> HOVA_BUFFER_KIND_BITS];
  }
}

/// The addresses that a kernel is given for the chunk of `thread`, which begins
/// with unit `begin`.
static void find_buffers(const walker *walker, const hova_launch *launch,
                         uint64_t thread, uint64_t parts, uint64_t begin,
                         void **addresses) {
  const uint64_t *buffers = (const uint64_t *)(launch + 1);
  const hova_chunk *chunk = hova_chunks_of(launch);
  hova_chunk_rows rows = {0, 0};
  for (uint64_t i = 0; i < launch->num_buffers; ++i) {
    if ((buffers[i] & HOVA_BUFFER_KINDS) == HOVA_IN_CHUNK) {
      uint64_t row = buffers[i] & ~(uint64_t)HOVA_BUFFER_KINDS;
      if (rows.all == 0) {
        rows = hova_rows_of_chunk(launch, thread, parts);
      }
      char *first = walker->arena + hova_chunk_place(chunk, row, rows);
      // Kernels number rows by units, so they are given where the row of unit 0
      // would be. That is a number, not an address: the thread need not have
      // that row. hova_chunks_fit has seen that it is not negative.
      addresses[i] = (void *)((uintptr_t)first - begin * row);
      ++chunk;
    } else {
      addresses[i] = address_of(walker, buffers[i]);
    }
  }
}

/// Where a run keeps when this thread began and ended its chunk of a kernel;
/// null: nowhere.
static uint64_t *span_of(const hova_job *job, const hova_launches *launches,
                         int64_t thread, uint64_t number) {
  return job->watch.spans
             ? job->watch.spans +
                   2 * ((uint64_t)thread * launches->count + number)
             : NULL;
}

void hova_run_launches(void *const *inputs, void *const *outputs, char *arena,
                       const char *weights, int64_t thread, int64_t threads,
                       struct hova_team *team, const hova_launches *launches,
                       hova_call_fn *call) {
  const hova_job *job = hova_team_job(team);
  const walker walker = {
      inputs, outputs, arena, weights, (const char *)launches, job->sequences};
  launches = job->launches ? job->launches : launches;
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  char *scratch = arena + job->scratch[thread];
  int64_t only = job->watch.only;
  void *addresses[launches->most_buffers];
  for (uint64_t number = 0; number < launches->count; ++number) {
    const hova_launch *next = hova_next_launch(launch);
    if (only >= 0 && number != (uint64_t)only) {
      launch = next;
      continue;
    }
    uint64_t self = (uint64_t)thread;
    uint64_t parts = hova_parts_of(launch, (uint64_t)threads);
    // A division takes longer than the rest.
    uint64_t begin = 0, end = self < parts ? launch->units : 0;
    if (parts > 1 && self < parts) {
      begin = hova_chunk_start(launch, self, parts);
      end = hova_chunk_start(launch, self + 1, parts);
    }
    if (begin < end) {
      find_buffers(&walker, launch, self, parts, begin, addresses);
      uint64_t *span = span_of(job, launches, thread, number);
      if (span) {
        span[0] = hova_now();
      }
      if (job->watch.intercept) {
        job->watch.intercept(job->watch.interceptor, number, launch, addresses,
                             begin, end, call);
      } else {
        call(launch->kernel, addresses, scratch, begin, end);
      }
      if (span) {
        span[1] = hova_now();
      }
    }
    bool alone = only < 0 && launch->parts == 1 &&
                 number + 1 < launches->count && next->parts == 1;
    if (!alone) {
      hova_barrier(team, thread, (int64_t)number);
    } else if (thread == 0) {
      hova_end_kernel(team, (int64_t)number);
    }
    launch = next;
  }
}
