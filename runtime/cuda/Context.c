//===- Context.c - A GPU as a machine -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All memory of a device is taken when a context is created: weights, tables,
// the arena, and a place for each input and output, through which tensors of
// the host are copied. Tensors that lie in the device's memory are used where
// they are.
//
//===----------------------------------------------------------------------===//

#include "runtime/Arguments.h"
#include "runtime/Image.h"
#include "runtime/MappedFile.h"
#include "runtime/cuda/Device.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct gpu_context {
  hova_context base;
  hova_gpu *gpu;
  int32_t ordinal;
  bool has_stream; ///< of the caller
  hova_places places;
  hova_gpu_job job;
  // Of each input, then of each output.
  hova_device_address *staged, *tensors;
  hova_gpu_copy *copies; ///< after that of the table of sequences
  // Where items differ in length: that table, and of which sizes it is. Those
  // of packed items are written by every run.
  int32_t *sequences;
  hova_sizes sizes;
  void **data;
  void **contents; ///< memory to check integers of a device in, or null
} gpu_context;

static gpu_context *as_gpu(hova_context *context) {
  return (gpu_context *)context;
}

static const gpu_context *as_const_gpu(const hova_context *context) {
  return (const gpu_context *)context;
}

uint64_t hova_gpu_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint32_t count_tensors(const hova_program *program) {
  return program->num_inputs + program->num_outputs;
}

static const hova_tensor_info *info_of(const hova_program *program,
                                       uint32_t tensor) {
  return tensor < program->num_inputs
             ? &program->inputs[tensor]
             : &program->outputs[tensor - program->num_inputs];
}

//===----------------------------------------------------------------------===//
// Creation, step by step
//===----------------------------------------------------------------------===//

static hova_status check_options(const hova_options *options,
                                 hova_error *error) {
  if (options->threads < 0 || options->threads > 1) {
    return hova_fail(error, HOVA_REJECTED,
                     "expects 0 or 1 threads, got %d: the kernels of this "
                     "program are for a GPU",
                     options->threads);
  }
  if (options->check_weights != 0 && options->check_weights != 1) {
    return hova_fail(error, HOVA_REJECTED,
                     "expects 0 or 1 as check_weights, got %d",
                     options->check_weights);
  }
  return HOVA_OK;
}

static bool fits(const hova_level *level) { return level->device != NULL; }

/// The kernel that takes most shared memory; null: there is none.
static const hova_device_kernel *largest_kernel(const hova_device_code *code) {
  const hova_device_kernel *largest = NULL;
  for (uint32_t i = 0; i < code->num_kernels; ++i) {
    const hova_device_kernel *kernel = &code->kernels[i];
    if (!largest || kernel->shared_bytes > largest->shared_bytes) {
      largest = kernel;
    }
  }
  return largest;
}

/// Whether the instructions of a level run there.
static bool has_capability(const gpu_context *context,
                           const hova_device_code *code) {
  uint32_t capability = hova_gpu_capability(context->gpu);
  return code->capability <= capability && capability <= code->last_capability;
}

/// The best level that the device and, where it is emulated, the processor can
/// run: one that was made for as much shared memory as the device has, or, if
/// there is none, one whose kernels need no more. Null: neither.
static const hova_level *find_level(const gpu_context *context,
                                    bool is_made_for_it) {
  const hova_program *program = context->base.program;
  uint64_t shared = hova_gpu_shared(context->gpu);
  uint64_t features = hova_cpu_features();
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    const hova_level *level = &program->levels[i];
    if (!fits(level) || (level->features & ~features) != 0 ||
        !has_capability(context, level->device)) {
      continue;
    }
    const hova_device_kernel *largest = largest_kernel(level->device);
    uint64_t needed = is_made_for_it ? level->device->shared_bytes
                      : largest      ? largest->shared_bytes
                                     : 0;
    if (needed <= shared) {
      return level;
    }
  }
  return NULL;
}

