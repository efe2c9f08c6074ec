//===- Fixture.c - A small program as the code generator would emit it ----===//
// SPDX-License-Identifier: Apache-2.0
//
// y = reverse(x) * w + ids (row by row), kept = number of true values of mask.
// The reversal goes through the arena, so that every thread reads what others
// wrote before the barrier.
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

static const int64_t matrix[] = {FIXTURE_ROWS, FIXTURE_COLUMNS};
static const int64_t rows[] = {FIXTURE_ROWS};
static const hova_tensor_info inputs[] = {
    {"x", HOVA_F32, 2, matrix, 0, 0, HOVA_FIXED},
    {"ids", HOVA_I64, 1, rows, 0, FIXTURE_VOCABULARY, HOVA_FIXED},
    {"mask", HOVA_BOOL, 1, rows, 0, 2, HOVA_FIXED}};
static const hova_tensor_info outputs[] = {
    {"y", HOVA_F32, 2, matrix, 0, 0, HOVA_FIXED},
    {"kept", HOVA_I32, 0, 0, 0, 0, HOVA_FIXED}};
static const hova_kernel_info kernels[] = {
    {"layer.copy", "copy", 0, 2 * FIXTURE_SIZE * 4},
    {"layer.\"sum\"", "sum", 2 * FIXTURE_SIZE, 3 * FIXTURE_SIZE * 4}};
static const hova_value_info values[] = {
    {"layer.copy", 0, HOVA_F32, 2, matrix, FIXTURE_COLUMNS, 0, 1}};
/// The second kernel adds up and multiplies for two layers.
static const hova_part_info parts[] = {
    {"layer.copy", 0, 0, 0, FIXTURE_SIZE},
    {"layer.\"sum\"", 1, 0, FIXTURE_SIZE, 3 * FIXTURE_SIZE},
    {"other.scale", 1, 1, FIXTURE_SIZE, FIXTURE_SIZE}};
static const hova_weight_info weight_places[] = {{"layer.w", 0, 64}};

static void run(void *const *in, void *const *out, char *arena,
                const char *weights, int64_t thread, int64_t threads,
                struct hova_team *team) {
  const float *x = in[0];
  const int64_t *ids = in[1];
  const uint8_t *mask = in[2];
  float *y = out[0];
  float *copy = (float *)arena;
  float w = weights ? *(const float *)weights : 1.0f;
  int64_t begin = FIXTURE_SIZE * thread / threads;
  int64_t end = FIXTURE_SIZE * (thread + 1) / threads;
  for (int64_t i = begin; i < end; ++i) {
    copy[i] = x[i];
  }
  hova_barrier(team, thread, 0);
  for (int64_t i = begin; i < end; ++i) {
    y[i] = copy[FIXTURE_SIZE - 1 - i] * w + (float)ids[i / FIXTURE_COLUMNS];
  }
  if (thread == 0) {
    int32_t *kept = out[1];
    *kept = 0;
    for (int i = 0; i < FIXTURE_ROWS; ++i) {
      *kept += mask[i];
    }
  }
  hova_barrier(team, thread, 1);
}

static void run_scale(void *const *in, void *const *out, char *arena,
                      const char *weights, int64_t thread, int64_t threads,
                      struct hova_team *team) {
  (void)arena;
  (void)weights;
  const float *x = in[0];
  float *y = out[0];
  for (int64_t i = thread; i < FIXTURE_SIZE; i += threads) {
    y[i] = 2 * x[i];
  }
  hova_barrier(team, thread, 0);
}

/// A machine that no one has.
#define NO_MACHINE (UINT64_C(1) << 63 | HOVA_CPU(AVX512F))

static const hova_level levels[] = {{"future", NO_MACHINE, run, 0, 0},
                                    {"x86-64", 0, run, 0, 0}};
static const hova_level scale_levels[] = {{"x86-64", 0, run_scale, 0, 0}};
static const hova_level future_levels[] = {{"future", NO_MACHINE, run, 0, 0}};

#define PROGRAM(LEVELS, NUM_LEVELS, NUM_INPUTS, NUM_OUTPUTS, WEIGHT_BYTES)     \
  {HOVA_ABI_VERSION,                                                           \
   NUM_LEVELS,                                                                 \
   "fixture",                                                                  \
   LEVELS,                                                                     \
   NUM_INPUTS,                                                                 \
   NUM_OUTPUTS,                                                                \
   inputs,                                                                     \
   outputs,                                                                    \
   FIXTURE_SIZE * 4,                                                           \
   WEIGHT_BYTES,                                                               \
   "0123abcd",                                                                 \
   "fixture.json --march=x86-64",                                              \
   4 * FIXTURE_SIZE,                                                           \
   2 * FIXTURE_SIZE,                                                           \
   2,                                                                          \
   1,                                                                          \
   kernels,                                                                    \
   values,                                                                     \
   "hova test",                                                                \
   "f32",                                                                      \
   3,                                                                          \
   1,                                                                          \
   parts,                                                                      \
   weight_places,                                                              \
   0,                                                                          \
   "made from nothing\n\0{\"options\": []}",                                   \
   0}

const hova_program hova_program_fixture =
    PROGRAM(levels, 2, 3, 2, FIXTURE_WEIGHT_BYTES);
const hova_program hova_program_weightless = PROGRAM(levels, 2, 3, 2, 0);
const hova_program hova_program_future = PROGRAM(future_levels, 1, 3, 2, 0);
const hova_program hova_program_scale = PROGRAM(scale_levels, 1, 1, 1, 0);
