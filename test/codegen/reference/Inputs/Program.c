//===- Program.c - A program as the code generator would make it ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// y = 2 relu(x) + 1 for x [3, 5] in two kernels, written by hand, with a
// mistake chosen by MISTAKE. Verification must tell which of them are right:
//
//   0  none
//   1  the first kernel leaves one element too large
//   2  the second kernel gives NaN for inputs of 0
//   3  the result depends on the number of threads
//   4  the first kernel is one last place off, which rounding explains
//   5  a chunk that begins at the last row is wrong, which two threads never
//      have
//
//===----------------------------------------------------------------------===//

#include "runtime/hova_runtime.h"

enum { ROWS = 3, COLUMNS = 5, STRIDE = 8 };

static void run(void *const *inputs, void *const *outputs, char *arena,
                const char *weights, int64_t thread, int64_t threads,
                struct hova_team *team) {
  (void)weights;
  const float *x = inputs[0];
  float *hidden = (float *)(arena + 64);
  float *y = outputs[0];
  for (int64_t i = thread; i < ROWS; i += threads) {
    for (int64_t j = 0; j < COLUMNS; ++j) {
      float value = x[i * COLUMNS + j];
      value = value < 0 ? 0 : value;
      if (MISTAKE == 1 && i == 1 && j == 2) {
        value += 0.001F;
      }
      if (MISTAKE == 4) {
        value *= 1 + 0x1p-23F;
      }
      hidden[i * STRIDE + j] = value;
    }
  }
  hova_barrier(team, thread, 0);
  for (int64_t i = thread; i < ROWS; i += threads) {
    for (int64_t j = 0; j < COLUMNS; ++j) {
      float value = hidden[i * STRIDE + j];
      if (MISTAKE == 2 && x[i * COLUMNS + j] == 0) {
        value = 0.0F / value;
      }
      if (MISTAKE == 3 && threads > 1) {
        value *= 1 + 0x1p-23F;
      }
      if (MISTAKE == 5 && thread == ROWS - 1) {
        value *= 1 + 0x1p-23F;
      }
      y[i * COLUMNS + j] = 2 * value + 1;
    }
  }
  hova_barrier(team, thread, 1);
}

static const int64_t dims[] = {ROWS, COLUMNS};
static const hova_level levels[] = {{"baseline", 0, run, 0, 0}};
static const hova_tensor_info inputs[] = {
    {"x", HOVA_F32, 2, dims, 0, 0, HOVA_FIXED}};
static const hova_tensor_info outputs[] = {
    {"y", HOVA_F32, 2, dims, 0, 0, HOVA_FIXED}};
static const hova_kernel_info kernels[] = {{"first", "k0", 0, 0},
                                           {"second", "k1", 0, 0}};
static const hova_value_info values[] = {
    {"layer.0.relu", 0, HOVA_F32, 2, dims, STRIDE, 64, 1}};
static const hova_program program = {
    .abi = HOVA_ABI_VERSION,
    .num_levels = 1,
    .name = "by_hand",
    .levels = levels,
    .num_inputs = 1,
    .num_outputs = 1,
    .inputs = inputs,
    .outputs = outputs,
    .arena_bytes = 64 + ROWS * STRIDE * sizeof(float),
    .num_kernels = 2,
    .num_values = 1,
    .kernels = kernels,
    .values = values,
    .compiler = "by hand",
};

#define EXPORT __attribute__((visibility("default")))

EXPORT const hova_program *by_hand_program(void) { return &program; }
EXPORT hova_status by_hand_create(const hova_options *options,
                                  hova_context **context) {
  return hova_create(&program, options, context);
}
EXPORT hova_status by_hand_run(hova_context *context, const hova_tensor *given,
                               const hova_tensor *wanted) {
  return hova_run(context, given, wanted);
}
EXPORT void by_hand_destroy(hova_context *context) { hova_destroy(context); }
EXPORT const char *by_hand_message(const hova_context *context) {
  return hova_message(context);
}
EXPORT const hova_inspection *by_hand_inspection(void) {
  return hova_inspect();
}
