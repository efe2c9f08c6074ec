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
  const char *launches;
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
  case HOVA_INPUT:
    return walker->inputs[place >> HOVA_BUFFER_KIND_BITS];
  default:
    return walker->outputs[place >> HOVA_BUFFER_KIND_BITS];
  }
}

/// What the first `units` units cost.
static uint64_t cost_before(const hova_launch *launch, const uint64_t *costs,
                            uint64_t units) {
  uint64_t count = launch->num_costs, rest = units % count;
  return units / count * costs[count - 1] + (rest ? costs[rest - 1] : 0);
}

/// The number of units whose cost is nearest to that of the parts before
/// `thread`.
static uint64_t units_of_cost(const hova_launch *launch, const uint64_t *costs,
                              uint64_t thread, uint64_t parts) {
  uint64_t wanted = cost_before(launch, costs, launch->units) * thread / parts;
  uint64_t low = 0, high = launch->units;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (cost_before(launch, costs, middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool nearer = low > 0 && wanted - cost_before(launch, costs, low - 1) <
                               cost_before(launch, costs, low) - wanted;
  return nearer ? low - 1 : low;
}

/// Where the share of `thread` begins, and that of the thread before ends.
static uint64_t share_start(const hova_launch *launch, uint64_t thread,
                            uint64_t parts) {
  const uint64_t *behind = (const uint64_t *)(launch + 1);
  return launch->num_costs ? units_of_cost(launch, behind + launch->num_buffers,
                                           thread, parts)
                           : hova_units_before(thread, launch->units, parts);
}

/// The addresses that a kernel is given for the share of `thread`, which begins
/// with unit `begin`.
static void find_buffers(const walker *walker, const hova_launch *launch,
                         uint64_t thread, uint64_t parts, uint64_t begin,
                         void **addresses) {
  const uint64_t *buffers = (const uint64_t *)(launch + 1);
  const hova_share *share = hova_shares_of(launch);
  uint64_t before = 0, rows = 0;
  for (uint64_t i = 0; i < launch->num_buffers; ++i) {
    if ((buffers[i] & HOVA_BUFFER_KINDS) == HOVA_IN_SHARE) {
      uint64_t row = buffers[i] & ~(uint64_t)HOVA_BUFFER_KINDS;
      if (rows == 0) {
        before = hova_rows_before(launch, thread, parts);
        rows = hova_rows_before(launch, parts, parts);
      }
      // Not an address: the thread need not have the row of unit 0.
      uintptr_t place = (uintptr_t)walker->arena + share->offset +
                        rows * share->row_bytes_before;
      addresses[i] = (void *)(place + before * row - begin * row);
      ++share;
    } else {
      addresses[i] = address_of(walker, buffers[i]);
    }
  }
}

/// Where a run keeps when this thread began and ended its share of a kernel;
/// null: nowhere.
static uint64_t *span_of(const hova_job *job, const hova_launches *launches,
                         int64_t thread, uint64_t number) {
  return job->spans
             ? job->spans + 2 * ((uint64_t)thread * launches->count + number)
             : NULL;
}

void hova_run_launches(void *const *inputs, void *const *outputs, char *arena,
                       const char *weights, int64_t thread, int64_t threads,
                       struct hova_team *team, const hova_launches *launches,
                       hova_call_fn *call) {
  const walker walker = {inputs, outputs, arena, weights,
                         (const char *)launches};
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  const hova_job *job = hova_team_job(team);
  char *scratch = arena + job->scratch[thread];
  int64_t only = job->only;
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
      begin = share_start(launch, self, parts);
      end = share_start(launch, self + 1, parts);
    }
    if (begin < end) {
      find_buffers(&walker, launch, self, parts, begin, addresses);
      uint64_t *span = span_of(job, launches, thread, number);
      if (span) {
        span[0] = hova_now();
      }
      if (job->intercept) {
        job->intercept(job->interceptor, number, launch, addresses, begin, end,
                       call);
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
