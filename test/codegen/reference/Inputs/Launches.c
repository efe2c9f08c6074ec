//===- Launches.c - A program whose kernels keep to their buffers or not --===//
// SPDX-License-Identifier: Apache-2.0
//
// y = 2 (x + w) for x, w and y [5] in two kernels, by way of the runtime's
// launches, with a mistake chosen by MISTAKE that changes no result:
//
//   0  none
//   1  the first kernel reads after its input
//   2  the second kernel writes after its output
//   3  the first kernel writes before its value in the arena
//   4  the first kernel writes after its scratch, in the same cache line
//   5  the second kernel writes to its weight
//   6  the second kernel reads an element of the arena that nothing wrote
//   7  the first kernel writes after the rows of its chunk
//   8  the first kernel reads an element of its chunk that nothing wrote
//
//===----------------------------------------------------------------------===//

#include "runtime/hova_runtime.h"

enum { COUNT = 5, SCRATCH_BYTES = 20 };

/// Whose values the compiler must not know.
static volatile float sink;

static void add(const float *x, const float *w, float *sum, float *rows,
                char *scratch) {
  float *copy = (float *)scratch;
  for (int i = 0; i < COUNT; ++i) {
    copy[i] = x[i] + w[i];
    sum[i] = copy[i];
  }
  if (MISTAKE == 1) {
    sink = x[COUNT];
  }
  if (MISTAKE == 3) {
    *(volatile float *)(sum - 16) = 0;
  }
  if (MISTAKE == 7) {
    *(volatile float *)(rows + 16) = 0;
  }
  if (MISTAKE == 8) {
    sum[0] += rows[1];
  }
  if (MISTAKE == 4) {
    *(volatile float *)(copy + COUNT) = 0;
  }
}

static void twice(const float *sum, float *w, float *y) {
  for (int i = 0; i < COUNT; ++i) {
    y[i] = 2 * sum[i];
  }
  if (MISTAKE == 2) {
    *(volatile float *)(y + COUNT) = 0;
  }
  if (MISTAKE == 5) {
    *(volatile float *)w = 1;
  }
  if (MISTAKE == 6) {
    y[0] += sum[COUNT];
  }
}

static void call(uint64_t kernel, void *const *buffers, char *scratch,
                 uint64_t begin, uint64_t end) {
  (void)begin, (void)end;
  if (kernel == 0) {
    add(buffers[0], buffers[1], buffers[2], buffers[3], scratch);
  } else {
    twice(buffers[0], buffers[1], buffers[2]);
  }
}

/// The launches as the code generator lays them out: the value lies in the
/// arena from byte 64 on, with room for 8 elements.
static const struct {
  hova_launches head;
  hova_launch add;
  uint64_t add_buffers[4];
  hova_chunk add_chunk;
  hova_launch twice;
  uint64_t twice_buffers[3];
} launches = {
    {2, 4},
    {0, 1, 1, 4, SCRATCH_BYTES, 1, 0, 1, 0, 0, 0, 0},
    {HOVA_INPUT, HOVA_IN_WEIGHTS, 64 | HOVA_IN_ARENA, 64 | HOVA_IN_CHUNK},
    {128, 0},
    {1, 1, 1, 3, 0, 1, 0, 0, 0, 0, 0, 0},
    {64 | HOVA_IN_ARENA, HOVA_IN_WEIGHTS, HOVA_OUTPUT},
};

static void run(void *const *inputs, void *const *outputs, char *arena,
                const char *weights, int64_t thread, int64_t threads,
                struct hova_team *team) {
  // Without an image: ones.
  static _Alignas(64) const float ones[16] = {1, 1, 1, 1, 1};
  (void)weights;
  hova_run_launches(inputs, outputs, arena, (const char *)ones, thread, threads,
                    team, &launches.head, call);
}

static const int64_t dims[] = {COUNT};
static const hova_level levels[] = {{"baseline", 0, run, &launches.head, 0}};
static const hova_tensor_info inputs[] = {
    {"x", HOVA_F32, 1, dims, 0, 0, HOVA_FIXED}};
static const hova_tensor_info outputs[] = {
    {"y", HOVA_F32, 1, dims, 0, 0, HOVA_FIXED}};
static const hova_kernel_info kernels[] = {{"layer.0.sum", "k0", 0, 0},
                                           {"layer.1.twice", "k1", 0, 0}};
static const hova_program program = {
    .abi = HOVA_ABI_VERSION,
    .num_levels = 1,
    .name = "launches",
    .levels = levels,
    .num_inputs = 1,
    .num_outputs = 1,
    .inputs = inputs,
    .outputs = outputs,
    .arena_bytes = 128,
    .num_kernels = 2,
    .kernels = kernels,
    .compiler = "by hand",
};

#define EXPORT __attribute__((visibility("default")))

EXPORT const hova_program *launches_program(void) { return &program; }
EXPORT hova_status launches_create(const hova_options *options,
                                   hova_context **context) {
  return hova_create(&program, options, context);
}
EXPORT hova_status launches_run(hova_context *context, const hova_tensor *given,
                                const hova_tensor *wanted) {
  return hova_run(context, given, wanted);
}
EXPORT void launches_destroy(hova_context *context) { hova_destroy(context); }
EXPORT const char *launches_message(const hova_context *context) {
  return hova_message(context);
}
EXPORT const hova_inspection *launches_inspection(void) {
  return hova_inspect();
}
