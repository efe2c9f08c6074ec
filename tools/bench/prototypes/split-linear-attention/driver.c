//===- driver.c - Check and time the programs of one attention ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Linked with the objects of all programs and with libhova_runtime, so that
// programs alternate in one process. The runtime's walk over launches is
// wrapped (`-Wl,--wrap=hova_run_launches`) to divide units among any number of
// threads: the compiler leaves small launches to one.
//
// usage: driver check FOLDER           writes results, compares their bits
//        driver time FOLDER ROUNDS     prints program,threads,kernel,us and
//                                      peak,threads,fma,GFLOP/s of all threads
//
//===----------------------------------------------------------------------===//

#define main peak_main // its bursts are measured between the programs
#include "tools/bench/peak.c"
#undef main
#include "runtime/hova_runtime.h"

#include <string.h>

enum { TOKENS = 3136, WIDTH = 64, FEATURES = 32, MAX_WORDS = 256 };
enum { WARMUPS = 4, RUNS = 5, MOST_KERNELS = 8 };
static const int kThreads[] = {1, 2, 3, 7, 16, 64};

#define PROGRAM(name) extern const hova_program hova_program_##name;
#include "programs.inc"
#undef PROGRAM
static const hova_program *const kPrograms[] = {
#define PROGRAM(name) &hova_program_##name,
#include "programs.inc"
#undef PROGRAM
};
enum { PROGRAMS = sizeof(kPrograms) / sizeof(*kPrograms) };

static float *kqv, *weights[2], *out;

void __real_hova_run_launches(void *const *inputs, void *const *outputs,
                              char *arena, const char *image, int64_t thread,
                              int64_t threads, struct hova_team *team,
                              const hova_launches *launches,
                              hova_call_fn *call);

/// As many parts as there are units.
void __wrap_hova_run_launches(void *const *inputs, void *const *outputs,
                              char *arena, const char *image, int64_t thread,
                              int64_t threads, struct hova_team *team,
                              const hova_launches *launches,
                              hova_call_fn *call) {
  uint64_t words[MAX_WORDS];
  memcpy(words, launches, sizeof(*launches));
  uint64_t at = sizeof(*launches) / sizeof(uint64_t);
  for (uint64_t i = 0; i < launches->count; ++i) {
    const uint64_t *from = (const uint64_t *)launches + at;
    const hova_launch *read = (const hova_launch *)from;
    uint64_t size =
        (sizeof(hova_launch) + read->num_shares * sizeof(hova_share)) /
            sizeof(uint64_t) +
        read->num_buffers + read->num_costs;
    memcpy(words + at, from, size * sizeof(uint64_t));
    hova_launch *launch = (hova_launch *)(words + at);
    launch->parts = launch->units;
    at += size;
  }
  __real_hova_run_launches(inputs, outputs, arena, image, thread, threads, team,
                           (const hova_launches *)words, call);
}

