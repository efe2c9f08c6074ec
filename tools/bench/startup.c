//===- startup.c - What a short-lived process costs -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Starts a command again and again, its output thrown away, and prints the
// time from before exec to its end, its processor time, the memory that was
// resident at most and its page faults (medians; 90th percentile and minimum
// of the time too). A process of its own, because the peak memory of a child
// begins with that of the process that started it: this one's is about 2 MiB.
//
// usage: bench-startup RUNS COMMAND...
//
//===----------------------------------------------------------------------===//

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { MOST_RUNS = 10000, MEASURES = 4 };
static double measured[MEASURES][MOST_RUNS];

static double milliseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static double milliseconds(struct timeval time) {
  return (double)time.tv_sec * 1e3 + (double)time.tv_usec * 1e-3;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  int runs = argc > 2 ? atoi(argv[1]) : 0;
  if (runs < 1 || runs > MOST_RUNS) {
    fprintf(stderr, "usage: bench-startup RUNS COMMAND...\n");
    return 2;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  // The first run brings the files into memory.
  for (int run = -1; run < runs; ++run) {
    pid_t child;
    int status;
    struct rusage usage;
    double start = milliseconds_now();
    int failure =
        posix_spawnp(&child, argv[2], &actions, NULL, argv + 2, environ);
    if (failure) {
      fprintf(stderr, "cannot start '%s': %s\n", argv[2], strerror(failure));
      return 1;
    }
    wait4(child, &status, 0, &usage);
    double end = milliseconds_now();
    if (status != 0) {
      fprintf(stderr, "'%s' failed\n", argv[2]);
      return 1;
    }
    if (run >= 0) {
      measured[0][run] = end - start;
      measured[1][run] =
          milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
      measured[2][run] = (double)usage.ru_maxrss / 1024;
      measured[3][run] = (double)usage.ru_minflt;
    }
  }
  for (int i = 0; i < MEASURES; ++i) {
    qsort(measured[i], (size_t)runs, sizeof *measured[i], compare);
  }
  int middle = runs / 2;
  printf("ms %.2f (p90 %.2f, min %.2f)  cpu ms %.2f  resident MiB %.1f  faults "
         "%.0f\n",
         measured[0][middle], measured[0][runs * 9 / 10], measured[0][0],
         measured[1][middle], measured[2][middle], measured[3][middle]);
  return 0;
}
