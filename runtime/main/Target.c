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

const char *hova_program_target(const hova_program *program) {
  return hova_is_emulated(program)  ? "cuda-emulated"
         : hova_is_for_gpu(program) ? "cuda"
                                    : "cpu";
}

const char *hova_assembler_of(const hova_program *program) {
  const hova_device_code *code = code_of(program);
  return code && code->cubin ? code->assembler : NULL;
}

void hova_print_launches(const hova_program *program) {
  const hova_device_code *code = code_of(program);
  if (!code) {
    return;
  }
  bool assembled = hova_assembler_of(program) != NULL;
  printf("\nlaunches\n%s     threads  shared bytes  blocks            kernel\n",
         assembled ? "   registers  spilled bytes" : "");
  for (uint32_t i = 0; i < code->num_launches; ++i) {
    const hova_device_launch *launch = &code->launches[i];
    const hova_device_kernel *kernel = &code->kernels[launch->kernel];
    char grid[40];
    snprintf(grid, sizeof grid, "%u x %u x %u", launch->grid[0],
             launch->grid[1], launch->grid[2]);
    if (assembled) {
      printf("%12u%15u", kernel->registers, kernel->spilled_bytes);
    }
    printf("%12u%14u  %-16s  %u %s, %s\n", kernel->threads,
           kernel->shared_bytes, grid, i, program->kernels[i].path,
           kernel->name);
  }
}

/// What the assembler reported of a kernel, where there was one.
static hova_status write_machine_code(hova_output *output,
                                      const hova_device_kernel *kernel,
                                      hova_error *error) {
  return kernel->registers == 0
             ? HOVA_OK
             : hova_output_print(output, error,
                                 ", \"registers\": %u, \"spilled_bytes\": %u, "
                                 "\"local_bytes\": %u",
                                 kernel->registers, kernel->spilled_bytes,
                                 kernel->local_bytes);
}

static hova_status write_assembler(hova_output *output,
                                   const hova_program *program,
                                   hova_error *error) {
  const char *assembler = hova_assembler_of(program);
  if (!assembler) {
    return HOVA_OK;
  }
  hova_status status = hova_output_print(
      output, error, ",\n  \"machine_code_bytes\": %llu,\n  \"assembler\": ",
      (unsigned long long)code_of(program)->cubin_bytes);
  return status == HOVA_OK ? hova_output_print_string(output, error, assembler)
                           : status;
}

hova_status hova_write_launches(hova_output *output,
                                const hova_program *program,
                                hova_error *error) {
  const hova_device_code *code = code_of(program);
  if (!code) {
    return HOVA_OK;
  }
  hova_status status = hova_output_print(output, error, ",\n  \"arch\": \"%s\"",
                                         program->levels[0].name);
  if (status == HOVA_OK) {
    status = write_assembler(output, program, error);
  }
  if (status == HOVA_OK) {
    status = hova_output_print(output, error, ",\n  \"launches\": [");
  }
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
                            "\"shared_bytes\": %u",
                            launch->grid[0], launch->grid[1], launch->grid[2],
                            kernel->threads, kernel->shared_bytes);
    }
    if (status == HOVA_OK) {
      status = write_machine_code(output, kernel, error);
    }
    if (status == HOVA_OK) {
      status = hova_output_print(output, error, "}");
    }
  }
  return status == HOVA_OK ? hova_output_print(output, error, "]") : status;
}