static float *read_floats(const char *folder, const char *name, size_t count) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  float *data = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  if (!file || fread(data, sizeof(float), count, file) != count) {
    fprintf(stderr, "driver: cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
  return data;
}

static hova_context *create(const hova_program *program, int threads) {
  hova_context *context;
  hova_options options = {.threads = threads};
  if (hova_create(program, &options, &context) != HOVA_OK) {
    fprintf(stderr, "driver: cannot create %s\n", program->name);
    exit(1);
  }
  return context;
}

static void run(hova_context *context) {
  static int64_t kqv_shape[] = {TOKENS, 3 * WIDTH};
  static int64_t weight_shape[] = {WIDTH, FEATURES};
  static int64_t out_shape[] = {TOKENS, WIDTH};
  bool is_favor = strncmp(hova_program_of(context)->name, "favor", 5) == 0;
  hova_tensor inputs[] = {
      hova_make_tensor("kqv", HOVA_F32, 2, kqv_shape, kqv),
      hova_make_tensor("weight", HOVA_F32, 2, weight_shape, weights[is_favor])};
  hova_tensor output = hova_make_tensor("out", HOVA_F32, 2, out_shape, out);
  if (hova_run(context, inputs, &output) != HOVA_OK) {
    fprintf(stderr, "driver: %s\n", hova_message(context));
    exit(1);
  }
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

static int check(const char *folder) {
  size_t bytes = sizeof(float) * TOKENS * WIDTH;
  float *first = malloc(bytes);
  int failures = 0;
  for (int p = 0; p < PROGRAMS; ++p) {
    printf("%s", kPrograms[p]->name);
    for (size_t t = 0; t < sizeof(kThreads) / sizeof(*kThreads); ++t) {
      hova_context *context = create(kPrograms[p], kThreads[t]);
      for (int repeat = 0; repeat < 3; ++repeat) {
        memset(out, 255, bytes);
        run(context);
        if (t == 0 && repeat == 0) {
          memcpy(first, out, bytes);
        }
        bool is_equal = memcmp(first, out, bytes) == 0;
        failures += !is_equal;
        printf(",%d", is_equal);
      }
      hova_destroy(context);
    }
    printf("\n");
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.out", folder, kPrograms[p]->name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(first, 1, bytes, file) != bytes || fclose(file)) {
      fprintf(stderr, "driver: cannot write %s\n", path);
      return 1;
    }
  }
  free(first);
  return failures != 0;
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// A line for each kernel and one for all of a run, in microseconds.
static void print_times(const hova_program *program, int threads,
                        const uint64_t *times) {
  uint32_t count = program->num_kernels;
  for (uint32_t k = 0; k < count; ++k) {
    printf("%s,%d,%s,%.3f\n", program->name, threads, program->kernels[k].path,
           (double)(times[k + 1] - times[k]) * 1e-3);
  }
  printf("%s,%d,all,%.3f\n", program->name, threads,
         (double)(times[count] - times[0]) * 1e-3);
}

static void time_runs(hova_context *context, int threads) {
  uint64_t times[RUNS][MOST_KERNELS + 1];
  for (int i = -WARMUPS; i < RUNS; ++i) {
    hova_set_times(context, times[i < 0 ? 0 : i]);
    run(context);
  }
  for (int i = 0; i < RUNS; ++i) {
    print_times(hova_program_of(context), threads, times[i]);
  }
}

static int measure_all(int rounds) {
  hova_context *contexts[PROGRAMS][2];
  for (int p = 0; p < PROGRAMS; ++p) {
    contexts[p][0] = create(kPrograms[p], 1);
    contexts[p][1] = create(kPrograms[p], 2);
  }
  for (int round = 0; round < rounds; ++round) {
    for (int threads = 1; threads <= 2; ++threads) {
      printf("peak,%d,fma,%.3f\n", threads, rate(fma_512, threads, 32, 1));
      for (int n = 0; n < PROGRAMS; ++n) {
        // Another neighbour in each round.
        int p = (n * (round % 2 ? PROGRAMS - 1 : 1) + round) % PROGRAMS;
        time_runs(contexts[p][threads - 1], threads);
      }
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  bool is_check = argc == 3 && strcmp(argv[1], "check") == 0;
  if (!is_check && !(argc == 4 && strcmp(argv[1], "time") == 0)) {
    fprintf(stderr, "usage: driver check FOLDER | driver time FOLDER ROUNDS\n");
    return 2;
  }
  kqv = read_floats(argv[2], "kqv.in", TOKENS * 3 * WIDTH);
  weights[0] = read_floats(argv[2], "t2t.in", WIDTH * FEATURES);
  weights[1] = read_floats(argv[2], "favor.in", WIDTH * FEATURES);
  out = aligned_alloc(64, sizeof(float) * TOKENS * WIDTH);
  return is_check ? check(argv[2]) : measure_all(atoi(argv[3]));
}
