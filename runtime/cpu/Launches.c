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
  const hova_step *step; ///< of the launch; null: it has none
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
  case HOVA_OF_STEP:
    return (void *)walker->step;
  case HOVA_INPUT:
    return walker->inputs[place >> HOVA_BUFFER_KIND_BITS];
  default:
    return walker->outputs[place >> HOVA_BUFFER_KIND_BITS];
  }
}

/// What a thread does between two meetings: units of a launch, or of one of its
/// steps where a run takes several.
typedef struct part {
  uint64_t number; ///< of the launch
  const hova_launch *launch;
  bool is_whole; ///< all stages on rows of the thread's own
  uint64_t units, parts;
  uint64_t self, begin, end;
} part;

/// The addresses that a kernel is given for a part.
static void find_buffers(const walker *walker, const part *part,
                         void **addresses) {
  const hova_launch *launch = part->launch;
  const uint64_t *buffers = (const uint64_t *)(launch + 1);
  const hova_chunk *chunk = hova_chunks_of(launch);
  // Where stages have steps, what passes between them is everybody's, as if one
  // thread had all rows.
  uint64_t begin = part->is_whole ? part->begin : 0;
  hova_chunk_rows rows = {0, 0};
  for (uint64_t i = 0; i < launch->num_buffers; ++i) {
    if ((buffers[i] & HOVA_BUFFER_KINDS) == HOVA_IN_CHUNK) {
      uint64_t row = buffers[i] & ~(uint64_t)HOVA_BUFFER_KINDS;
      if (rows.all == 0) {
        rows = part->is_whole
                   ? hova_rows_of_chunk(launch, part->self, part->parts)
                   : hova_rows_of_chunk(launch, 0, 1);
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

/// The part of thread `self` of `threads` in a launch, or in a step of it.
static part part_of(const hova_launch *launch, uint64_t number,
                    const hova_step *step, uint64_t steps, uint64_t self,
                    uint64_t threads) {
  part part = {.number = number,
               .launch = launch,
               .is_whole = steps == 1,
               .units = step ? step->units : launch->units,
               .parts = step ? step->parts : launch->parts,
               .self = self};
  part.parts = part.parts < threads ? part.parts : threads;
  // A division takes longer than the rest.
  part.end = self < part.parts ? part.units : 0;
  if (part.parts > 1 && self < part.parts) {
    part.begin = part.is_whole
                     ? hova_chunk_start(launch, self, part.parts)
                     : hova_units_before(self, part.units, part.parts);
    part.end = part.is_whole
                   ? hova_chunk_start(launch, self + 1, part.parts)
                   : hova_units_before(self + 1, part.units, part.parts);
  }
  return part;
}

static void run_part(const walker *walker, const part *part,
                     const hova_job *job, void **addresses, char *scratch,
                     hova_call_fn *call) {
  find_buffers(walker, part, addresses);
  if (job->watch.intercept) {
    job->watch.intercept(job->watch.interceptor, part->number, part->launch,
                         addresses, part->begin, part->end, call);
  } else {
    call(part->launch->kernel, addresses, scratch, part->begin, part->end);
  }
}

/// Into how many parts a launch is divided first, whatever the threads.
static uint64_t first_parts(const hova_launch *launch) {
  uint64_t steps;
  const hova_step *step = hova_steps_of(launch, &steps);
  return step ? step->parts : launch->parts;
}

void hova_run_launches(void *const *inputs, void *const *outputs, char *arena,
                       const char *weights, int64_t thread, int64_t threads,
                       struct hova_team *team, const hova_launches *launches,
                       hova_call_fn *call) {
  const hova_job *job = hova_team_job(team);
  walker walker = {
      inputs,         outputs, arena, weights, (const char *)launches,
      job->sequences, NULL};
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
    uint64_t steps, *span = span_of(job, launches, thread, number);
    bool is_last = number + 1 == launches->count, began = false;
    walker.step = hova_steps_of(launch, &steps);
    for (uint64_t left = steps; left > 0; --left) {
      part part = part_of(launch, number, walker.step, steps, (uint64_t)thread,
                          (uint64_t)threads);
      if (part.begin < part.end) {
        if (span && !began) {
          span[0] = hova_now();
          began = true;
        }
        run_part(&walker, &part, job, addresses, scratch, call);
        if (span) {
          span[1] = hova_now();
        }
      }
      bool is_alone = part.parts == 1;
      if (left > 1) {
        is_alone = is_alone && walker.step[1].parts == 1;
        ++walker.step;
        if (!is_alone) {
          hova_meet(team, thread);
        }
        continue;
      }
      bool alone = is_alone && only < 0 && !is_last && first_parts(next) == 1;
      if (!alone) {
        hova_barrier(team, thread, (int64_t)number);
      } else if (thread == 0) {
        hova_end_kernel(team, (int64_t)number);
      }
    }
    launch = next;
  }
}
