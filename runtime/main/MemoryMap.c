//===- MemoryMap.c - What lies where --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The arena has a place for each value that passes between kernels; values that
// are not alive at the same time share one. After it, and where nothing is
// alive, lies what each thread needs inside of a kernel.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/MemoryMap.h"

#include "runtime/Elements.h"
#include "runtime/cpu/Scratch.h"

#include <stdio.h>

typedef unsigned long long number;

/// How the rows of a value lie: `count` of `bytes` each, one every `stride`
/// bytes. Rows of another value may stand between them.
typedef struct value_rows {
  number count, bytes, stride;
} value_rows;

static value_rows rows_of_value(const hova_value_info *value) {
  number element = hova_element_bytes(hova_file_element(value->dtype));
  value_rows rows = {1, element, element * (number)value->row_stride};
  for (int32_t i = 0; i + 1 < value->rank; ++i) {
    rows.count *= (number)value->dims[i];
  }
  if (value->rank > 0) {
    rows.bytes *= (number)value->dims[value->rank - 1];
  }
  return rows;
}

/// From the start of its first row to the end of its last one.
static number bytes_of(const hova_value_info *value) {
  value_rows rows = rows_of_value(value);
  return rows.count ? (rows.count - 1) * rows.stride + rows.bytes : 0;
}

/// Bytes of one row of all chunks of a launch.
static number row_bytes_of(const hova_launch *launch) {
  const uint64_t *buffers = (const uint64_t *)(launch + 1);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < launch->num_buffers; ++i) {
    if ((buffers[i] & HOVA_BUFFER_KINDS) == HOVA_IN_CHUNK) {
      bytes += buffers[i] & ~(uint64_t)HOVA_BUFFER_KINDS;
    }
  }
  return bytes;
}

/// Rows of its chunk that a thread has at once, at most.
static number rows_of(const hova_launch *launch) {
  return launch->num_chunks == 0         ? 0
         : launch->block < launch->units ? launch->block
                                         : launch->units;
}

static uint64_t count_launches(const hova_program *program,
                               const hova_level *level) {
  uint64_t count = level && level->launches ? level->launches->count : 0;
  return count < program->num_kernels ? count : program->num_kernels;
}

static const hova_launch *first_launch(const hova_level *level) {
  return level && level->launches ? (const hova_launch *)(level->launches + 1)
                                  : NULL;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void print_threads(const hova_program *program,
                          const hova_level *level) {
  if (level && level->device) {
    return;
  }
  printf("\nmemory of a thread inside of a kernel\n     scratch   row bytes"
         "    rows  kernel\n");
  const hova_launch *launch = first_launch(level);
  for (uint64_t i = 0; i < count_launches(program, level); ++i) {
    if (launch->scratch_bytes || launch->num_chunks) {
      printf("%12llu%12llu%8llu  %llu %s\n", (number)launch->scratch_bytes,
             row_bytes_of(launch), rows_of(launch), (number)i,
             program->kernels[i].path);
    }
    launch = hova_next_launch(launch);
  }
}

void hova_print_memory_map(const hova_program *program,
                           const hova_level *level) {
  printf("\narena\n      offset       bytes  kernels  value\n");
  for (uint32_t i = 0; i < program->num_values; ++i) {
    const hova_value_info *value = &program->values[i];
    char kernels[32];
    snprintf(kernels, sizeof kernels, "%d-%d", value->kernel,
             value->last_kernel);
    printf("%12llu%12llu  %-7s  %s\n", (number)value->offset, bytes_of(value),
           kernels, value->path);
  }
  print_threads(program, level);
  printf("\nweights\n      offset       bytes  weight\n");
  for (uint32_t i = 0; i < program->num_weights; ++i) {
    const hova_weight_info *weight = &program->weights[i];
    printf("%12llu%12llu  %s\n", (number)weight->offset, (number)weight->bytes,
           weight->name);
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// `{"key": "text"` after `before`.
static hova_status open_entry(hova_output *output, const char *before,
                              const char *key, const char *text,
                              hova_error *error) {
  hova_status status =
      hova_output_print(output, error, "%s\n    {\"%s\": ", before, key);
  return status == HOVA_OK ? hova_output_print_string(output, error, text)
                           : status;
}

static hova_status write_values(hova_output *output,
                                const hova_program *program,
                                hova_error *error) {
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < program->num_values && status == HOVA_OK; ++i) {
    const hova_value_info *value = &program->values[i];
    value_rows rows = rows_of_value(value);
    status = open_entry(output, i ? "," : "", "path", value->path, error);
    if (status == HOVA_OK) {
      status = hova_output_print(
          output, error,
          ", \"offset\": %llu, \"bytes\": %llu, \"rows\": %llu, "
          "\"row_bytes\": %llu, \"row_stride\": %llu, \"first_kernel\": %d, "
          "\"last_kernel\": %d}",
          (number)value->offset, bytes_of(value), rows.count, rows.bytes,
          rows.stride, value->kernel, value->last_kernel);
    }
  }
  return status;
}

static hova_status write_threads(hova_output *output,
                                 const hova_program *program,
                                 const hova_level *level, hova_error *error) {
  hova_status status = HOVA_OK;
  const hova_launch *launch = first_launch(level);
  for (uint64_t i = 0; i < count_launches(program, level) && status == HOVA_OK;
       ++i) {
    status = open_entry(output, i ? "," : "", "path", program->kernels[i].path,
                        error);
    if (status == HOVA_OK) {
      status = hova_output_print(
          output, error,
          ", \"kernel\": %llu, \"scratch_bytes\": %llu, \"row_bytes\": %llu, "
          "\"rows\": %llu}",
          (number)i, (number)launch->scratch_bytes, row_bytes_of(launch),
          rows_of(launch));
    }
    launch = hova_next_launch(launch);
  }
  return status;
}

static hova_status write_weights(hova_output *output,
                                 const hova_program *program,
                                 hova_error *error) {
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < program->num_weights && status == HOVA_OK; ++i) {
    const hova_weight_info *weight = &program->weights[i];
    status = open_entry(output, i ? "," : "", "name", weight->name, error);
    if (status == HOVA_OK) {
      status = hova_output_print(output, error,
                                 ", \"offset\": %llu, \"bytes\": %llu}",
                                 (number)weight->offset, (number)weight->bytes);
    }
  }
  return status;
}

hova_status hova_write_memory_map(hova_output *output,
                                  const hova_program *program,
                                  const hova_level *level, hova_error *error) {
  hova_status status =
      hova_output_print(output, error, ",\n  \"memory\": {\n   \"arena\": [");
  if (status == HOVA_OK) {
    status = write_values(output, program, error);
  }
  if (status == HOVA_OK) {
    status = hova_output_print(output, error, "],\n   \"threads\": [");
  }
  if (status == HOVA_OK) {
    status = write_threads(output, program, level, error);
  }
  if (status == HOVA_OK) {
    status = hova_output_print(output, error, "],\n   \"weights\": [");
  }
  if (status == HOVA_OK) {
    status = write_weights(output, program, error);
  }
  return status == HOVA_OK ? hova_output_print(output, error, "]}") : status;
}
