//===- driver.c - Runs and times the kernels of generate.py ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -DWIDTH -DGRID -DBATCH of the largest batch that the kernels
// were generated for.
//
//   driver check DATA BATCH THREADS OUT     all forms of a block once
//   driver time DATA BATCH THREADS REPEATS  lower deciles, alternating
//
// DATA holds the arguments that no kernel writes, in their order. Weights are
// cold as in a model: copies of them fill 128 MB, and every call takes the
// next. A part that reads one weight takes the next piece of all 128 MB. x and
// out change places after each call.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  IMAGE = GRID * GRID,
  ROWS = IMAGE * BATCH,
  HEADS = WIDTH / 32,
  ARGUMENTS = 19,
  SCRATCH = 48 << 20,
  COPIES_BYTES = 128 << 20,
  MAX_SAMPLES = 512,
};
#define PANELS(k, n) ((size_t)(k) * (((n) + 63) / 64) * 64)

/// Elements of each argument; those up to `attended` are written to.
static const size_t kSizes[ARGUMENTS] = {(size_t)ROWS * WIDTH, // x
                                         (size_t)ROWS *WIDTH,  // out
                                         3 * (size_t)ROWS *WIDTH,
                                         (size_t)ROWS *WIDTH, // attended
                                         ROWS,
                                         IMAGE / 49,
                                         (size_t)4 * HEADS * 50 * 64,
                                         WIDTH,
                                         WIDTH,
                                         PANELS(WIDTH, 3 * WIDTH),
                                         3 * WIDTH,
                                         PANELS(WIDTH, WIDTH),
                                         WIDTH,
                                         WIDTH,
                                         WIDTH,
                                         PANELS(WIDTH, 4 * WIDTH),
                                         4 * WIDTH,
                                         PANELS(4 * WIDTH, WIDTH),
                                         WIDTH};
enum { X, OUT, QKV, ATTENDED, TABLE, KINDS, SCORES, FIRST_WEIGHT };

#define P void *
typedef void kernel(P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,
                    long, long);
#undef P
#define KERNELS(X)                                                             \
  X(one)                                                                       \
  X(rows_qkv)                                                                  \
  X(rows_attention)                                                            \
  X(rows_mlp)                                                                  \
  X(grid_qkv)                                                                  \
  X(grid_attention)                                                            \
  X(grid_mlp)                                                                  \
  X(panels_attention)                                                          \
  X(bare_attention)                                                            \
  X(part_norm)                                                                 \
  X(part_qkv)                                                                  \
  X(part_attention)                                                            \
  X(part_project)                                                              \
  X(part_norm2)                                                                \
  X(part_hidden)                                                               \
  X(part_output)
#define DECLARE(name) kernel name __asm__(#name ".0.encoder");
KERNELS(DECLARE)
void hova_run_launches(void) {}

typedef enum { WINDOWS, HEADS_OF_WINDOWS, IMAGE_ROWS } unit;
typedef struct {
  kernel *function;
  unit unit;
} launch;
typedef struct {
  const char *name;
  launch launches[3];
  int weight;  ///< the argument that a part reads alone, or 0
  double macs; ///< of a row
} form;

#define C ((double)WIDTH)
static const form kForms[] = {
    {"one", {{one, WINDOWS}}, 0, 12 * C * C + 98 * C},
    {"three, rows of windows",
     {{rows_qkv, IMAGE_ROWS},
      {rows_attention, HEADS_OF_WINDOWS},
      {rows_mlp, IMAGE_ROWS}},
     0,
     12 * C * C + 98 * C},
    {"three, rows of the image",
     {{grid_qkv, IMAGE_ROWS},
      {grid_attention, HEADS_OF_WINDOWS},
      {grid_mlp, IMAGE_ROWS}},
     0,
     12 * C * C + 98 * C},
    {"- norm", {{part_norm, WINDOWS}}, 0, 0},
    {"- qkv", {{part_qkv, WINDOWS}}, 9, 3 * C * C},
    {"- attention", {{part_attention, WINDOWS}}, 0, 98 * C},
    {"- project", {{part_project, WINDOWS}}, 11, C * C},
    {"- residual, norm", {{part_norm2, WINDOWS}}, 0, 0},
    {"- hidden, gelu", {{part_hidden, WINDOWS}}, 15, 4 * C * C},
    {"- output, residual", {{part_output, WINDOWS}}, 17, 4 * C * C},
    {"norm + qkv, windows", {{rows_qkv, IMAGE_ROWS}}, 0, 3 * C * C},
    {"norm + qkv, image", {{grid_qkv, IMAGE_ROWS}}, 0, 3 * C * C},
    {"attention, 32 + 32 keys",
     {{panels_attention, HEADS_OF_WINDOWS}},
     0,
     98 * C},
    {"attention, 32 + 16 + 1", {{rows_attention, HEADS_OF_WINDOWS}}, 0, 98 * C},
    {"the same, denormal powers",
     {{bare_attention, HEADS_OF_WINDOWS}},
     0,
     98 * C},
    {"attention, by table", {{grid_attention, HEADS_OF_WINDOWS}}, 0, 98 * C},
    {"project to output, windows", {{rows_mlp, IMAGE_ROWS}}, 0, 9 * C * C},
    {"project to output, image", {{grid_mlp, IMAGE_ROWS}}, 0, 9 * C * C},
};
enum { FORMS = sizeof kForms / sizeof *kForms, WHOLE = 3, PARTS_END = 10 };

