//===- Launches.c - The launches of a program for a GPU -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/Launches.h"

#include "runtime/Arguments.h"
#include "runtime/Bytes.h"
#include "runtime/Error.h"

#include <limits.h>
#include <string.h>

/// What every device can be asked for.
enum { MOST_THREADS = 1024, MOST_BLOCKS = INT32_MAX, MOST_BLOCKS_YZ = 65535 };

/// Kernels read and write pieces of 16 bytes.
enum { ALIGNMENT = 16, TABLE_ALIGNMENT = 64 };

static uint64_t place_of(uint64_t place) {
  return place & ~(uint64_t)HOVA_BUFFER_KINDS;
}

void hova_grid_of_run(const hova_device_launch *launch, const hova_sizes *sizes,
                      uint32_t grid[3]) {
  memcpy(grid, launch->grid, sizeof launch->grid);
  if (sizes->rows == 0) {
    return;
  }
  uint64_t items = (uint64_t)sizes->items;
  int64_t tokens = launch->of_other ? sizes->other_rows : sizes->rows;
  int64_t longest = launch->of_other ? sizes->other_tokens : sizes->tokens;
  uint64_t units = launch->item_units * items +
                   launch->token_units * (uint64_t)tokens +
                   launch->longest_units * (uint64_t)longest;
  if (units > 0) {
    uint64_t each = launch->block_units;
    grid[0] = (uint32_t)((units + each - 1) / each);
  }
  if (launch->item_entries > 0) {
    grid[2] = (uint32_t)(launch->item_entries * items);
  }
}

hova_kernel_sizes hova_kernel_sizes_of_run(const hova_sizes *sizes) {
  return (hova_kernel_sizes){{(uint32_t)sizes->items, (uint32_t)sizes->rows,
                              (uint32_t)sizes->other_rows}};
}

hova_device_buffer hova_buffer_of_run(const hova_device_buffer *buffer,
                                      const hova_sizes *sizes) {
  hova_device_buffer run = *buffer;
  uint64_t rows = buffer->item_rows * (uint64_t)sizes->items +
                  buffer->token_rows * (uint64_t)sizes->rows +
                  buffer->other_token_rows * (uint64_t)sizes->other_rows;
  run.rows = rows > 0 ? rows : buffer->rows;
  return run;
}

uint64_t hova_buffer_bytes(const hova_device_buffer *buffer) {
  return (buffer->rows - 1) * buffer->row_stride + buffer->row_bytes;
}

bool hova_buffer_is_tensor(const hova_device_buffer *buffer) {
  uint64_t kind = buffer->place & HOVA_BUFFER_KINDS;
  return kind == HOVA_INPUT || kind == HOVA_OUTPUT;
}

uint32_t hova_most_buffers(const hova_device_code *code) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < code->num_kernels; ++i) {
    most = code->kernels[i].num_buffers > most ? code->kernels[i].num_buffers
                                               : most;
  }
  return most;
}

hova_device_address hova_buffer_address(const hova_places *places,
                                        uint64_t place) {
  uint64_t at = place_of(place);
  switch (place & HOVA_BUFFER_KINDS) {
  case HOVA_IN_ARENA:
    return places->arena + at;
  case HOVA_IN_WEIGHTS:
    return places->weights + at;
  case HOVA_IN_TABLES:
    return places->tables + at;
  case HOVA_IN_SEQUENCES:
    return places->sequences + at;
  case HOVA_INPUT:
    return places->tensors[at >> HOVA_BUFFER_KIND_BITS];
  default:
    return places->tensors[places->num_inputs + (at >> HOVA_BUFFER_KIND_BITS)];
  }
}

/// What a buffer lies in: its bytes, and whether kernels may write there.
typedef struct room {
  uint64_t begin; ///< of the buffer
  uint64_t bytes;
  bool writable;
} room;

static bool find_room(const hova_program *program, const hova_device_code *code,
                      uint64_t place, room *found) {
  uint64_t at = place_of(place), index = at >> HOVA_BUFFER_KIND_BITS;
  switch (place & HOVA_BUFFER_KINDS) {
  case HOVA_IN_ARENA:
    *found = (room){at, program->arena_bytes, true};
    return true;
  case HOVA_IN_WEIGHTS:
    *found = (room){at, program->weight_bytes, false};
    return true;
  case HOVA_IN_TABLES:
    *found = (room){at, code->tables ? code->table_bytes : 0, false};
    return true;
  case HOVA_IN_SEQUENCES:
    *found = (room){at,
                    program->ranges
                        ? hova_sequence_words(program->ranges) * sizeof(int32_t)
                        : 0,
                    false};
    return true;
  case HOVA_INPUT:
    if (index >= program->num_inputs) {
      return false;
    }
    *found = (room){0, hova_info_bytes(&program->inputs[index]), false};
    return true;
  case HOVA_OUTPUT:
    if (index >= program->num_outputs) {
      return false;
    }
    *found = (room){0, hova_info_bytes(&program->outputs[index]), true};
    return true;
  default:
    return false;
  }
}

static bool buffer_is_valid(const hova_program *program,
                            const hova_device_code *code,
                            const hova_device_buffer *buffer) {
  room in;
  uint64_t gaps, bytes, end;
  return buffer->rows > 0 && buffer->row_bytes > 0 &&
         buffer->row_stride >= buffer->row_bytes &&
         buffer->use <= HOVA_DEVICE_STATE &&
         find_room(program, code, buffer->place, &in) &&
         (in.writable || buffer->use == HOVA_DEVICE_INPUT) &&
         in.begin % ALIGNMENT == 0 &&
         hova_multiply(buffer->rows - 1, buffer->row_stride, &gaps) &&
         hova_add(gaps, buffer->row_bytes, &bytes) &&
         hova_add(in.begin, bytes, &end) && end <= in.bytes;
}

