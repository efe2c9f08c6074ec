//===- Emulated.c - A device that is the processor ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs kernels launch by launch with the checks of runtime/emulation, on one
// thread. Inside of a launch these see every access; between launches this file
// keeps, byte by byte, what has been written in a run: the arena and the
// outputs begin without a value, filled with numbers that are none, and a
// launch that reads what no launch before it has written is a fault.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Emulated.h"

#include "runtime/Bytes.h"
#include "runtime/Error.h"
#include "runtime/cuda/Device.h"

#include <stdlib.h>
#include <string.h>

/// All bits set is no number in any float type.
enum { POISON = 0xFF };

struct hova_gpu {
  const hova_program *program;
  const hova_device_code *code;
  const hova_places *places;
  uint8_t *memory;  ///< of the arena and the tensors
  uint8_t *written; ///< 1 for each byte of it that has a value
  uint64_t memory_bytes;
  uint64_t seed;
  hova_emulation_copies copies;
  hova_emulation_sums sums;
  hova_emulation_approximations approximations;
  hova_emulation_counts counts;
  hova_emulation_report report;
  // Of one launch.
  hova_emulation_buffer *buffers;
  const void **addresses, **arguments;
  hova_kernel_sizes sizes; ///< of the run
};

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

hova_status hova_gpu_open(int32_t ordinal, void *stream, hova_gpu **gpu,
                          hova_error *error) {
  *gpu = NULL;
  if (ordinal != 0 || stream) {
    return hova_fail(error, HOVA_REJECTED,
                     "expects device 0 and no stream, since a GPU is emulated, "
                     "got device %d%s",
                     ordinal, stream ? " and a stream" : "");
  }
  *gpu = calloc(1, sizeof **gpu);
  if (!*gpu) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for a device");
  }
  (*gpu)->copies = HOVA_EMULATION_LATE;
  return HOVA_OK;
}

void hova_gpu_close(hova_gpu *gpu) {
  if (!gpu) {
    return;
  }
  free(gpu->memory);
  free(gpu->written);
  free(gpu->buffers);
  free(gpu->addresses);
  free(gpu->arguments);
  free(gpu);
}

hova_status hova_gpu_check(const hova_gpu *gpu, hova_error *error) {
  (void)gpu;
  (void)error;
  return HOVA_OK;
}

uint32_t hova_gpu_capability(const hova_gpu *gpu) {
  (void)gpu;
  return UINT32_MAX;
}

uint64_t hova_gpu_shared(const hova_gpu *gpu) {
  (void)gpu;
  return UINT64_MAX;
}

const char *hova_gpu_name(const hova_gpu *gpu) {
  (void)gpu;
  return "the emulation";
}

bool hova_gpu_takes_tensors(const hova_gpu *gpu) {
  (void)gpu;
  return false;
}

hova_status hova_gpu_owns(hova_gpu *gpu, hova_device_address address,
                          bool *owns, hova_error *error) {
  (void)gpu;
  (void)address;
  (void)error;
  *owns = false;
  return HOVA_OK;
}

bool hova_gpu_reads_host(const hova_gpu *gpu) {
  (void)gpu;
  return true;
}

hova_status hova_gpu_allocate(hova_gpu *gpu, uint64_t size,
                              hova_device_address *address, hova_error *error) {
  uint64_t rounded;
  bool fits = hova_add(size, 255, &rounded);
  gpu->memory = fits ? aligned_alloc(256, rounded & ~UINT64_C(255)) : NULL;
  gpu->written = gpu->memory ? calloc(size, 1) : NULL;
  gpu->memory_bytes = size;
  if (!gpu->written) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY,
                     "out of memory: the emulated GPU takes %llu bytes, and "
                     "as much to know what is written",
                     (unsigned long long)size);
  }
  memset(gpu->memory, POISON, size);
  *address = (uintptr_t)gpu->memory;
  return HOVA_OK;
}

hova_status hova_gpu_upload(hova_gpu *gpu, hova_device_address to,
                            const void *from, uint64_t bytes,
                            const char *cannot, hova_error *error) {
  (void)cannot;
  (void)error;
  memcpy((void *)(uintptr_t)to, from, bytes);
  memset(gpu->written + (to - (uintptr_t)gpu->memory), 1, bytes);
  return HOVA_OK;
}

hova_status hova_gpu_download(hova_gpu *gpu, void *to, hova_device_address from,
                              uint64_t bytes, const char *cannot,
                              hova_error *error) {
  (void)gpu;
  (void)cannot;
  (void)error;
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return HOVA_OK;
}