static char *buffers[ARGUMENTS]; ///< as read
static char *copies;             ///< of all weights
static size_t copyBytes, copyCount;
static char *scratch[2];
static int batch, threads;
static float *results; ///< where the last call wrote

static size_t bytesOf(int argument) {
  return (kSizes[argument] * 4 + 63) / 64 * 64;
}

static void *allocate(size_t bytes) {
  void *memory = aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21);
  if (!memory) {
    exit(71);
  }
  memset(memory, 0, bytes);
  return memory;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

//===----------------------------------------------------------------------===//
// Two threads
//===----------------------------------------------------------------------===//

static atomic_int arrived, epoch;
static const form *job; ///< of the other thread; null: end
static char **jobArguments;

static void together(void) {
  if (threads == 1) {
    return;
  }
  int seen = atomic_load(&epoch);
  if (atomic_fetch_add(&arrived, 1) == 1) {
    atomic_store(&arrived, 0);
    atomic_store(&epoch, seen + 1);
  }
  while (atomic_load(&epoch) == seen) {
    _mm_pause();
  }
}

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void runShare(const form *f, char **a, int thread) {
  for (int i = 0; i < 3 && f->launches[i].function; ++i) {
    const launch *l = &f->launches[i];
    long windows = (long)batch * IMAGE / 49;
    long units = l->unit == WINDOWS            ? windows
                 : l->unit == HEADS_OF_WINDOWS ? windows * HEADS
                                               : (long)batch * IMAGE;
    l->function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],
                a[10], a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18],
                scratch[thread], units * thread / threads,
                units * (thread + 1) / threads);
    together();
  }
}

static void *other(void *unused) {
  (void)unused;
  pin(1);
  for (;;) {
    together();
    if (!job) {
      return NULL;
    }
    runShare(job, jobArguments, 1);
  }
}

