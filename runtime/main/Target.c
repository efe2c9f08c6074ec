//===- Target.c - What the kernels of a program run on --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/Target.h"

#include <stdio.h>

/// The code of the best level; null: for a processor.
static const hova_device_code *code_of(const hova_program *program) {
  return program->num_levels ? program->levels[0].device : NULL;
}

bool hova_is_for_gpu(const hova_program *program) {
  return code_of(program) != NULL;
}

bool hova_is_emulated(const hova_program *program) {
  const hova_device_code *code = code_of(program);
  return code && code->num_kernels && code->kernels[0].emulated;
}

const char *hova_target_of(const hova_program *program) {
  return hova_is_emulated(program)  ? "cuda-emulated"
         : hova_is_for_gpu(program) ? "cuda"
                                    : "cpu";
}

void hova_print_launches(const hova_program *program) {
  const hova_device_code *code = code_of(program);
  if (!code) {
    return;
  }
  printf("\nlaunches\n     threads  shared bytes  blocks            kernel\n");
  for (uint32_t i = 0; i < code->num_launches; ++i) {
    const hova_device_launch *launch = &code->launches[i];
    const hova_device_kernel *kernel = &code->kernels[launch->kernel];
    char grid[40];
    snprintf(grid, sizeof grid, "%u x %u x %u", launch->grid[0],
             launch->grid[1], launch->grid[2]);
    printf("%12u%14u  %-16s  %u %s, %s\n", kernel->threads,
           kernel->shared_bytes, grid, i, program->kernels[i].path,
           kernel->name);
  }
}

hova_status hova_write_launches(hova_output *output,
                                const hova_program *program,
                                hova_error *error) {
  const hova_device_code *code = code_of(program);
  if (!code) {
    return HOVA_OK;
  }
  hova_status status = hova_output_print(
      output, error, ",\n  \"arch\": \"%s\",\n  \"launches\": [",
      program->levels[0].name);
  for (uint32_t i = 0; i < code->num_launches && status == HOVA_OK; ++i) {
    const hova_device_launch *launch = &code->launches[i];
    const hova_device_kernel *kernel = &code->kernels[launch->kernel];
    status =
        hova_output_print(output, error, "%s\n    {\"path\": ", i ? "," : "");
    if (status == HOVA_OK) {
      status =
          hova_output_print_string(output, error, program->kernels[i].path);
    }
    if (status == HOVA_OK) {
      status = hova_output_print(output, error, ", \"kernel\": ");
    }
    if (status == HOVA_OK) {
      status = hova_output_print_string(output, error, kernel->name);
    }
    if (status == HOVA_OK) {
      status =
          hova_output_print(output, error,
                            ", \"grid\": [%u, %u, %u], \"block\": [%u, 1, 1], "
                            "\"shared_bytes\": %u}",
                            launch->grid[0], launch->grid[1], launch->grid[2],
                            kernel->threads, kernel->shared_bytes);
    }
  }
  return status == HOVA_OK ? hova_output_print(output, error, "]") : status;
}
