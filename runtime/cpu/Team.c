//===- Team.c - The threads of a context ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/Team.h"

#include <errno.h>
#include <immintrin.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// About 50 microseconds, longer than kernels differ between threads.
#define SPINS 2000
/// Address space, not memory: kernels keep tiles on the stack.
#define STACK_BYTES (8u << 20)

/// A number that threads wait to see changed, alone on its cache line.
typedef struct gate {
  _Alignas(64) atomic_uint phase;
  atomic_uint sleepers;
} gate;

typedef struct worker {
  hova_team *team;
  int64_t thread;
  pthread_t handle;
} worker;

struct hova_team {
  gate barrier;
  gate start;
  _Alignas(64) atomic_uint arrived;
  _Alignas(64) int64_t threads;
  unsigned spins;
  bool stop;
  hova_job job;
  worker *workers; ///< [threads - 1]
};

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

static long futex(atomic_uint *word, int operation, unsigned value) {
  return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL,
                 NULL, 0);
}

/// Returns once the phase is no longer `old`.
static void wait_for_change(gate *gate, unsigned old, unsigned spins) {
  for (unsigned i = 0; i < spins; ++i) {
    if (atomic_load_explicit(&gate->phase, memory_order_acquire) != old) {
      return;
    }
    _mm_pause();
  }
  // Sequentially consistent against `open_gate`: either it sees the sleeper,
  // or the futex sees the new phase and does not sleep.
  atomic_fetch_add(&gate->sleepers, 1);
  while (atomic_load(&gate->phase) == old) {
    futex(&gate->phase, FUTEX_WAIT, old);
  }
  atomic_fetch_sub(&gate->sleepers, 1);
}

static void open_gate(gate *gate) {
  atomic_fetch_add(&gate->phase, 1);
  if (atomic_load(&gate->sleepers) != 0) {
    futex(&gate->phase, FUTEX_WAKE, INT_MAX);
  }
}

/// Returns when every thread of the team has called it.
static void meet(hova_team *team) {
  if (team->threads == 1) {
    return;
  }
  unsigned phase =
      atomic_load_explicit(&team->barrier.phase, memory_order_relaxed);
  unsigned others = (unsigned)(team->threads - 1);
  if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) ==
      others) {
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    open_gate(&team->barrier);
    return;
  }
  wait_for_change(&team->barrier, phase, team->spins);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void hova_barrier(struct hova_team *team, int64_t thread, int64_t kernel) {
  meet(team);
  if (thread == 0 && team->job.times) {
    team->job.times[kernel + 1] = now();
  }
  if (team->job.hook) {
    if (thread == 0) {
      team->job.hook(team->job.user, kernel);
    }
    meet(team);
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static void run_share(hova_team *team, int64_t thread) {
  const hova_job *job = &team->job;
  job->run(job->inputs, job->outputs, job->arena, job->weights, thread,
           team->threads, team);
  meet(team);
}

static void *run_worker(void *argument) {
  worker *self = argument;
  hova_team *team = self->team;
  unsigned phase = 0;
  for (;;) {
    wait_for_change(&team->start, phase, team->spins);
    ++phase;
    if (team->stop) {
      return NULL;
    }
    run_share(team, self->thread);
  }
}

void hova_team_run(hova_team *team, const hova_job *job) {
  // The caller may have set another rounding mode or flushing of subnormals;
  // all threads must compute alike.
  const unsigned standard = 0x1f80;
  unsigned control = _mm_getcsr();
  _mm_setcsr(standard);
  team->job = *job;
  if (job->times) {
    job->times[0] = now();
  }
  if (team->threads > 1) {
    open_gate(&team->start);
  }
  run_share(team, 0);
  _mm_setcsr(control);
}

//===----------------------------------------------------------------------===//
// Starting and ending
//===----------------------------------------------------------------------===//

int32_t hova_usable_processors(void) {
  // The kernel refuses a mask shorter than its own.
  for (size_t bytes = sizeof(cpu_set_t); bytes <= 1u << 16; bytes *= 2) {
    cpu_set_t *set = malloc(bytes);
    if (!set) {
      return 1;
    }
    int failed = sched_getaffinity(0, bytes, set);
    int number = errno;
    int count = failed ? 0 : CPU_COUNT_S(bytes, set);
    free(set);
    if (!failed) {
      return count < 1 ? 1 : count;
    }
    if (number != EINVAL) {
      return 1;
    }
  }
  return 1;
}

static int start_worker(worker *worker) {
  pthread_attr_t attributes;
  int failure = pthread_attr_init(&attributes);
  if (failure) {
    return failure;
  }
  failure = pthread_attr_setstacksize(&attributes, STACK_BYTES);
  // Signals are for the threads of the embedding program.
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  sigdelset(&all, SIGSEGV);
  sigdelset(&all, SIGILL);
  sigdelset(&all, SIGFPE);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  if (!failure) {
    failure = pthread_create(&worker->handle, &attributes, run_worker, worker);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return failure;
}

/// Ends the first `started` workers and frees the team.
static void end(hova_team *team, int64_t started) {
  if (started > 0) {
    team->stop = true;
    open_gate(&team->start);
  }
  for (int64_t i = 0; i < started; ++i) {
    pthread_join(team->workers[i].handle, NULL);
  }
  free(team->workers);
  free(team);
}

hova_status hova_team_create(int32_t threads, hova_team **created,
                             hova_error *error) {
  hova_team *team = aligned_alloc(64, sizeof *team);
  worker *workers = calloc((size_t)threads, sizeof *workers);
  if (!team || !workers) {
    free(team);
    free(workers);
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for %d threads",
                     threads);
  }
  memset(team, 0, sizeof *team);
  team->threads = threads;
  team->workers = workers;
  team->spins = threads <= hova_usable_processors() ? SPINS : 0;
  for (int64_t i = 0; i + 1 < threads; ++i) {
    workers[i].team = team;
    workers[i].thread = i + 1;
    int failure = start_worker(&workers[i]);
    if (failure) {
      end(team, i);
      return hova_fail(error, HOVA_OUT_OF_MEMORY,
                       "cannot start thread %lld of %d: %s", (long long)i + 2,
                       threads, strerror(failure));
    }
  }
  *created = team;
  return HOVA_OK;
}

void hova_team_destroy(hova_team *team) {
  if (team) {
    end(team, team->threads - 1);
  }
}