/// Says why no level is taken.
static hova_status refuse_levels(gpu_context *context) {
  const hova_program *program = context->base.program;
  const char *name = hova_gpu_name(context->gpu);
  hova_error *error = &context->base.error;
  uint32_t capability = hova_gpu_capability(context->gpu);
  const hova_device_code *least = NULL, *able = NULL;
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    const hova_device_code *code = program->levels[i].device;
    least =
        code && (!least || code->capability < least->capability) ? code : least;
    able = code && has_capability(context, code) ? code : able;
  }
  const hova_device_kernel *largest = able ? largest_kernel(able) : NULL;
  if (largest && largest->shared_bytes > hova_gpu_shared(context->gpu)) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' needs a GPU with %u bytes of shared memory "
                     "in a block, for kernel '%s'; %s has %llu",
                     program->name, largest->shared_bytes, largest->name, name,
                     (unsigned long long)hova_gpu_shared(context->gpu));
  }
  if (able) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' emulates a GPU with code that needs another "
                     "processor than this one",
                     program->name);
  }
  return hova_fail(
      error, HOVA_REJECTED,
      "program '%s' needs a GPU of compute capability %u.%u%s; %s has %u.%u",
      program->name, least->capability / 10, least->capability % 10,
      least->capability <= capability ? " and no later one" : "", name,
      capability / 10, capability % 10);
}

static hova_status pick_level(gpu_context *context) {
  const hova_level *level = find_level(context, /*is_made_for_it=*/true);
  if (!level) {
    level = find_level(context, /*is_made_for_it=*/false);
  }
  context->base.level = level;
  return level ? HOVA_OK : refuse_levels(context);
}

static bool has_code(const hova_program *program) {
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    if (fits(&program->levels[i])) {
      return true;
    }
  }
  return false;
}

static hova_status find(hova_context *base, const hova_options *options) {
  gpu_context *context = as_gpu(base);
  context->ordinal = options->device;
  context->has_stream = options->stream != NULL;
  if (!has_code(base->program)) {
    return hova_fail(&base->error, HOVA_REJECTED,
                     "program '%s' has no code for a GPU", base->program->name);
  }
  hova_status status = hova_gpu_open(options->device, options->stream,
                                     &context->gpu, &base->error);
  return status == HOVA_OK ? pick_level(context) : status;
}

/// Gives `bytes` after `*end` a place, or false where 64 bits do not tell it.
static bool reserve(uint64_t bytes, uint64_t *end, uint64_t *begin) {
  uint64_t after;
  *begin = *end;
  if (!hova_add(*end, bytes, &after) || !hova_add(after, 255, &after)) {
    return false;
  }
  *end = after & ~UINT64_C(255);
  return true;
}

/// Bytes of the table of sequences, which a program has where items differ in
/// length, in either of two sequences.
static uint64_t sequence_bytes(const hova_program *program) {
  const hova_ranges *ranges = program->ranges;
  return ranges && (ranges->least_tokens < ranges->most_tokens ||
                    ranges->least_other_tokens < ranges->most_other_tokens)
             ? hova_sequence_words(ranges) * sizeof(int32_t)
             : 0;
}

/// Takes memory for everything, in one piece, and says what lies where.
static hova_status place_memory(gpu_context *context) {
  const hova_program *program = context->base.program;
  const hova_device_code *code = context->base.level->device;
  bool copies = !hova_gpu_reads_host(context->gpu);
  uint64_t end = 0, weights, tables, arena, sequences;
  bool fits = reserve(copies ? program->weight_bytes : 0, &end, &weights) &&
              reserve(copies ? code->table_bytes : 0, &end, &tables) &&
              reserve(program->arena_bytes, &end, &arena) &&
              reserve(sequence_bytes(program), &end, &sequences);
  for (uint32_t i = 0; i < count_tensors(program) && fits; ++i) {
    uint64_t bytes = hova_info_bytes(info_of(program, i));
    fits = reserve(bytes, &end, &context->staged[i]);
  }
  if (!fits) {
    return hova_fail(&context->base.error, HOVA_REJECTED,
                     "program '%s' needs more memory than 64 bits can count",
                     program->name);
  }
  hova_device_address memory = 0;
  hova_status status = hova_gpu_allocate(context->gpu, end ? end : 1, &memory,
                                         &context->base.error);
  context->places =
      (hova_places){memory + arena,     memory + weights, memory + tables,
                    memory + sequences, context->tensors, program->num_inputs};
  if (!copies) {
    context->places.weights = (uintptr_t)context->base.weights;
    context->places.tables = (uintptr_t)code->tables;
  }
  for (uint32_t i = 0; i < count_tensors(program); ++i) {
    context->staged[i] += memory;
    context->tensors[i] = context->staged[i];
  }
  if (status == HOVA_OK && copies && program->weight_bytes) {
    status = hova_gpu_upload(context->gpu, context->places.weights,
                             context->base.weights, program->weight_bytes,
                             "copy the weights", &context->base.error);
  }
  if (status == HOVA_OK && copies && code->table_bytes) {
    status = hova_gpu_upload(context->gpu, context->places.tables, code->tables,
                             code->table_bytes, "copy the weights",
                             &context->base.error);
  }
  return status;
}