static hova_status check_kernels(const hova_program *program,
                                 const hova_device_code *code,
                                 hova_error *error) {
  if (code->shared_bytes > INT32_MAX) {
    return hova_fail(
        error, HOVA_REJECTED,
        "program '%s' is malformed: it expects at most %d bytes of "
        "shared memory in a block, got %u",
        program->name, INT32_MAX, code->shared_bytes);
  }
  for (uint32_t i = 0; i < code->num_kernels; ++i) {
    const hova_device_kernel *kernel = &code->kernels[i];
    if (!kernel->name || kernel->threads == 0 ||
        kernel->threads > MOST_THREADS ||
        kernel->shared_bytes > code->shared_bytes) {
      return hova_fail(
          error, HOVA_REJECTED,
          "program '%s' is malformed: kernel '%s' expects 1 to %d threads in a "
          "block and at most %u bytes of shared memory, got %u and %u",
          program->name, kernel->name ? kernel->name : "", MOST_THREADS,
          code->shared_bytes, kernel->threads, kernel->shared_bytes);
    }
  }
  return HOVA_OK;
}

/// The largest sizes; all 0 where shapes are fixed.
static hova_sizes largest_sizes(const hova_program *program) {
  const hova_ranges *ranges = program->ranges;
  hova_sizes sizes = {0};
  if (ranges) {
    sizes.items = ranges->most_items;
    sizes.tokens = ranges->most_tokens;
    sizes.rows = sizes.items * sizes.tokens;
    sizes.other_tokens = hova_most_others(ranges);
    sizes.other_rows = sizes.items * sizes.other_tokens;
  }
  return sizes;
}

/// Whether a launch of the largest sizes has the grid and the buffers that are
/// checked here: those of smaller ones are parts of them.
static bool sizes_are_valid(const hova_program *program,
                            const hova_device_code *code,
                            const hova_device_launch *launch) {
  hova_sizes largest = largest_sizes(program);
  uint64_t units = (uint64_t)launch->item_units + launch->token_units +
                   launch->longest_units;
  uint32_t buffers = code->kernels[launch->kernel].num_buffers;
  uint32_t num_sizes = !program->ranges       ? 0
                       : largest.other_tokens ? HOVA_KERNEL_SIZES
                                              : 2;
  if ((units > 0 && launch->block_units == 0) ||
      (!program->ranges && (units > 0 || launch->item_entries > 0)) ||
      launch->of_other > (num_sizes == HOVA_KERNEL_SIZES ? 1 : 0) ||
      code->kernels[launch->kernel].num_sizes != num_sizes) {
    return false;
  }
  uint32_t grid[3];
  hova_grid_of_run(launch, &largest, grid);
  bool fits = memcmp(grid, launch->grid, sizeof grid) == 0;
  for (uint32_t i = 0; launch->buffers && i < buffers; ++i) {
    const hova_device_buffer *buffer = &launch->buffers[i];
    fits &= hova_buffer_of_run(buffer, &largest).rows == buffer->rows;
  }
  return fits;
}

static hova_status check_launch(const hova_program *program,
                                const hova_device_code *code, uint32_t number,
                                hova_error *error) {
  const hova_device_launch *launch = &code->launches[number];
  const char *path = program->kernels[number].path;
  if (launch->kernel >= code->num_kernels) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' is malformed: launch %u of '%s' expects one "
                     "of %u kernels, got number %u",
                     program->name, number, path, code->num_kernels,
                     launch->kernel);
  }
  if (!sizes_are_valid(program, code, launch)) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' is malformed: launch %u of '%s' expects its "
                     "grid and buffers to be those of the largest sizes",
                     program->name, number, path);
  }
  const uint32_t *grid = launch->grid;
  if (grid[0] == 0 || grid[0] > MOST_BLOCKS || grid[1] == 0 ||
      grid[1] > MOST_BLOCKS_YZ || grid[2] == 0 || grid[2] > MOST_BLOCKS_YZ) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s': kernel %u of '%s' has a grid of %u x %u x "
                     "%u blocks, and a GPU takes 1 to %d x %d x %d",
                     program->name, number, path, grid[0], grid[1], grid[2],
                     MOST_BLOCKS, MOST_BLOCKS_YZ, MOST_BLOCKS_YZ);
  }
  for (uint32_t i = 0; i < code->kernels[launch->kernel].num_buffers; ++i) {
    if (!launch->buffers ||
        !buffer_is_valid(program, code, &launch->buffers[i])) {
      return hova_fail(error, HOVA_REJECTED,
                       "program '%s' is malformed: buffer %u of kernel %u of "
                       "'%s' is not inside of what the program has",
                       program->name, i, number, path);
    }
  }
  return HOVA_OK;
}

hova_status hova_check_launches(const hova_program *program,
                                const hova_device_code *code,
                                hova_error *error) {
  hova_status status = check_kernels(program, code, error);
  if (status == HOVA_OK && (uintptr_t)code->tables % TABLE_ALIGNMENT != 0) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' is malformed: its tables must be aligned to "
                     "%d bytes",
                     program->name, TABLE_ALIGNMENT);
  }
  if (status == HOVA_OK && code->num_launches != program->num_kernels) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' is malformed: it has %u kernels and %u "
                     "launches",
                     program->name, program->num_kernels, code->num_launches);
  }
  for (uint32_t i = 0; i < code->num_launches && status == HOVA_OK; ++i) {
    status = check_launch(program, code, i, error);
  }
  return status;
}