/// One call with the next weights.
static void call(const form *f) {
  static size_t turn;
  static char *a[ARGUMENTS];
  memcpy(a, buffers, sizeof a);
  size_t own = turn % copyCount, pieces = copyCount * copyBytes;
  char *w = copies + own * copyBytes;
  for (int i = FIRST_WEIGHT; i < ARGUMENTS; w += bytesOf(i), ++i) {
    a[i] = w;
  }
  if (f->weight) {
    size_t bytes = bytesOf(f->weight);
    a[f->weight] = copies + turn % (pieces / bytes) * bytes;
  }
  a[X] = buffers[turn % 2];
  a[OUT] = buffers[1 - turn % 2];
  results = (float *)a[OUT];
  ++turn;
  if (threads > 1) {
    job = f;
    jobArguments = a;
    together();
  }
  runShare(f, a, 0);
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// GFLOP/s of multiply-adds on registers, of one thread. Twelve variables, not
/// an array: a compiler may keep an array in memory.
static double peak(void) {
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#define DECLARE_SUM(i) __m512 c##i = x;
#define STEP(i)                                                                \
  __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(c##i) : "v"(x));
  __m512 x = _mm512_set1_ps(1e-3f);
  EACH(DECLARE_SUM)
  double start = now();
  for (int n = 0; n < 100000; ++n) {
    EACH(STEP)
  }
  return 12 * 100000 * 32e-9 / (now() - start);
}

static int ascending(const void *a, const void *b) {
  double d = *(const double *)a - *(const double *)b;
  return d < 0 ? -1 : d > 0;
}

/// The sample below which a share of the others lies.
static double quantile(const double *samples, int count, double share) {
  static double sorted[MAX_SAMPLES];
  memcpy(sorted, samples, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, ascending);
  return sorted[(int)(share * (count - 1))];
}

static void resetInputs(const char *input) {
  memcpy(buffers[X], input, bytesOf(X));
  memcpy(buffers[OUT], input, bytesOf(X));
}

/// Mean seconds of enough calls for some milliseconds.
static double sample(const form *f, int calls) {
  double start = now();
  for (int i = 0; i < calls; ++i) {
    call(f);
  }
  return (now() - start) / calls;
}

static void printRow(const char *name, double seconds, double macs,
                     double limit) {
  double rate = 2e-9 * macs * batch * IMAGE / seconds;
  printf("| %s | %.1f | %.1f | %.1f |\n", name, seconds * 1e6, rate,
         100 * rate / limit);
}

/// Middle of the quotients of samples taken next to each other.
static double quotient(const double *a, const double *b, int repeats) {
  static double quotients[MAX_SAMPLES];
  for (int r = 0; r < repeats; ++r) {
    quotients[r] = a[r] / b[r];
  }
  return quantile(quotients, repeats, 0.5);
}

static void measure(const char *input, int repeats) {
  static double times[FORMS][MAX_SAMPLES], peaks[MAX_SAMPLES];
  static double sums[MAX_SAMPLES];
  int calls[FORMS];
  for (int i = 0; i < FORMS; ++i) {
    resetInputs(input);
    double once = (sample(&kForms[i], 2), sample(&kForms[i], 2));
    calls[i] = once > 2e-3 ? 1 : (int)(2e-3 / once) + 1;
  }
  for (int r = 0; r < repeats; ++r) {
    peaks[r] = peak() * threads;
    for (int i = 0; i < FORMS; ++i) {
      resetInputs(input);
      sample(&kForms[i], 1);
      times[i][r] = sample(&kForms[i], calls[i]);
      sums[r] += i >= WHOLE && i < PARTS_END ? times[i][r] : 0;
    }
  }
  double limit = quantile(peaks, repeats, 0.9);
  printf("width %d, batch %d, %d thread(s): lower deciles of %d, FMA peak %.1f"
         " GFLOP/s (best %.1f)\n",
         WIDTH, batch, threads, repeats, limit, quantile(peaks, repeats, 1));
  printf("| | us | GFLOP/s | %% of peak |\n|---|---|---|---|\n");
  for (int i = 0; i < FORMS; ++i) {
    printRow(kForms[i].name, quantile(times[i], repeats, 0.1), kForms[i].macs,
             limit);
  }
  printRow("sum of the parts", quantile(sums, repeats, 0.1), kForms[0].macs,
           limit);
  for (int i = 0; i < WHOLE; ++i) {
    printf(
        "%s: %.1f %% of the speed of its parts, %.1f %% of the time of one\n",
        kForms[i].name, 100 * quotient(sums, times[i], repeats),
        100 * quotient(times[i], times[0], repeats));
  }
}

static void readData(const char *path) {
  FILE *file = fopen(path, "rb");
  for (int i = 0; i < ARGUMENTS; ++i) {
    buffers[i] = allocate(bytesOf(i));
    bool written = i == OUT || i == QKV || i == ATTENDED;
    if (!written &&
        (!file || fread(buffers[i], 4, kSizes[i], file) != kSizes[i])) {
      fprintf(stderr, "driver: cannot read argument %d from %s\n", i, path);
      exit(74);
    }
    copyBytes += i >= FIRST_WEIGHT ? bytesOf(i) : 0;
  }
  fclose(file);
  copyCount = COPIES_BYTES / copyBytes + 1;
  copies = allocate(copyCount * copyBytes);
  for (size_t n = 0; n < copyCount; ++n) {
    char *to = copies + n * copyBytes;
    for (int i = FIRST_WEIGHT; i < ARGUMENTS; to += bytesOf(i), ++i) {
      memcpy(to, buffers[i], bytesOf(i));
    }
  }
}

static void check(const char *input, const char *path) {
  FILE *file = fopen(path, "wb");
  for (int i = 0; i < WHOLE && file; ++i) {
    resetInputs(input);
    memset(buffers[QKV], 0xff, bytesOf(QKV));
    memset(buffers[ATTENDED], 0xff, bytesOf(ATTENDED));
    call(&kForms[i]);
    fwrite(results, 4, (size_t)batch * IMAGE * WIDTH, file);
  }
  fclose(file);
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr,
            "usage: driver check|time DATA BATCH THREADS OUT|REPEATS\n");
    return 2;
  }
  readData(argv[2]);
  batch = atoi(argv[3]);
  threads = atoi(argv[4]);
  char *input = allocate(bytesOf(X));
  memcpy(input, buffers[X], bytesOf(X));
  pthread_t thread;
  for (int i = 0; i < threads; ++i) {
    scratch[i] = allocate(SCRATCH);
  }
  if (threads > 1) {
    pthread_create(&thread, NULL, other, NULL);
  }
  pin(0);
  if (strcmp(argv[1], "check") == 0) {
    check(input, argv[5]);
  } else {
    measure(input, atoi(argv[5]));
  }
  if (threads > 1) {
    job = NULL;
    together();
    pthread_join(thread, NULL);
  }
  return 0;
}