/// Memory of the host in which integers that lie on the device are checked, and
/// the table of sequences is written.
static hova_status allocate_contents(gpu_context *context) {
  const hova_program *program = context->base.program;
  if (sequence_bytes(program) > 0) {
    context->sequences = calloc(1, sequence_bytes(program));
    if (!context->sequences) {
      return hova_fail(&context->base.error, HOVA_OUT_OF_MEMORY,
                       "out of memory for the sequences of a run");
    }
  }
  if (!hova_gpu_takes_tensors(context->gpu)) {
    return HOVA_OK;
  }
  for (uint32_t i = 0; i < program->num_inputs; ++i) {
    uint64_t bytes = hova_info_bytes(&program->inputs[i]);
    if (!hova_has_range(&program->inputs[i])) {
      continue;
    }
    context->contents[i] = malloc(bytes ? bytes : 1);
    if (!context->contents[i]) {
      return hova_fail(&context->base.error, HOVA_OUT_OF_MEMORY,
                       "out of memory: input '%s' takes %llu bytes",
                       program->inputs[i].name, (unsigned long long)bytes);
    }
  }
  return HOVA_OK;
}

static hova_status start(hova_context *base, const hova_options *options) {
  gpu_context *context = as_gpu(base);
  hova_error *error = &base->error;
  hova_status status = check_options(options, error);
  if (status == HOVA_OK) {
    status = hova_check_launches(base->program, base->level->device, error);
  }
  if (status == HOVA_OK) {
    status = hova_image_open(base->program, options, &base->image,
                             &base->weights, error);
  }
  if (status == HOVA_OK) {
    status = place_memory(context);
  }
  if (status == HOVA_OK) {
    status = allocate_contents(context);
  }
  if (status == HOVA_OK) {
    status = hova_gpu_load(context->gpu, base->program, base->level->device,
                           &context->places, error);
  }
  if (status == HOVA_OK && !hova_gpu_reads_host(context->gpu)) {
    // The device has them now.
    hova_unmap_file(base->image);
    base->image = (hova_span){NULL, 0};
  }
  return status;
}

static void destroy(hova_context *base) {
  gpu_context *context = as_gpu(base);
  hova_gpu_close(context->gpu);
  for (uint32_t i = 0; context->contents && i < base->program->num_inputs;
       ++i) {
    free(context->contents[i]);
  }
  free(context->staged);
  free(context->tensors);
  free(context->copies);
  free(context->data);
  free(context->contents);
  free(context->sequences);
  free(context);
}

