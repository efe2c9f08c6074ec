//===- Report.c - How fast a program is -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/Report.h"

#include "runtime/Elements.h"
#include "runtime/Npy.h"
#include "runtime/Output.h"

#include <stdio.h>

//===----------------------------------------------------------------------===//
// Latency
//===----------------------------------------------------------------------===//

/// The smallest measurement that `percent` of all do not exceed.
static double percentile(latencies measured, uint64_t percent) {
  uint64_t rank = (measured.count * percent + 99) / 100;
  return measured.sorted[rank > 0 ? rank - 1 : 0];
}

static double median(latencies measured) {
  uint64_t middle = measured.count / 2;
  if (measured.count % 2 == 1) {
    return measured.sorted[middle];
  }
  return (measured.sorted[middle - 1] + measured.sorted[middle]) / 2;
}

/// What was measured: the model or one of its kernels.
typedef struct work {
  const char *kernel; ///< its path; null: the model
  uint64_t flops, flops_executed;
} work;

static work work_of(const hova_program *program, latencies measured) {
  if (measured.kernel < 0) {
    return (work){NULL, program->flops, program->flops_executed};
  }
  const hova_kernel_info *kernel = &program->kernels[measured.kernel];
  return (work){kernel->path, kernel->flops, kernel->flops};
}

void hova_print_latencies(const hova_context *context, latencies measured) {
  const hova_program *program = hova_program_of(context);
  work work = work_of(program, measured);
  double middle = median(measured);
  printf("%s%s%s at level %s, %d threads, %llu repetitions\n", program->name,
         work.kernel ? ", kernel " : "", work.kernel ? work.kernel : "",
         hova_level_of(context)->name, hova_threads_of(context),
         (unsigned long long)measured.count);
  printf("latency ms: min %.4f  median %.4f  p90 %.4f  max %.4f\n",
         measured.sorted[0], middle, percentile(measured, 90),
         measured.sorted[measured.count - 1]);
  printf("GFLOP: %.4f executed, %.4f dense; GFLOP/s at the median: %.1f "
         "executed, %.1f dense\n",
         (double)work.flops_executed * 1e-9, (double)work.flops * 1e-9,
         (double)work.flops_executed * 1e-6 / middle,
         (double)work.flops * 1e-6 / middle);
}

/// `, "samples_ms": [..]`, for tools that join the measurements of several
/// runs.
static hova_status write_samples(hova_output *output, latencies measured,
                                 hova_error *error) {
  hova_status status = hova_output_print(output, error, ", \"samples_ms\": [");
  for (uint64_t i = 0; i < measured.count && status == HOVA_OK; ++i) {
    status = hova_output_print(output, error, i > 0 ? ", %.6f" : "%.6f",
                               measured.sorted[i]);
  }
  return status == HOVA_OK ? hova_output_print(output, error, "]") : status;
}

hova_status hova_write_latencies(const hova_context *context,
                                 latencies measured, const char *path,
                                 hova_error *error) {
  const hova_program *program = hova_program_of(context);
  work work = work_of(program, measured);
  hova_output output;
  hova_status status = hova_output_open(&output, path, error);
  if (status == HOVA_OK) {
    status = hova_output_print(&output, error, "{\"model\": ");
  }
  if (status == HOVA_OK) {
    status = hova_output_print_string(&output, error, program->name);
  }
  if (status == HOVA_OK && work.kernel) {
    status = hova_output_print(&output, error, ", \"kernel\": ");
  }
  if (status == HOVA_OK && work.kernel) {
    status = hova_output_print_string(&output, error, work.kernel);
  }
  if (status == HOVA_OK) {
    status = hova_output_print(
        &output, error,
        ", \"target\": \"cpu\", \"level\": \"%s\", \"threads\": %d, "
        "\"repetitions\": %llu, \"latency_ms\": {\"min\": %.6f, \"median\": "
        "%.6f, \"p90\": %.6f, \"max\": %.6f}, \"flops\": %llu, "
        "\"flops_executed\": %llu, \"arena_bytes\": %llu, \"scratch_bytes\": "
        "%llu, \"weight_bytes\": %llu",
        hova_level_of(context)->name, hova_threads_of(context),
        (unsigned long long)measured.count, measured.sorted[0],
        median(measured), percentile(measured, 90),
        measured.sorted[measured.count - 1], (unsigned long long)work.flops,
        (unsigned long long)work.flops_executed,
        (unsigned long long)program->arena_bytes,
        (unsigned long long)(hova_memory_of(context) - program->arena_bytes),
        (unsigned long long)program->weight_bytes);
  }
  if (status == HOVA_OK) {
    status = write_samples(&output, measured, error);
  }
  if (status == HOVA_OK) {
    status = hova_output_print(&output, error, "}\n");
  }
  return hova_output_close(&output, status, error);
}

//===----------------------------------------------------------------------===//
// Trace
//===----------------------------------------------------------------------===//

/// One complete event ("X"), times in microseconds from the start of the run.
static hova_status write_event(hova_output *output,
                               const hova_kernel_info *kernel,
                               const uint64_t *times, uint64_t start,
                               hova_error *error) {
  double begin = (double)(times[0] - start) * 1e-3;
  double duration = (double)(times[1] - times[0]) * 1e-3;
  hova_status status = hova_output_print(output, error, ",\n{\"name\": ");
  if (status == HOVA_OK) {
    status = hova_output_print_string(output, error, kernel->path);
  }
  if (status == HOVA_OK) {
    status = hova_output_print(
        output, error,
        ", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"ts\": %.3f, \"dur\": %.3f, "
        "\"args\": {\"symbol\": ",
        begin, duration);
  }
  if (status == HOVA_OK) {
    status = hova_output_print_string(output, error, kernel->symbol);
  }
  if (status == HOVA_OK) {
    double gflops = duration > 0 ? (double)kernel->flops * 1e-3 / duration : 0;
    status = hova_output_print(
        output, error,
        ", \"flops\": %llu, \"bytes\": %llu, \"GFLOP/s\": %.3f}}",
        (unsigned long long)kernel->flops, (unsigned long long)kernel->bytes,
        gflops);
  }
  return status;
}

hova_status hova_write_trace(const hova_context *context, const uint64_t *times,
                             const char *path, hova_error *error) {
  const hova_program *program = hova_program_of(context);
  hova_output output;
  hova_status status = hova_output_open(&output, path, error);
  if (status == HOVA_OK) {
    status = hova_output_print(
        &output, error,
        "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{\"name\": "
        "\"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": "
        "{\"name\": \"thread 0\"}},\n{\"name\": \"process_name\", \"ph\": "
        "\"M\", \"pid\": 1, \"args\": {\"name\": ");
  }
  if (status == HOVA_OK) {
    status = hova_output_print_string(&output, error, program->name);
  }
  if (status == HOVA_OK) {
    status = hova_output_print(&output, error, "}}");
  }
  for (uint32_t i = 0; i < program->num_kernels && status == HOVA_OK; ++i) {
    status =
        write_event(&output, &program->kernels[i], times + i, times[0], error);
  }
  if (status == HOVA_OK) {
    status = hova_output_print(&output, error, "\n]}\n");
  }
  return hova_output_close(&output, status, error);
}