const char *hova_gpu_host_view(const hova_gpu *gpu,
                               hova_device_address address) {
  (void)gpu;
  return (const char *)(uintptr_t)address;
}

/// Whether a kernel of the emulation takes what its description says: the
/// addresses of its buffers, and perhaps sizes.
static bool kernel_fits(const hova_device_kernel *kernel) {
  const hova_emulated_kernel *emulated = kernel->emulated;
  if (!emulated ||
      emulated->parameter_count != kernel->num_buffers + kernel->num_sizes) {
    return false;
  }
  for (uint32_t i = 0; i < emulated->parameter_count; ++i) {
    uint32_t bytes = i < kernel->num_buffers ? 0 : sizeof(uint32_t);
    if (emulated->parameters[i] != bytes) {
      return false;
    }
  }
  return true;
}

hova_status hova_gpu_load(hova_gpu *gpu, const hova_program *program,
                          const hova_device_code *code,
                          const hova_places *places, hova_error *error) {
  gpu->program = program;
  gpu->code = code;
  gpu->places = places;
  for (uint32_t i = 0; i < code->num_kernels; ++i) {
    if (!kernel_fits(&code->kernels[i])) {
      return hova_fail(
          error, HOVA_REJECTED,
          "program '%s' is malformed: kernel '%s' has no code for "
          "the emulation, or with other parameters than %u buffers",
          program->name, code->kernels[i].name, code->kernels[i].num_buffers);
    }
  }
  size_t most = hova_most_buffers(code) + (size_t)HOVA_KERNEL_SIZES;
  gpu->buffers = calloc(most, sizeof *gpu->buffers);
  gpu->addresses = calloc(most, sizeof *gpu->addresses);
  gpu->arguments = calloc(most, sizeof *gpu->arguments);
  return gpu->buffers && gpu->addresses && gpu->arguments
             ? HOVA_OK
             : hova_fail(error, HOVA_OUT_OF_MEMORY,
                         "out of memory for launches of up to %u buffers",
                         hova_most_buffers(code));
}

//===----------------------------------------------------------------------===//
// Names, for messages
//===----------------------------------------------------------------------===//

/// The value that lies at byte `at` of the arena during launch `number`.
static const char *value_at(const hova_program *program, uint32_t number,
                            uint64_t at) {
  const hova_value_info *best = NULL;
  for (uint32_t i = 0; i < program->num_values; ++i) {
    const hova_value_info *value = &program->values[i];
    bool alive = value->kernel <= (int32_t)number &&
                 (int32_t)number <= value->last_kernel;
    if (alive && value->offset <= at &&
        (!best || value->offset > best->offset)) {
      best = value;
    }
  }
  return best ? best->path : "the arena";
}

static const char *weight_at(const hova_program *program, uint64_t at) {
  for (uint32_t i = 0; i < program->num_weights; ++i) {
    const hova_weight_info *weight = &program->weights[i];
    if (weight->offset <= at && at - weight->offset < weight->bytes) {
      return weight->name;
    }
  }
  return "the weights";
}

static const char *name_of(const hova_program *program, uint32_t number,
                           const hova_device_buffer *buffer) {
  uint64_t at = buffer->place & ~(uint64_t)HOVA_BUFFER_KINDS;
  switch (buffer->place & HOVA_BUFFER_KINDS) {
  case HOVA_IN_ARENA:
    return value_at(program, number, at);
  case HOVA_IN_WEIGHTS:
    return weight_at(program, at);
  case HOVA_INPUT:
    return program->inputs[at >> HOVA_BUFFER_KIND_BITS].name;
  case HOVA_OUTPUT:
    return program->outputs[at >> HOVA_BUFFER_KIND_BITS].name;
  default:
    return "tables";
  }
}

//===----------------------------------------------------------------------===//
// What has a value
//===----------------------------------------------------------------------===//

/// The marks of a buffer's first byte; null: it has values always.
static uint8_t *marks_of(const hova_gpu *gpu,
                         const hova_device_buffer *buffer) {
  uint64_t kind = buffer->place & HOVA_BUFFER_KINDS;
  return kind == HOVA_IN_WEIGHTS || kind == HOVA_IN_TABLES
             ? NULL
             : gpu->written + (hova_buffer_address(gpu->places, buffer->place) -
                               (uintptr_t)gpu->memory);
}

/// The first of `bytes` bytes without a mark, or `bytes`.
static uint64_t find_unwritten(const uint8_t *marks, uint64_t bytes) {
  const uint8_t *at = memchr(marks, 0, bytes);
  return at ? (uint64_t)(at - marks) : bytes;
}

