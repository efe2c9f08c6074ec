//===- Report.c - How fast a program is -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/Report.h"

#include "runtime/Elements.h"
#include "runtime/Npy.h"
#include "runtime/main/Profile.h"
#include "runtime/main/Target.h"

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

/// What it ran on, as far as the time depends on it.
static void print_where(const hova_context *context) {
  const hova_program *program = hova_program_of(context);
  const char *level = hova_level_of(context)->name;
  if (hova_is_for_gpu(program)) {
    printf("%s %s", hova_is_emulated(program) ? "emulating" : "on a GPU with",
           level);
  } else {
    printf("at level %s, %d threads", level, hova_threads_of(context));
  }
}

void hova_print_latencies(const hova_context *context, latencies measured) {
  const hova_program *program = hova_program_of(context);
  work work = work_of(program, measured);
  double middle = median(measured);
  printf("%s%s%s ", program->name, work.kernel ? ", kernel " : "",
         work.kernel ? work.kernel : "");
  print_where(context);
  printf(", %llu repetitions\n", (unsigned long long)measured.count);
  printf("latency ms: min %.4f  median %.4f  p90 %.4f  max %.4f\n",
         measured.sorted[0], middle, percentile(measured, 90),
         measured.sorted[measured.count - 1]);
  if (hova_is_emulated(program)) {
    printf("This is the time of the emulation, which says nothing of the time "
           "on a GPU.\n");
    return;
  }
  printf("GFLOP: %.4f executed, %.4f dense; GFLOP/s at the median: %.1f "
         "executed, %.1f dense\n",
         (double)work.flops_executed * 1e-9, (double)work.flops * 1e-9,
         (double)work.flops_executed * 1e-6 / middle,
         (double)work.flops * 1e-6 / middle);
}

/// `, "samples_ms": [..]`, for tools that join the measurements of several
/// runs.
static void write_samples(writer *out, latencies measured) {
  PUT(out, ", \"samples_ms\": [");
  for (uint64_t i = 0; i < measured.count; ++i) {
    PUT(out, i > 0 ? ", %.6f" : "%.6f", measured.sorted[i]);
  }
  PUT(out, "]");
}

hova_status hova_write_latencies(const hova_context *context,
                                 latencies measured, const profile *profile,
                                 const char *path, hova_error *error) {
  const hova_program *program = hova_program_of(context);
  work work = work_of(program, measured);
  writer out = {.error = error};
  out.status = hova_output_open(&out.output, path, error);
  PUT(&out, "{\"model\": ");
  PUT_STRING(&out, program->name);
  if (work.kernel) {
    PUT(&out, ", \"kernel\": ");
    PUT_STRING(&out, work.kernel);
  }
  PUT(&out,
      ", \"target\": \"%s\", \"level\": \"%s\", \"threads\": %d, "
      "\"repetitions\": %llu, \"latency_ms\": {\"min\": %.6f, \"median\": "
      "%.6f, \"p90\": %.6f, \"max\": %.6f}, \"flops\": %llu, "
      "\"flops_executed\": %llu, \"arena_bytes\": %llu, \"scratch_bytes\": "
      "%llu, \"weight_bytes\": %llu",
      hova_program_target(program), hova_level_of(context)->name,
      hova_threads_of(context), (unsigned long long)measured.count,
      measured.sorted[0], median(measured), percentile(measured, 90),
      measured.sorted[measured.count - 1], (unsigned long long)work.flops,
      (unsigned long long)work.flops_executed,
      (unsigned long long)program->arena_bytes,
      (unsigned long long)(hova_memory_of(context) - program->arena_bytes),
      (unsigned long long)program->weight_bytes);
  write_samples(&out, measured);
  if (profile->kernel_ms) {
    hova_write_profile(&out, program, profile);
  }
  PUT(&out, "}\n");
  return hova_output_close(&out.output, out.status, error);
}
