//===- measure.c - Check and time TNT's inner block with tokens in lanes --===//
// SPDX-License-Identifier: Apache-2.0
//
// Every form of the block is compared with the same arithmetic in double on
// all patches; then blocks and stages are timed in turns. Beside each sample
// the FMA rate is measured for a quarter of a millisecond, before and after,
// since the clock of a core changes. A sample counts if nothing interrupted it
// and both rates agree within 3 %. FLOP are those of products and attention
// alone: softmax, norms and GELU count as time and not as work. A stage is
// timed on one group of patches, whose data stay in L1.
//
// usage: measure [ROUNDS]
//
//===----------------------------------------------------------------------===//

#define main peak_main
#include "../../peak.c"
#undef main

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

enum { TOKENS = 16, WIDTH = 24, HEADS = 4, HEAD = 6, HIDDEN = 96 };
enum { ONE_IMAGE = 196, PATCHES = 8 * ONE_IMAGE, MAX_ROUNDS = 501 };
enum { STAGES = 7, STREAM = PATCHES * TOKENS * WIDTH };

typedef void kernel(const float *x, const float *gain1, const float *shift1,
                    const float *query, const float *output,
                    const float *output_bias, const float *gain2,
                    const float *shift2, const float *hidden,
                    const float *hidden_bias, const float *back,
                    const float *back_bias, float *out, void *scratch,
                    int64_t begin, int64_t end);

// The generator lists the forms and their patches in a unit.
#define FORM(name, patches)                                                    \
  extern kernel name##_block __asm__(#name "_block.0.tnt_inner");              \
  extern kernel name##_norm __asm__(#name "_norm.0.tnt_inner");                \
  extern kernel name##_query __asm__(#name "_query.0.tnt_inner");              \
  extern kernel name##_attention __asm__(#name "_attention.0.tnt_inner");      \
  extern kernel name##_output __asm__(#name "_output.0.tnt_inner");            \
  extern kernel name##_hidden __asm__(#name "_hidden.0.tnt_inner");            \
  extern kernel name##_back __asm__(#name "_back.0.tnt_inner");
#include "forms.inc"
#undef FORM

/// What is timed of a form: its stages, then the block of eight images.
enum { EIGHT = STAGES, TIMES };

typedef struct {
  const char *name;
  int patches;
  kernel *stages[STAGES];
  double error;
  double us[TIMES], share[TIMES], best[TIMES]; ///< medians; the best tenth
} form;

#define FORM(name, patches)                                                    \
  {#name,                                                                      \
   patches,                                                                    \
   {name##_block, name##_norm, name##_query, name##_attention, name##_output,  \
    name##_hidden, name##_back},                                               \
   0,                                                                          \
   {0},                                                                        \
   {0},                                                                        \
   {0}},
static form forms[] = {
#include "forms.inc"
};
enum { FORMS = sizeof forms / sizeof *forms };
/// Multiply-adds of a token.
static const int stage_macs[STAGES] = {12 * WIDTH * WIDTH + 2 * TOKENS * WIDTH,
                                       0,
                                       3 * WIDTH *WIDTH,
                                       2 * TOKENS *WIDTH,
                                       WIDTH *WIDTH,
                                       WIDTH *HIDDEN,
                                       WIDTH *HIDDEN};

/// Weights as [in][out]; kernels read them as [out][in].
typedef struct {
  int in, out;
  float *plain, *turned;
} matrix;

static matrix query, output, hidden, back;
static float *gain1, *shift1, *output_bias, *gain2, *shift2, *hidden_bias,
    *back_bias;
static float *plain_x, *lanes_x, *lanes_out;
static double *expected;
static void *scratch;

/// Exits where there is no memory: a benchmark has nothing else to do.
static void *take(size_t bytes) {
  void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!memory) {
    fprintf(stderr, "measure: out of memory\n");
    exit(1);
  }
  memset(memory, 0, bytes);
  return memory;
}

/// Uniform in [-1, 1).
static float next_random(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (float)((double)(state >> 33) / (1u << 30) - 1);
}

static float *numbers(int count, double scale, double offset) {
  float *all = take((size_t)count * sizeof *all);
  for (int i = 0; i < count; ++i) {
    all[i] = (float)(offset + scale * next_random());
  }
  return all;
}

static matrix weight(int in, int out) {
  matrix w = {in, out, numbers(in * out, sqrt(6.0 / in), 0),
              take((size_t)in * out * sizeof(float))};
  for (int i = 0; i < in; ++i) {
    for (int o = 0; o < out; ++o) {
      w.turned[o * in + i] = w.plain[i * out + o];
    }
  }
  return w;
}

//===----------------------------------------------------------------------===//
// The same in double
//===----------------------------------------------------------------------===//