/// Everything that launch `number` reads has a value.
static hova_status check_reads(const hova_gpu *gpu, uint32_t number,
                               const hova_device_buffer *buffer,
                               hova_error *error) {
  const uint8_t *marks = marks_of(gpu, buffer);
  if (!marks || buffer->use == HOVA_DEVICE_OUTPUT) {
    return HOVA_OK;
  }
  for (uint64_t row = 0; row < buffer->rows; ++row) {
    uint64_t begin = row * buffer->row_stride;
    uint64_t at = find_unwritten(marks + begin, buffer->row_bytes);
    if (at < buffer->row_bytes) {
      return hova_fail(error, HOVA_FAULT,
                       "'%s': kernel %u is given byte %llu of '%s' to read, "
                       "where no kernel before it has written",
                       gpu->program->kernels[number].path, number,
                       (unsigned long long)(begin + at),
                       name_of(gpu->program, number, buffer));
    }
  }
  return HOVA_OK;
}

/// After a launch: hova_emulate has seen that every output is written.
static void mark_writes(const hova_gpu *gpu, const hova_device_buffer *buffer) {
  uint8_t *marks = marks_of(gpu, buffer);
  for (uint64_t row = 0; buffer->use != HOVA_DEVICE_INPUT && row < buffer->rows;
       ++row) {
    memset(marks + row * buffer->row_stride, 1, buffer->row_bytes);
  }
}

/// After the last launch: every output is whole.
static hova_status check_outputs(const hova_gpu *gpu, const hova_gpu_job *job,
                                 hova_error *error) {
  for (uint32_t i = 0; i < job->num_downloads; ++i) {
    const hova_gpu_copy *copy = &job->downloads[i];
    uint64_t at = find_unwritten(
        gpu->written + (copy->device - (uintptr_t)gpu->memory), copy->bytes);
    if (at < copy->bytes) {
      return hova_fail(error, HOVA_FAULT,
                       "no kernel writes byte %llu of output '%s'",
                       (unsigned long long)at, gpu->program->outputs[i].name);
    }
  }
  return HOVA_OK;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static hova_emulation_use use_of(const hova_device_buffer *buffer) {
  switch (buffer->use) {
  case HOVA_DEVICE_INPUT:
    return HOVA_EMULATION_INPUT;
  case HOVA_DEVICE_OUTPUT:
    return HOVA_EMULATION_OUTPUT;
  default:
    return HOVA_EMULATION_STATE;
  }
}

static void add_counts(hova_emulation_counts *sum,
                       const hova_emulation_counts *counts) {
  sum->warp_instructions += counts->warp_instructions;
  sum->products += counts->products;
  sum->barriers += counts->barriers;
  sum->copied_bytes += counts->copied_bytes;
  sum->matrix_wavefronts += counts->matrix_wavefronts;
  sum->matrix_wavefronts_least += counts->matrix_wavefronts_least;
}

static hova_status run_launch(hova_gpu *gpu, uint32_t number,
                              const hova_sizes *sizes, hova_error *error) {
  const hova_device_launch *launch = &gpu->code->launches[number];
  const hova_device_kernel *kernel = &gpu->code->kernels[launch->kernel];
  hova_emulation_launch emulated = {
      .kernel = kernel->emulated,
      .block = {kernel->threads, 1, 1},
      .dynamic_shared_bytes = kernel->shared_bytes,
      .most_shared_bytes = gpu->code->shared_bytes,
      .arguments = gpu->arguments,
      .buffers = gpu->buffers,
      .buffer_count = kernel->num_buffers,
      .seed = gpu->seed,
      .copies = gpu->copies,
      .sums = gpu->sums,
      .approximations = gpu->approximations,
      .overlaps = kernel->overlaps};
  hova_grid_of_run(launch, sizes, emulated.grid);
  for (uint32_t i = 0; i < kernel->num_sizes; ++i) {
    gpu->arguments[kernel->num_buffers + i] = &gpu->sizes.number[i];
  }
  for (uint32_t i = 0; i < kernel->num_buffers; ++i) {
    hova_device_buffer run = hova_buffer_of_run(&launch->buffers[i], sizes);
    const hova_device_buffer *buffer = &run;
    hova_status status = check_reads(gpu, number, buffer, error);
    if (status != HOVA_OK) {
      return status;
    }
    void *data =
        (void *)(uintptr_t)hova_buffer_address(gpu->places, buffer->place);
    gpu->addresses[i] = data;
    gpu->arguments[i] = &gpu->addresses[i];
    gpu->buffers[i] =
        (hova_emulation_buffer){name_of(gpu->program, number, buffer),
                                data,
                                hova_buffer_bytes(buffer),
                                use_of(buffer),
                                buffer->row_bytes,
                                buffer->row_stride,
                                !marks_of(gpu, buffer)};
  }
  bool done = hova_emulate(&emulated, &gpu->report);
  add_counts(&gpu->counts, &gpu->report.counts);
  if (!done) {
    return hova_fail(
        error, gpu->report.out_of_memory ? HOVA_OUT_OF_MEMORY : HOVA_FAULT,
        "'%s': %s", gpu->program->kernels[number].path, gpu->report.message);
  }
  for (uint32_t i = 0; i < kernel->num_buffers; ++i) {
    hova_device_buffer run = hova_buffer_of_run(&launch->buffers[i], sizes);
    mark_writes(gpu, &run);
  }
  return HOVA_OK;
}

static hova_status run_launches(hova_gpu *gpu, const hova_gpu_job *job,
                                hova_error *error) {
  uint32_t count = gpu->code->num_launches;
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < count && status == HOVA_OK; ++i) {
    if (job->watch.only >= 0 && i != (uint64_t)job->watch.only) {
      continue;
    }
    uint64_t begin = hova_gpu_now();
    status = run_launch(gpu, i, &job->sizes, error);
    uint64_t end = hova_gpu_now();
    if (job->watch.times) {
      // A kernel ends where the next one begins.
      job->watch.times[i] =
          i && job->watch.only < 0 ? job->watch.times[i] : begin;
      job->watch.times[i + 1] = end;
    }
    if (job->watch.spans) {
      job->watch.spans[2 * i] = begin;
      job->watch.spans[2 * i + 1] = end;
    }
    if (job->watch.hook && status == HOVA_OK) {
      job->watch.hook(job->watch.user, i);
    }
  }
  return status;
}

