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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/// How long a thread watches before it sleeps: longer than kernels differ
/// between threads, and several times what waking takes (5 to 60 microseconds).
/// Otherwise whoever waits for a waking thread falls asleep in its turn, and so
/// do they all at every barrier.
#define WATCH_NANOSECONDS 200000
/// How long it does so without offering its processor, after which the awaited
/// thread may be queued.
#define KEEP_NANOSECONDS 10000
/// Looks at the gate between two looks at the clock.
#define LOOKS 32
#define WORDS_OF_SET (sizeof(cpu_set_t) / sizeof(unsigned long))
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
  atomic_int avoided; ///< processor that it keeps off; -1: none
} worker;

/// Lines that a run writes lie apart from those that it only reads.
struct hova_team {
  gate barrier;
  gate start;
  _Alignas(64) atomic_uint arrived;
  _Alignas(64) atomic_int caller_processor;
  _Alignas(64) int64_t threads; ///< 0: lost in a fork
  const hova_job *job;          ///< of this run and usually of the next
  /// 0 with more threads than processors: the awaited thread may need the very
  /// processor.
  uint64_t watch_nanoseconds;
  bool stop;
  /// Processors of the caller, a bit each; none: unknown. Read while they are
  /// renewed: a mixture of old and new words is as good a hint.
  atomic_ulong usable[WORDS_OF_SET];
  worker workers[]; ///< [threads - 1]
};

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//
//
// The system often wakes a thread where its waker runs, above all in a virtual
// machine, where idle processors seem to be away. Both would share one
// processor until the next balancing, milliseconds later. So workers keep off
// the caller's processor; all others are left to the system, because contexts
// know nothing of each other.

static void note_caller(hova_team *team) {
  atomic_store_explicit(&team->caller_processor, sched_getcpu(),
                        memory_order_relaxed);
}

/// Moves a worker away from the caller. A hint, which the system may refuse.
static void keep_off(hova_team *team, worker *worker, pthread_t handle) {
  int processor =
      atomic_load_explicit(&team->caller_processor, memory_order_relaxed);
  int avoided = atomic_load_explicit(&worker->avoided, memory_order_relaxed);
  if (processor == avoided || processor < 0 || processor >= CPU_SETSIZE) {
    return;
  }
  atomic_store_explicit(&worker->avoided, processor, memory_order_relaxed);
  unsigned long words[WORDS_OF_SET];
  for (size_t i = 0; i < WORDS_OF_SET; ++i) {
    words[i] = atomic_load_explicit(&team->usable[i], memory_order_relaxed);
  }
  cpu_set_t others;
  memcpy(&others, words, sizeof others);
  CPU_CLR((size_t)processor, &others);
  pthread_setaffinity_np(handle, sizeof others, &others);
}

static void note_usable(hova_team *team) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) {
    return;
  }
  unsigned long words[WORDS_OF_SET];
  memcpy(words, &usable, sizeof words);
  for (size_t i = 0; i < WORDS_OF_SET; ++i) {
    atomic_store_explicit(&team->usable[i], words[i], memory_order_relaxed);
  }
}

/// Before sleeping workers wake.
static void keep_workers_off(hova_team *team) {
  if (!team->watch_nanoseconds) {
    return;
  }
  note_usable(team);
  for (int64_t i = 0; i + 1 < team->threads; ++i) {
    keep_off(team, &team->workers[i], team->workers[i].handle);
  }
}

/// While `thread` waits: it, or the one it waits for, may have moved.
static void check_place(hova_team *team, int64_t thread) {
  if (thread == 0) {
    note_caller(team);
  } else if (sched_getcpu() == atomic_load_explicit(&team->caller_processor,
                                                    memory_order_relaxed)) {
    keep_off(team, &team->workers[thread - 1], pthread_self());
  }
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

static long futex(atomic_uint *word, int operation, unsigned value) {
  return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL,
                 NULL, 0);
}

uint64_t hova_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/// Returns whether the phase is no longer `old`, at the latest after the time
/// to watch. Counts time, not looks: a pause takes 10 to 60 nanoseconds,
/// depending on the processor.
static bool watch(hova_team *team, int64_t thread, gate *gate, unsigned old) {
  uint64_t start = 0, passed = 0;
  while (passed < team->watch_nanoseconds) {
    for (unsigned i = 0; i < LOOKS; ++i) {
      if (atomic_load_explicit(&gate->phase, memory_order_acquire) != old) {
        return true;
      }
      _mm_pause();
    }
    if (passed > KEEP_NANOSECONDS) {
      check_place(team, thread);
      sched_yield();
    }
    start = start ? start : hova_now();
    passed = hova_now() - start;
  }
  return false;
}