static void norm(const double *x, const float *gain, const float *shift,
                 double *y) {
  double mean = 0, variance = 0;
  for (int c = 0; c < WIDTH; ++c) {
    mean += x[c] / WIDTH;
  }
  for (int c = 0; c < WIDTH; ++c) {
    variance += (x[c] - mean) * (x[c] - mean) / WIDTH;
  }
  for (int c = 0; c < WIDTH; ++c) {
    y[c] = (x[c] - mean) / sqrt(variance + 1e-5) * gain[c] + shift[c];
  }
}

static void multiply(const double *x, const matrix *w, const float *bias,
                     double *y) {
  for (int o = 0; o < w->out; ++o) {
    y[o] = bias ? bias[o] : 0;
    for (int i = 0; i < w->in; ++i) {
      y[o] += x[i] * w->plain[i * w->out + o];
    }
  }
}

/// One head of one query: columns `first` on of the rows of queries, keys and
/// values.
static void attend(double rows[TOKENS][3 * WIDTH], int token, int first,
                   double *y) {
  double share[TOKENS], sum = 0;
  for (int j = 0; j < TOKENS; ++j) {
    double score = 0;
    for (int c = first; c < first + HEAD; ++c) {
      score += rows[token][c] * rows[j][WIDTH + c];
    }
    share[j] = exp(score / sqrt(HEAD));
    sum += share[j];
  }
  for (int c = first; c < first + HEAD; ++c) {
    y[c] = 0;
    for (int j = 0; j < TOKENS; ++j) {
      y[c] += share[j] / sum * rows[j][2 * WIDTH + c];
    }
  }
}

