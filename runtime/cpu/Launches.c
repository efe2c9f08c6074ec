//===- Launches.c - A run as every thread walks it ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What follows from the number of a thread alone is computed here, once for
// every launch; generated code only calls the kernel.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Team.h"

typedef struct walker {
  void *const *inputs, *const *outputs;
  char *arena;
  const char *weights;
} walker;

/// Where a buffer lies.
static void *address_of(const walker *walker, uint64_t buffer) {
  uint64_t place = buffer & ~(uint64_t)HOVA_BUFFER_KINDS;
  switch (buffer & HOVA_BUFFER_KINDS) {
  case HOVA_IN_ARENA:
    return walker->arena + place;
  case HOVA_IN_WEIGHTS:
    return (char *)walker->weights + place;
  case HOVA_INPUT:
    return walker->inputs[place >> HOVA_BUFFER_KIND_BITS];
  default:
    return walker->outputs[place >> HOVA_BUFFER_KIND_BITS];
  }
}

/// The units before the share of `thread`: the first units % parts shares are
/// one longer.
static uint64_t units_before(uint64_t thread, uint64_t units, uint64_t parts) {
  uint64_t longer = units % parts;
  return thread * (units / parts) + (thread < longer ? thread : longer);
}

void hova_run_launches(void *const *inputs, void *const *outputs, char *arena,
                       const char *weights, int64_t thread, int64_t threads,
                       struct hova_team *team, const hova_launches *launches,
                       hova_call_fn *call) {
  const walker walker = {inputs, outputs, arena, weights};
  char *scratch = arena + launches->scratch_start +
                  (uint64_t)thread * launches->scratch_bytes;
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  const hova_job *job = hova_team_job(team);
  int64_t only = job->only;
  void *addresses[launches->most_buffers];
  for (uint64_t number = 0; number < launches->count; ++number) {
    const uint64_t *buffers = (const uint64_t *)(launch + 1);
    const hova_launch *next =
        (const hova_launch *)(buffers + launch->num_buffers);
    if (only >= 0 && number != (uint64_t)only) {
      launch = next;
      continue;
    }
    uint64_t self = (uint64_t)thread, parts = launch->parts;
    parts = parts < (uint64_t)threads ? parts : (uint64_t)threads;
    if (self < parts) {
      for (uint64_t i = 0; i < launch->num_buffers; ++i) {
        addresses[i] = address_of(&walker, buffers[i]);
      }
      // A division takes longer than the rest.
      uint64_t begin = 0, end = launch->units;
      if (parts > 1) {
        begin = units_before(self, launch->units, parts);
        end = units_before(self + 1, launch->units, parts);
      }
      if (job->intercept) {
        job->intercept(job->interceptor, number, launch, addresses, begin, end,
                       call);
      } else {
        call(launch->kernel, addresses, scratch, begin, end);
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
