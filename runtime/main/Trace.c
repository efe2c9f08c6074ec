//===- Trace.c - What each thread did in a run ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A row for each thread, in the format of trace viewers. A bar is the chunk of
// one thread in one kernel; between its bars a thread waits for the others. A
// GPU has one row, in which a bar is a launch and the wait before it.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/Report.h"
#include "runtime/main/Target.h"
#include "runtime/main/Writer.h"

#include <stdio.h>
#include <stdlib.h>

hova_status hova_start_trace(hova_context *context, trace_times *times,
                             hova_error *error) {
  const hova_program *program = hova_program_of(context);
  size_t spans = 2 * (size_t)hova_threads_of(context) * program->num_kernels;
  times->kernels = calloc(program->num_kernels + 1, sizeof *times->kernels);
  times->spans = calloc(spans + 1, sizeof *times->spans);
  if (!times->kernels || !times->spans) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for a trace");
  }
  hova_set_times(context, times->kernels);
  hova_set_spans(context, times->spans);
  return HOVA_OK;
}

void hova_free_trace(trace_times *times) {
  free(times->kernels);
  free(times->spans);
}

static void write_name(writer *out, const char *kind, int32_t thread,
                       const char *name) {
  PUT(out,
      "{\"name\": \"%s\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, "
      "\"args\": {\"name\": ",
      kind, thread);
  PUT_STRING(out, name);
  PUT(out, "}}");
}

/// What a GPU is asked for by a launch; nothing for a processor.
static void write_launch(writer *out, const hova_device_code *code,
                         uint32_t number) {
  if (!code) {
    return;
  }
  const hova_device_launch *launch = &code->launches[number];
  const hova_device_kernel *kernel = &code->kernels[launch->kernel];
  PUT(out,
      ", \"grid\": [%u, %u, %u], \"block\": [%u, 1, 1], \"shared_bytes\": "
      "%u",
      launch->grid[0], launch->grid[1], launch->grid[2], kernel->threads,
      kernel->shared_bytes);
}

/// One complete event ("X"), times in microseconds from the start of the run.
static void write_event(writer *out, const hova_context *context,
                        uint32_t number, int32_t thread, const uint64_t *span,
                        const uint64_t *times) {
  const hova_kernel_info *kernel = &hova_program_of(context)->kernels[number];
  double whole = (double)(times[number + 1] - times[number]) * 1e-3;
  PUT(out, ",\n{\"name\": ");
  PUT_STRING(out, kernel->path);
  PUT(out,
      ", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, \"dur\": "
      "%.3f, \"args\": {\"symbol\": ",
      thread, (double)(span[0] - times[0]) * 1e-3,
      (double)(span[1] - span[0]) * 1e-3);
  PUT_STRING(out, kernel->symbol);
  PUT(out,
      ", \"kernel\": %u, \"kernel_us\": %.3f, \"flops\": %llu, \"bytes\": "
      "%llu, \"GFLOP/s\": %.3f",
      number, whole, (unsigned long long)kernel->flops,
      (unsigned long long)kernel->bytes,
      whole > 0 ? (double)kernel->flops * 1e-3 / whole : 0.0);
  write_launch(out, hova_level_of(context)->device, number);
  PUT(out, "}}");
}

static void write_row(writer *out, const hova_context *context, int32_t thread,
                      const trace_times *times) {
  const hova_program *program = hova_program_of(context);
  const uint64_t *spans =
      times->spans + 2 * (size_t)thread * program->num_kernels;
  for (uint32_t i = 0; i < program->num_kernels; ++i) {
    const uint64_t *span = spans + 2 * i;
    // A program that was written by hand may not tell of its chunks.
    if (span[1] == 0 && thread == 0) {
      span = times->kernels + i;
    }
    if (span[1] != 0) {
      write_event(out, context, i, thread, span, times->kernels);
    }
  }
}

hova_status hova_write_trace(const hova_context *context,
                             const trace_times *times, const char *path,
                             hova_error *error) {
  const hova_program *program = hova_program_of(context);
  writer out = {.error = error};
  out.status = hova_output_open(&out.output, path, error);
  PUT(&out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
  write_name(&out, "process_name", 0, program->name);
  for (int32_t i = 0; i < hova_threads_of(context); ++i) {
    char name[32];
    snprintf(name, sizeof name, "thread %d", i);
    const char *row = hova_is_for_gpu(program) ? "launches" : name;
    PUT(&out, ",\n");
    write_name(&out, "thread_name", i, row);
  }
  for (int32_t i = 0; i < hova_threads_of(context); ++i) {
    write_row(&out, context, i, times);
  }
  PUT(&out, "\n]}\n");
  return hova_output_close(&out.output, out.status, error);
}