static void patch_in_double(const float *x, double *y) {
  double stream[TOKENS][WIDTH], own[WIDTH], part[WIDTH], wide[HIDDEN];
  double rows[TOKENS][3 * WIDTH];
  for (int t = 0; t < TOKENS; ++t) {
    for (int c = 0; c < WIDTH; ++c) {
      stream[t][c] = x[t * WIDTH + c];
    }
    norm(stream[t], gain1, shift1, own);
    multiply(own, &query, NULL, rows[t]);
  }
  for (int t = 0; t < TOKENS; ++t) {
    for (int h = 0; h < HEADS; ++h) {
      attend(rows, t, h * HEAD, own);
    }
    multiply(own, &output, output_bias, part);
    for (int c = 0; c < WIDTH; ++c) {
      stream[t][c] += part[c];
    }
    norm(stream[t], gain2, shift2, own);
    multiply(own, &hidden, hidden_bias, wide);
    for (int c = 0; c < HIDDEN; ++c) {
      wide[c] *= erfc(-wide[c] / sqrt(2)) / 2;
    }
    multiply(wide, &back, back_bias, part);
    for (int c = 0; c < WIDTH; ++c) {
      y[t * WIDTH + c] = stream[t][c] + part[c];
    }
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static void call(kernel *function, int64_t begin, int64_t end) {
  function(lanes_x, gain1, shift1, query.turned, output.turned, output_bias,
           gain2, shift2, hidden.turned, hidden_bias, back.turned, back_bias,
           lanes_out, scratch, begin, end);
}

/// Where element (patch, token, channel) is: [group][channel][token of group].
static size_t place(int patches, int patch, int token, int channel) {
  size_t row = (size_t)(patch / patches) * WIDTH + channel;
  return (row * patches + patch % patches) * TOKENS + token;
}

static void to_lanes(const form *f) {
  for (int i = 0; i < STREAM; ++i) {
    int patch = i / (TOKENS * WIDTH), rest = i % (TOKENS * WIDTH);
    lanes_x[place(f->patches, patch, rest / WIDTH, rest % WIDTH)] = plain_x[i];
  }
}

static void check(form *f) {
  to_lanes(f);
  memset(lanes_out, 0xff, STREAM * sizeof *lanes_out);
  memset(scratch, 0xff, 65536);
  call(f->stages[0], 0, PATCHES / f->patches);
  for (int i = 0; i < STREAM; ++i) {
    int patch = i / (TOKENS * WIDTH), rest = i % (TOKENS * WIDTH);
    size_t at = place(f->patches, patch, rest / WIDTH, rest % WIDTH);
    double error = fabs(lanes_out[at] - expected[i]) / (1 + fabs(expected[i]));
    if (!(error <= f->error)) {
      f->error = error;
    }
  }
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// The value that `part` of all are below. Sorts.
static double quantile(double *all, int count, double part) {
  qsort(all, (size_t)count, sizeof *all, by_value);
  return count ? all[(int)(part * (count - 1))] : 0;
}

/// Processor time of this thread: what other programs take does not count.
static double worked(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// GFLOP/s of chains of multiply-adds, at this moment.
static double fma_rate(void) {
  double start = worked();
  fma_512();
  return (double)CHAINS * STEPS * 32 / (worked() - start) * 1e-9;
}

/// Seconds: of a stage of 196 patches, a group at a time and always the same,
/// or of a block of 196 or 1568.
static double seconds_of(const form *f, int what) {
  double start = worked();
  if (what == 0 || what == EIGHT) {
    int images = what == EIGHT ? 8 : 1;
    call(f->stages[0], 0, images * ONE_IMAGE / f->patches);
    return worked() - start;
  }
  for (int i = 0; i < ONE_IMAGE / f->patches; ++i) {
    call(f->stages[what], 0, 1);
  }
  return worked() - start;
}

static double gflop(int what) {
  int images = what == EIGHT ? 8 : 1;
  return 2e-9 * images * ONE_IMAGE * TOKENS * stage_macs[what % STAGES];
}

static double times[FORMS][TIMES][MAX_ROUNDS], shares[FORMS][TIMES][MAX_ROUNDS];
static int counts[FORMS][TIMES];
static double rates[FORMS * TIMES * MAX_ROUNDS];

/// How often other programs took the processor from this one.
static long interruptions(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// One sample of everything that is timed of a form. Returns its FMA rate.
static double sample(int i, int w, double before) {
  seconds_of(&forms[i], w == EIGHT ? 0 : w);
  long interrupted = interruptions();
  double seconds = seconds_of(&forms[i], w);
  interrupted -= interruptions();
  double after = fma_rate();
  // A block of eight images is longer than a scheduler's time slice.
  if ((w == EIGHT || !interrupted) && fabs(before / after - 1) < 0.03) {
    int n = counts[i][w]++;
    times[i][w][n] = seconds * 1e6;
    shares[i][w][n] = gflop(w) / seconds / ((before + after) / 2);
  }
  return after;
}

/// Quantiles of all forms, and the median of the FMA rates, which is returned.
static double measure_all(int rounds) {
  int count = 0;
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < FORMS; ++i) {
      to_lanes(&forms[i]);
      seconds_of(&forms[i], EIGHT);
      double rate = fma_rate();
      for (int w = 0; w < TIMES; ++w) {
        rates[count++] = rate = sample(i, w, rate);
      }
    }
  }
  for (int i = 0; i < FORMS; ++i) {
    for (int w = 0; w < TIMES; ++w) {
      forms[i].us[w] = quantile(times[i][w], counts[i][w], 0.5);
      forms[i].share[w] = quantile(shares[i][w], counts[i][w], 0.5);
      forms[i].best[w] = quantile(shares[i][w], counts[i][w], 0.9);
    }
  }
  return quantile(rates, count, 0.5);
}

static void print(double rate) {
  printf("FMA rate beside the samples %.1f GFLOP/s; %% of it: median, best "
         "tenth (median us)\n\n"
         "| form |",
         rate);
  static const char *const names[TIMES] = {
      "block",  "norm",   "query", "attention",
      "output", "hidden", "back",  "block, batch 8"};
  for (int w = 0; w < TIMES; ++w) {
    printf(" %s |", names[w]);
  }
  printf(" samples | error |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < FORMS; ++i) {
    printf("| %s |", forms[i].name);
    for (int w = 0; w < TIMES; ++w) {
      printf(" %.1f, %.1f (%.0f) |", 100 * forms[i].share[w],
             100 * forms[i].best[w], forms[i].us[w]);
    }
    int fewest = counts[i][0];
    for (int w = 1; w < TIMES; ++w) {
      fewest = counts[i][w] < fewest ? counts[i][w] : fewest;
    }
    printf(" %d | %.0e |\n", fewest, forms[i].error);
  }
}

/// The program's table of kernels names it; nothing calls it here.
void hova_run_launches(void) { abort(); }

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 21;
  if (rounds < 1 || rounds > MAX_ROUNDS) {
    fprintf(stderr, "usage: measure [ROUNDS], from 1 to %d\n", MAX_ROUNDS);
    return 2;
  }
  query = weight(WIDTH, 3 * WIDTH);
  output = weight(WIDTH, WIDTH);
  hidden = weight(WIDTH, HIDDEN);
  back = weight(HIDDEN, WIDTH);
  gain1 = numbers(WIDTH, 0.3, 1), shift1 = numbers(WIDTH, 0.3, 0);
  gain2 = numbers(WIDTH, 0.3, 1), shift2 = numbers(WIDTH, 0.3, 0);
  output_bias = numbers(WIDTH, 0.3, 0), hidden_bias = numbers(HIDDEN, 0.3, 0);
  back_bias = numbers(WIDTH, 0.3, 0);
  plain_x = numbers(STREAM, 1, 0);
  lanes_x = take(STREAM * sizeof(float));
  lanes_out = take(STREAM * sizeof(float));
  scratch = take(65536);
  expected = take(STREAM * sizeof(double));
  for (int i = 0; i < PATCHES; ++i) {
    patch_in_double(plain_x + i * TOKENS * WIDTH,
                    expected + i * TOKENS * WIDTH);
  }
  bool wrong = false;
  for (int i = 0; i < FORMS; ++i) {
    check(&forms[i]);
    wrong |= !(forms[i].error <= 1e-5);
  }
  print(measure_all(rounds));
  if (wrong) {
    fprintf(stderr, "measure: a form differs from double by more than 1e-5\n");
  }
  return wrong;
}