/// Returns once the phase is no longer `old`.
static void wait_for_change(hova_team *team, int64_t thread, gate *gate,
                            unsigned old) {
  if (watch(team, thread, gate, old)) {
    return;
  }
  // Sequentially consistent against `open_gate`: either it sees the sleeper,
  // or the futex sees the new phase and does not sleep.
  atomic_fetch_add(&gate->sleepers, 1);
  while (atomic_load(&gate->phase) == old) {
    futex(&gate->phase, FUTEX_WAIT, old);
  }
  atomic_fetch_sub(&gate->sleepers, 1);
}

static bool has_sleepers(gate *gate) {
  return atomic_load(&gate->sleepers) != 0;
}

static void open_gate(gate *gate) {
  atomic_fetch_add(&gate->phase, 1);
  if (has_sleepers(gate)) {
    futex(&gate->phase, FUTEX_WAKE, INT_MAX);
  }
}

void hova_meet(hova_team *team, int64_t thread) {
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
  wait_for_change(team, thread, &team->barrier, phase);
}

void hova_end_kernel(struct hova_team *team, int64_t kernel) {
  const hova_job *job = team->job;
  if (job->watch.times) {
    job->watch.times[kernel + 1] = hova_now();
  }
  if (job->watch.hook) {
    job->watch.hook(job->watch.user, kernel);
  }
}

void hova_barrier(struct hova_team *team, int64_t thread, int64_t kernel) {
  hova_meet(team, thread);
  if (thread == 0) {
    hova_end_kernel(team, kernel);
  }
  if (team->job->watch.hook) {
    hova_meet(team, thread);
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

const hova_job *hova_team_job(const hova_team *team) { return team->job; }

static void run_part(hova_team *team, int64_t thread) {
  const hova_job *job = team->job;
  job->run(job->inputs, job->outputs, job->arena, job->weights, thread,
           team->threads, team);
  hova_meet(team, thread);
}

static void *run_worker(void *argument) {
  worker *self = argument;
  hova_team *team = self->team;
  unsigned phase = 0;
  for (;;) {
    wait_for_change(team, self->thread, &team->start, phase);
    ++phase;
    if (team->stop) {
      return NULL;
    }
    run_part(team, self->thread);
  }
}

void hova_team_run(hova_team *team, const hova_job *job) {
  // The caller may have set another rounding mode or flushing of subnormals;
  // all threads must compute alike.
  const unsigned standard = 0x1f80;
  unsigned control = _mm_getcsr();
  _mm_setcsr(standard);
  if (team->job != job) {
    team->job = job;
  }
  if (job->watch.times) {
    job->watch.times[0] = hova_now();
  }
  if (team->threads > 1) {
    note_caller(team);
    if (has_sleepers(&team->start)) {
      keep_workers_off(team);
    }
    open_gate(&team->start);
  }
  run_part(team, 0);
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

static size_t team_bytes(int64_t threads) {
  return sizeof(hova_team) + (size_t)(threads - 1) * sizeof(worker);
}

/// In pages of its own. A child of fork() has the memory of its parent, but not
/// the threads, and would wait for them for ever: it finds zeros here.
static hova_team *allocate(int64_t threads) {
  hova_team *team = mmap(NULL, team_bytes(threads), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (team == MAP_FAILED) {
    return NULL;
  }
  if (threads > 1) {
    madvise(team, team_bytes(threads), MADV_WIPEONFORK);
  }
  return team;
}

/// Ends the first `started` workers.
static void end(hova_team *team, int64_t started) {
  if (started > 0) {
    team->stop = true;
    open_gate(&team->start);
  }
  for (int64_t i = 0; i < started; ++i) {
    pthread_join(team->workers[i].handle, NULL);
  }
}

hova_status hova_team_create(int32_t threads, hova_team **created,
                             hova_error *error) {
  hova_team *team = allocate(threads);
  if (!team) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for %d threads",
                     threads);
  }
  team->threads = threads;
  team->watch_nanoseconds =
      threads <= hova_usable_processors() ? WATCH_NANOSECONDS : 0;
  // A worker may look for its place at once.
  note_caller(team);
  note_usable(team);
  for (int64_t i = 0; i + 1 < threads; ++i) {
    team->workers[i].team = team;
    team->workers[i].thread = i + 1;
    atomic_init(&team->workers[i].avoided, -1);
    int failure = start_worker(&team->workers[i]);
    if (failure) {
      end(team, i);
      munmap(team, team_bytes(threads));
      return hova_fail(error, HOVA_OUT_OF_MEMORY,
                       "cannot start thread %lld of %d: %s", (long long)i + 2,
                       threads, strerror(failure));
    }
  }
  keep_workers_off(team);
  *created = team;
  return HOVA_OK;
}

bool hova_team_is_lost(const hova_team *team) { return team->threads == 0; }

void hova_team_destroy(hova_team *team, int32_t threads) {
  if (!team) {
    return;
  }
  if (!hova_team_is_lost(team)) {
    end(team, threads - 1);
  }
  munmap(team, team_bytes(threads));
}