hova_status hova_gpu_run(hova_gpu *gpu, const hova_gpu_job *job,
                         hova_error *error) {
  gpu->counts = (hova_emulation_counts){0};
  gpu->sizes = hova_kernel_sizes_of_run(&job->sizes);
  if (job->watch.only < 0) {
    // Nothing is left over from the last run.
    memset(gpu->memory, POISON, gpu->memory_bytes);
    memset(gpu->written, 0, gpu->memory_bytes);
  }
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < job->num_uploads && status == HOVA_OK; ++i) {
    const hova_gpu_copy *copy = &job->uploads[i];
    if (copy->host) {
      status = hova_gpu_upload(gpu, copy->device, copy->host, copy->bytes,
                               "copy an input", error);
    }
  }
  if (status == HOVA_OK) {
    status = run_launches(gpu, job, error);
  }
  if (status == HOVA_OK && job->watch.only < 0) {
    status = check_outputs(gpu, job, error);
  }
  for (uint32_t i = 0; i < job->num_downloads && status == HOVA_OK; ++i) {
    const hova_gpu_copy *copy = &job->downloads[i];
    status = hova_gpu_download(gpu, copy->host, copy->device, copy->bytes,
                               "copy an output", error);
  }
  return status;
}

void hova_set_emulation(hova_context *context, uint64_t seed,
                        hova_emulation_copies copies) {
  hova_gpu *gpu = hova_gpu_of(context);
  gpu->seed = seed;
  gpu->copies = copies;
}

void hova_set_emulation_sums(hova_context *context, hova_emulation_sums sums) {
  hova_gpu_of(context)->sums = sums;
}

void hova_set_emulation_approximations(hova_context *context,
                                       hova_emulation_approximations way) {
  hova_gpu_of(context)->approximations = way;
}

hova_emulation_counts hova_emulation_counts_of(hova_context *context) {
  return hova_gpu_of(context)->counts;
}

static void set_order(hova_context *context, uint64_t order) {
  hova_set_emulation(context, order, HOVA_EMULATION_MIXED);
}

static void set_sums(hova_context *context, int sums) {
  hova_set_emulation_sums(context, (hova_emulation_sums)sums);
}

static void set_approximations(hova_context *context, int way) {
  hova_set_emulation_approximations(context,
                                    (hova_emulation_approximations)way);
}

const char hova_gpu_target[] = "cuda-emulated";
const hova_inspection hova_gpu_inspection =
    HOVA_INSPECTION(set_order, set_sums, set_approximations);
