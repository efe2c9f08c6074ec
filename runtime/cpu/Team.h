//===- Team.h - The threads of a context ------------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// One parallel region covers a whole run. The caller is thread 0; the others
// wait for the next run, then execute the same function, meeting at a barrier
// after each kernel.
//
// A barrier is one counter and one phase number. Who arrives last resets the
// counter and raises the phase; the others watch the phase, first spinning,
// then offering their processor to others in between, then asleep in a futex,
// so that an idle context costs nothing and a busy one never enters the kernel.
// With more threads than processors nobody spins: the awaited thread may need
// the very processor.
//
// Which thread computes what depends on its number alone, so results do not
// depend on timing; where it runs is the system's choice, but workers keep off
// the processor of the caller.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_CPU_TEAM_H
#define HOVA_RUNTIME_CPU_TEAM_H

#include "runtime/Machine.h"

#include <stdbool.h>

typedef struct hova_team hova_team;

/// What one run executes.
typedef struct hova_job {
  hova_run_fn *run;
  void *const *inputs;
  void *const *outputs;
  char *arena;
  const uint64_t *scratch; ///< of each thread: bytes from the arena's start
  const char *weights;
  /// With ranges the launches of this run; null: those of the code.
  const hova_launches *launches;
  const char *sequences; ///< the table of its sequences; null: shapes are fixed
  hova_watch watch;
} hova_job;

/// Starts `threads` - 1 threads.
hova_status hova_team_create(int32_t threads, hova_team **team,
                             hova_error *error);
/// `threads` is what it was created with.
void hova_team_destroy(hova_team *team, int32_t threads);

/// Whether this process is a child of the one that created the team, without
/// its threads. Such a team can only be destroyed; one of a single thread is
/// never lost.
bool hova_team_is_lost(const hova_team *team);

/// Runs a job on every thread and returns when all have ended. Least is lost
/// if the job is the last one again and shares no cache line with what the
/// caller writes between runs.
void hova_team_run(hova_team *team, const hova_job *job);

/// Returns when every thread of the team has called it, as hova_barrier does,
/// within a kernel.
void hova_meet(hova_team *team, int64_t thread);

/// The job of the run that goes on.
const hova_job *hova_team_job(const hova_team *team);

/// Nanoseconds of CLOCK_MONOTONIC.
uint64_t hova_now(void);

/// Processors that this process may use, at least 1.
int32_t hova_usable_processors(void);

#endif // HOVA_RUNTIME_CPU_TEAM_H