/// A context whose arrays have a place for each tensor.
static hova_context *make(const hova_program *program) {
  size_t tensors = count_tensors(program);
  gpu_context *context = calloc(1, sizeof *context);
  if (!context) {
    return NULL;
  }
  context->base.program = program;
  context->base.watch = &context->job.watch;
  context->staged = calloc(tensors + 1, sizeof *context->staged);
  context->tensors = calloc(tensors + 1, sizeof *context->tensors);
  context->copies = calloc(tensors + 1, sizeof *context->copies);
  context->data = calloc(tensors + 1, sizeof *context->data);
  context->contents = calloc(tensors + 1, sizeof *context->contents);
  if (!context->staged || !context->tensors || !context->copies ||
      !context->data || !context->contents) {
    destroy(&context->base);
    return NULL;
  }
  context->job.uploads = context->copies;
  context->job.num_uploads = 1 + program->num_inputs;
  context->job.downloads = context->copies + context->job.num_uploads;
  context->job.num_downloads = program->num_outputs;
  return &context->base;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Which device a tensor is on, and what lies at its address, only the device
/// knows.
static hova_status check_device(gpu_context *context, const char *role,
                                const char *name, const hova_tensor *tensor,
                                const void *data) {
  if (tensor->device.device_type != HOVA_CUDA_MEMORY) {
    return HOVA_OK;
  }
  if (tensor->device.device_id != context->ordinal) {
    return hova_fail(&context->base.error, HOVA_REJECTED,
                     "%s '%s' expects memory of device %d, got that of device "
                     "%d",
                     role, name, context->ordinal, tensor->device.device_id);
  }
  bool owns;
  hova_status status =
      hova_gpu_owns(context->gpu, (uintptr_t)data, &owns, &context->base.error);
  return status != HOVA_OK || owns
             ? status
             : hova_fail(&context->base.error, HOVA_REJECTED,
                         "%s '%s' expects memory of device %d, and its address "
                         "is none there",
                         role, name, context->ordinal);
}

/// Checks all that can be checked, and notes where each tensor is.
static hova_status check_call(gpu_context *context, const hova_sizes *sizes,
                              const hova_tensor *inputs,
                              const hova_tensor *outputs) {
  const hova_program *program = context->base.program;
  hova_error *error = &context->base.error;
  enum hova_memory_kind memory = hova_gpu_takes_tensors(context->gpu)
                                     ? HOVA_CPU_OR_CUDA_MEMORY
                                     : HOVA_CPU_MEMORY;
  hova_status status = hova_check_arguments(
      program, sizes, memory, inputs, outputs, context->data,
      context->data + program->num_inputs, error);
  for (uint32_t i = 0; i < count_tensors(program) && status == HOVA_OK; ++i) {
    bool is_input = i < program->num_inputs;
    status = check_device(
        context, is_input ? "input" : "output", info_of(program, i)->name,
        is_input ? &inputs[i] : &outputs[i - program->num_inputs],
        context->data[i]);
  }
  for (uint32_t i = 0; i < program->num_inputs && status == HOVA_OK; ++i) {
    const hova_tensor_info *info = &program->inputs[i];
    const void *data = context->data[i];
    if (!hova_has_range(info)) {
      continue;
    }
    if (inputs[i].device.device_type == HOVA_CUDA_MEMORY) {
      status = hova_gpu_download(
          context->gpu, context->contents[i], (uintptr_t)data,
          hova_bytes_of_run(info, sizes), "read an input to check it", error);
      data = context->contents[i];
    }
    if (status == HOVA_OK) {
      status =
          hova_check_range(info, data, hova_count_of_run(info, sizes), error);
    }
  }
  return status;
}

/// Notes the sizes of a run and that their table has to be copied, unless the
/// device has it. An emulation keeps nothing from one run to the next.
static void set_sizes(gpu_context *context, const hova_sizes *sizes) {
  const hova_program *program = context->base.program;
  bool is_known = hova_same_sizes(sizes, &context->sizes) &&
                  !hova_gpu_reads_host(context->gpu);
  context->sizes = *sizes;
  context->job.sizes = *sizes;
  context->copies[0].host = NULL;
  if (context->sequences && !is_known) {
    hova_write_sequences(program->ranges, sizes, context->sequences);
    context->copies[0] = (hova_gpu_copy){
        context->places.sequences, context->sequences, sequence_bytes(program)};
  }
}

/// Notes what has to be copied for a call that is right.
static void prepare_job(gpu_context *context, const hova_sizes *sizes,
                        const hova_tensor *inputs, const hova_tensor *outputs) {
  const hova_program *program = context->base.program;
  hova_gpu_job *job = &context->job;
  set_sizes(context, sizes);
  job->wait = !context->has_stream;
  for (uint32_t i = 0; i < count_tensors(program); ++i) {
    const hova_tensor *tensor = i < program->num_inputs
                                    ? &inputs[i]
                                    : &outputs[i - program->num_inputs];
    bool copies = tensor->device.device_type == HOVA_CPU_MEMORY;
    hova_device_address address =
        copies ? context->staged[i] : (uintptr_t)context->data[i];
    context->copies[1 + i] =
        (hova_gpu_copy){address, copies ? context->data[i] : NULL,
                        hova_bytes_of_run(info_of(program, i), sizes)};
    job->wait |= copies;
    context->tensors[i] = address;
  }
}

static hova_status run(hova_context *base, const hova_sizes *sizes,
                       const hova_tensor *inputs, const hova_tensor *outputs) {
  gpu_context *context = as_gpu(base);
  hova_status status =
      base->watch->intercept
          ? hova_fail(&base->error, HOVA_REJECTED,
                      "kernels of a GPU cannot be intercepted: no call of a "
                      "kernel is made here")
          : hova_gpu_check(context->gpu, &base->error);
  if (status == HOVA_OK) {
    status = check_call(context, sizes, inputs, outputs);
  }
  if (status == HOVA_OK) {
    prepare_job(context, sizes, inputs, outputs);
    status = hova_gpu_run(context->gpu, &context->job, &base->error);
  }
  return status;
}

//===----------------------------------------------------------------------===//
// Asking and measuring
//===----------------------------------------------------------------------===//

hova_gpu *hova_gpu_of(hova_context *context) { return as_gpu(context)->gpu; }

static const char *name_of(const hova_context *context) {
  return hova_gpu_name(as_const_gpu(context)->gpu);
}

static int32_t threads_of(const hova_context *context) {
  (void)context;
  return 1;
}

static const char *arena_of(const hova_context *context) {
  return hova_gpu_host_view(as_const_gpu(context)->gpu,
                            as_const_gpu(context)->places.arena);
}

static hova_status read_arena(hova_context *base, uint64_t offset,
                              uint64_t bytes, void *to) {
  gpu_context *context = as_gpu(base);
  hova_status status = hova_gpu_check(context->gpu, &base->error);
  return status != HOVA_OK
             ? status
             : hova_gpu_download(context->gpu, to,
                                 context->places.arena + offset, bytes,
                                 "read the arena", &base->error);
}

/// Bytes 0xff, a piece at a time.
static hova_status fill(gpu_context *context, hova_device_address to,
                        uint64_t bytes) {
  static const uint64_t kPiece = 1 << 20;
  hova_error *error = &context->base.error;
  char *piece = malloc(kPiece);
  if (!piece) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for %u bytes",
                     (unsigned)kPiece);
  }
  memset(piece, 0xff, kPiece);
  hova_status status = HOVA_OK;
  for (uint64_t at = 0; at < bytes && status == HOVA_OK; at += kPiece) {
    uint64_t size = bytes - at < kPiece ? bytes - at : kPiece;
    status = hova_gpu_upload(context->gpu, to + at, piece, size,
                             "fill its memory", error);
  }
  free(piece);
  return status;
}

static hova_status poison(hova_context *base) {
  gpu_context *context = as_gpu(base);
  const hova_program *program = base->program;
  hova_status status = hova_gpu_check(context->gpu, &base->error);
  if (status == HOVA_OK) {
    status = fill(context, context->places.arena, program->arena_bytes);
  }
  for (uint32_t i = program->num_inputs;
       i < count_tensors(program) && status == HOVA_OK; ++i) {
    status =
        fill(context, context->staged[i], hova_info_bytes(info_of(program, i)));
  }
  return status;
}

static uint64_t memory_of(const hova_context *context) {
  return context->program->arena_bytes;
}

static void flush_caches(const hova_context *context) { (void)context; }

const hova_machine hova_gpu_machine = {
    .target = hova_gpu_target,
    .is_gpu = true,
    .fits = fits,
    .make = make,
    .find = find,
    .start = start,
    .run = run,
    .destroy = destroy,
    .name_of = name_of,
    .threads_of = threads_of,
    .arena_of = arena_of,
    .read_arena = read_arena,
    .poison = poison,
    .memory_of = memory_of,
    .flush_caches = flush_caches,
    .inspection = &hova_gpu_inspection,
};
