//===- team.c - What the thread team costs --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs programs without work, so that only forking, meeting and joining is
// left, and prints medians, 90th percentiles and minima in microseconds:
//
//   fork-join   a run of no kernel, back to back: the workers still watch
//   barrier     a run of 1000 kernels, over 1000
//   unequal     the same, but in each kernel one thread works for 20 us: what
//               waiting costs beyond the work
//   from sleep  a run of no kernel after 5 ms of silence: the workers sleep
//   at work     the same with 10 kernels of 100 us on each thread: what the run
//               takes beyond them; much, if threads share a processor at first
//
// and, of two threads without a team, the limits that the machine sets on the
// first and the fourth:
//
//   lines       a word written by each for the other and seen by it, on two
//               processors
//   bare wake   the same, where the other sleeps in a futex for 5 ms before
//
// where there are two processors.
//
// usage: bench-team THREADS
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Team.h"
#include "runtime/hova_runtime.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  KERNELS = 1000,
  WORK_KERNELS = 10,
  WORK_NANOSECONDS = 20000,
  MOST = 5000,
  SILENCE = 5000000
};

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#define UNUSED __attribute__((unused))
#define PARAMETERS                                                             \
  void *const *inputs UNUSED, void *const *outputs UNUSED, char *arena UNUSED, \
      const char *weights UNUSED, int64_t thread UNUSED,                       \
      int64_t threads UNUSED, struct hova_team *team UNUSED

static void run_nothing(PARAMETERS) {}

static void run_kernels(PARAMETERS) {
  for (int64_t kernel = 0; kernel < KERNELS; ++kernel) {
    hova_barrier(team, thread, kernel);
  }
}

/// In kernel k thread k % threads works.
static void run_unequal(PARAMETERS) {
  for (int64_t kernel = 0; kernel < KERNELS; ++kernel) {
    uint64_t start = now();
    while (kernel % threads == thread && now() - start < WORK_NANOSECONDS) {
    }
    hova_barrier(team, thread, kernel);
  }
}

/// Works by counting, so that two threads on one processor take twice as long.
static uint64_t steps_of_work;
static void work(uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) {
    __asm__ volatile("");
  }
}

static void find_steps(void) {
  const uint64_t steps = 1000000;
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 20; ++i) {
    uint64_t start = now();
    work(steps);
    uint64_t passed = now() - start;
    best = passed < best ? passed : best;
  }
  steps_of_work = steps * WORK_NANOSECONDS * 5 / best;
}

static void run_work(PARAMETERS) {
  for (int64_t kernel = 0; kernel < WORK_KERNELS; ++kernel) {
    work(steps_of_work);
    hova_barrier(team, thread, kernel);
  }
}

/// Two words, each written by one thread and read by the other.
typedef struct {
  _Alignas(128) atomic_uint asked;
  _Alignas(128) atomic_uint answered;
  unsigned exchanges;
  bool sleeps; ///< who answers, until it is asked
} exchange;

/// Keeps the calling thread on the `index`th of the processors it may use.
static void keep_on(int index) {
  cpu_set_t usable, one;
  sched_getaffinity(0, sizeof usable, &usable);
  CPU_ZERO(&one);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &usable) && index-- == 0) {
      CPU_SET(processor, &one);
    }
  }
  sched_setaffinity(0, sizeof one, &one);
}

static void *answer(void *argument) {
  exchange *words = argument;
  keep_on(1);
  for (unsigned i = 1; i <= words->exchanges; ++i) {
    while (atomic_load(&words->asked) != i) {
      if (words->sleeps) {
        syscall(SYS_futex, &words->asked, FUTEX_WAIT_PRIVATE, i - 1, NULL, NULL,
                0);
      } else {
        _mm_pause();
      }
    }
    atomic_store(&words->answered, i);
  }
  return NULL;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(const char *name, double *samples, int runs) {
  qsort(samples, (size_t)runs, sizeof *samples, compare);
  printf("%-11s %9.3f %9.3f %9.3f\n", name, samples[runs / 2],
         samples[runs * 9 / 10], samples[0]);
}

/// Times `runs` runs; one sample is the time of a run over `parts`, less
/// `work`, in microseconds.
static void measure(const char *name, hova_run_fn *run, int32_t threads,
                    int runs, int parts, double work, int silence) {
  hova_level level = {"any", 0, run, NULL, NULL};
  hova_program program = {.abi = HOVA_ABI_VERSION,
                          .num_levels = 1,
                          .name = name,
                          .levels = &level,
                          .num_kernels = KERNELS};
  hova_options options = {.threads = threads};
  hova_context *context;
  if (hova_create(&program, &options, &context) != HOVA_OK) {
    fprintf(stderr, "cannot start %d threads\n", (int)threads);
    exit(1);
  }
  static double samples[MOST];
  for (int i = -1; i < runs; ++i) {
    if (silence) {
      struct timespec pause = {0, silence};
      nanosleep(&pause, NULL);
    }
    uint64_t start = now();
    hova_run(context, NULL, NULL);
    uint64_t end = now();
    if (i >= 0) {
      samples[i] = (double)(end - start) * 1e-3 / parts - work;
    }
  }
  hova_destroy(context);
  print(name, samples, runs);
}

/// Times what asking and answering takes.
static void measure_exchange(const char *name, int runs, int silence) {
  exchange words = {.exchanges = (unsigned)runs, .sleeps = silence > 0};
  pthread_t other;
  if (pthread_create(&other, NULL, answer, &words) != 0) {
    fprintf(stderr, "cannot start a thread\n");
    exit(1);
  }
  cpu_set_t usable;
  sched_getaffinity(0, sizeof usable, &usable);
  keep_on(0);
  static double samples[MOST];
  for (unsigned i = 1; i <= words.exchanges; ++i) {
    if (silence) {
      struct timespec pause = {0, silence};
      nanosleep(&pause, NULL);
    }
    uint64_t start = now();
    atomic_store(&words.asked, i);
    if (silence) {
      syscall(SYS_futex, &words.asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    while (atomic_load(&words.answered) != i) {
      _mm_pause();
    }
    samples[i - 1] = (double)(now() - start) * 1e-3;
  }
  pthread_join(other, NULL);
  sched_setaffinity(0, sizeof usable, &usable);
  print(name, samples, runs);
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 0;
  printf("%-11s %9s %9s %9s\n", "us", "median", "p90", "min");
  measure("fork-join", run_nothing, threads, MOST, 1, 0, 0);
  measure("barrier", run_kernels, threads, 200, KERNELS, 0, 0);
  measure("unequal", run_unequal, threads, 50, KERNELS, WORK_NANOSECONDS * 1e-3,
          0);
  measure("from sleep", run_nothing, threads, 200, 1, 0, SILENCE);
  find_steps();
  measure("at work", run_work, threads, 200, 1,
          WORK_KERNELS * WORK_NANOSECONDS * 5e-3, SILENCE);
  if (hova_usable_processors() > 1) {
    measure_exchange("lines", MOST, 0);
    measure_exchange("bare wake", 200, SILENCE);
  }
  return 0;
}
