//===- Context.c - Create, run and destroy, for a GPU ---------------------===//
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
#include "runtime/cuda/Device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct hova_context {
  const hova_program *program;
  const hova_level *level;
  hova_gpu *gpu;
  int32_t ordinal;
  bool has_stream; ///< of the caller
  hova_span image; ///< mapped by this context; empty where the caller owns it
  const char *weights; ///< of the image
  hova_places places;
  hova_gpu_job job;
  bool intercepted;
  atomic_flag running;
  hova_error error;
  // Of each input, then of each output.
  hova_device_address *staged, *tensors;
  hova_gpu_copy *copies;
  void **data;
  void **contents; ///< memory to check integers of a device in, or null
};

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

static hova_status check_levels(const hova_program *program,
                                hova_error *error) {
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    if (program->levels[i].device) {
      return HOVA_OK;
    }
  }
  return hova_fail(error, HOVA_REJECTED, "program '%s' has no code for a GPU",
                   program->name);
}

/// The best level that the device and, where it is emulated, the processor can
/// run.
static hova_status pick_level(hova_context *context) {
  const hova_program *program = context->program;
  uint32_t capability = hova_gpu_capability(context->gpu);
  uint64_t features = hova_cpu_features();
  const hova_level *last = NULL;
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    const hova_level *level = &program->levels[i];
    last = level->device ? level : last;
    if (level->device && level->device->capability <= capability &&
        (level->features & ~features) == 0) {
      context->level = level;
      return hova_check_launches(program, level->device, &context->error);
    }
  }
  uint32_t least = last->device->capability;
  if (least <= capability) {
    return hova_fail(&context->error, HOVA_REJECTED,
                     "program '%s' emulates a GPU with code that needs another "
                     "processor than this one",
                     program->name);
  }
  return hova_fail(&context->error, HOVA_REJECTED,
                   "program '%s' needs a GPU of compute capability %u.%u; %s "
                   "has %u.%u",
                   program->name, least / 10, least % 10,
                   hova_gpu_name(context->gpu), capability / 10,
                   capability % 10);
}

/// Gives `bytes` after `*end` a place, or false where 64 bits do not tell it.
static bool reserve(uint64_t bytes, uint64_t *end, uint64_t *begin) {
  uint64_t behind;
  *begin = *end;
  if (!hova_add(*end, bytes, &behind) || !hova_add(behind, 255, &behind)) {
    return false;
  }
  *end = behind & ~UINT64_C(255);
  return true;
}

/// Takes memory for everything, in one piece, and says what lies where.
static hova_status place_memory(hova_context *context) {
  const hova_program *program = context->program;
  const hova_device_code *code = context->level->device;
  bool copies = !hova_gpu_reads_host(context->gpu);
  uint64_t end = 0, weights, tables, arena;
  bool fits = reserve(copies ? program->weight_bytes : 0, &end, &weights) &&
              reserve(copies ? code->table_bytes : 0, &end, &tables) &&
              reserve(program->arena_bytes, &end, &arena);
  for (uint32_t i = 0; i < count_tensors(program) && fits; ++i) {
    uint64_t bytes = hova_info_bytes(info_of(program, i));
    fits = reserve(bytes, &end, &context->staged[i]);
    context->copies[i].bytes = bytes;
  }
  if (!fits) {
    return hova_fail(&context->error, HOVA_REJECTED,
                     "program '%s' needs more memory than 64 bits can count",
                     program->name);
  }
  hova_device_address memory = 0;
  hova_status status =
      hova_gpu_allocate(context->gpu, end ? end : 1, &memory, &context->error);
  context->places =
      (hova_places){memory + arena, memory + weights, memory + tables,
                    context->tensors, program->num_inputs};
  if (!copies) {
    context->places.weights = (uintptr_t)context->weights;
    context->places.tables = (uintptr_t)code->tables;
  }
  for (uint32_t i = 0; i < count_tensors(program); ++i) {
    context->staged[i] += memory;
    context->tensors[i] = context->staged[i];
  }
  if (status == HOVA_OK && copies && program->weight_bytes) {
    status =
        hova_gpu_upload(context->gpu, context->places.weights, context->weights,
                        program->weight_bytes, &context->error);
  }
  if (status == HOVA_OK && copies && code->table_bytes) {
    status = hova_gpu_upload(context->gpu, context->places.tables, code->tables,
                             code->table_bytes, &context->error);
  }
  return status;
}

/// Memory of the host in which integers that lie on the device are checked.
static hova_status allocate_contents(hova_context *context) {
  const hova_program *program = context->program;
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
      return hova_fail(&context->error, HOVA_OUT_OF_MEMORY,
                       "out of memory: input '%s' takes %llu bytes",
                       program->inputs[i].name, (unsigned long long)bytes);
    }
  }
  return HOVA_OK;
}

static hova_status start(hova_context *context, const hova_options *options) {
  hova_error *error = &context->error;
  hova_status status = check_options(options, error);
  if (status == HOVA_OK) {
    status = check_levels(context->program, error);
  }
  if (status == HOVA_OK) {
    status =
        hova_gpu_open(options->device, options->stream, &context->gpu, error);
  }
  if (status == HOVA_OK) {
    status = pick_level(context);
  }
  if (status == HOVA_OK) {
    status = hova_image_open(context->program, options, &context->image,
                             &context->weights, error);
  }
  if (status == HOVA_OK) {
    status = place_memory(context);
  }
  if (status == HOVA_OK) {
    status = allocate_contents(context);
  }
  if (status == HOVA_OK) {
    status = hova_gpu_load(context->gpu, context->program,
                           context->level->device, &context->places, error);
  }
  if (status == HOVA_OK && !hova_gpu_reads_host(context->gpu)) {
    // The device has them now.
    hova_unmap_file(context->image);
    context->image = (hova_span){NULL, 0};
  }
  return status;
}

static void report(const hova_options *options, const hova_error *error) {
  if (options->message && options->message_bytes) {
    snprintf(options->message, (size_t)options->message_bytes, "%s",
             error->text);
  }
}

/// A context whose arrays have a place for each tensor.
static hova_context *make_context(const hova_program *program) {
  size_t tensors = count_tensors(program);
  hova_context *context = calloc(1, sizeof *context);
  if (!context) {
    return NULL;
  }
  context->program = program;
  context->job.only = -1;
  atomic_flag_clear(&context->running);
  context->staged = calloc(tensors + 1, sizeof *context->staged);
  context->tensors = calloc(tensors + 1, sizeof *context->tensors);
  context->copies = calloc(tensors + 1, sizeof *context->copies);
  context->data = calloc(tensors + 1, sizeof *context->data);
  context->contents = calloc(tensors + 1, sizeof *context->contents);
  if (!context->staged || !context->tensors || !context->copies ||
      !context->data || !context->contents) {
    hova_destroy(context);
    return NULL;
  }
  context->job.uploads = context->copies;
  context->job.num_uploads = program->num_inputs;
  context->job.downloads = context->copies + program->num_inputs;
  context->job.num_downloads = program->num_outputs;
  return context;
}

hova_status hova_create(const hova_program *program,
                        const hova_options *options, hova_context **created) {
  static const hova_options defaults = {0};
  hova_error error = {HOVA_OK, ""};
  options = options ? options : &defaults;
  if (!created) {
    report(options, &error);
    return HOVA_REJECTED;
  }
  *created = NULL;
  hova_status status = hova_check_program(program, &error);
  if (status != HOVA_OK) {
    report(options, &error);
    return status;
  }
  hova_context *context = make_context(program);
  if (!context) {
    hova_fail(&error, HOVA_OUT_OF_MEMORY, "out of memory for a context");
    report(options, &error);
    return HOVA_OUT_OF_MEMORY;
  }
  context->ordinal = options->device;
  context->has_stream = options->stream != NULL;
  status = start(context, options);
  if (status != HOVA_OK) {
    report(options, &context->error);
    hova_destroy(context);
    return status;
  }
  *created = context;
  return HOVA_OK;
}

void hova_destroy(hova_context *context) {
  if (!context) {
    return;
  }
  hova_gpu_close(context->gpu);
  hova_unmap_file(context->image);
  for (uint32_t i = 0; context->contents && i < context->program->num_inputs;
       ++i) {
    free(context->contents[i]);
  }
  free(context->staged);
  free(context->tensors);
  free(context->copies);
  free(context->data);
  free(context->contents);
  free(context);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Which device a tensor is on, and what lies at its address, only the device
/// knows.
static hova_status check_device(hova_context *context, const char *role,
                                const char *name, const hova_tensor *tensor,
                                const void *data) {
  if (tensor->device.device_type != HOVA_CUDA_MEMORY) {
    return HOVA_OK;
  }
  if (tensor->device.device_id != context->ordinal) {
    return hova_fail(&context->error, HOVA_REJECTED,
                     "%s '%s' expects memory of device %d, got that of device "
                     "%d",
                     role, name, context->ordinal, tensor->device.device_id);
  }
  bool owns;
  hova_status status =
      hova_gpu_owns(context->gpu, (uintptr_t)data, &owns, &context->error);
  return status != HOVA_OK || owns
             ? status
             : hova_fail(&context->error, HOVA_REJECTED,
                         "%s '%s' expects memory of device %d, and its address "
                         "is none there",
                         role, name, context->ordinal);
}

/// Checks all that can be checked, and notes where each tensor is.
static hova_status check_call(hova_context *context, const hova_tensor *inputs,
                              const hova_tensor *outputs) {
  const hova_program *program = context->program;
  hova_error *error = &context->error;
  enum hova_memory_kind memory = hova_gpu_takes_tensors(context->gpu)
                                     ? HOVA_CPU_OR_CUDA_MEMORY
                                     : HOVA_CPU_MEMORY;
  hova_status status =
      hova_check_arguments(program, memory, inputs, outputs, context->data,
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
      status = hova_gpu_download(context->gpu, context->contents[i],
                                 (uintptr_t)data, hova_info_bytes(info), error);
      data = context->contents[i];
    }
    if (status == HOVA_OK) {
      status = hova_check_range(info, data, hova_info_count(info), error);
    }
  }
  return status;
}

/// Notes what has to be copied for a call that is right.
static void prepare_job(hova_context *context, const hova_tensor *inputs,
                        const hova_tensor *outputs) {
  const hova_program *program = context->program;
  hova_gpu_job *job = &context->job;
  job->wait = !context->has_stream;
  for (uint32_t i = 0; i < count_tensors(program); ++i) {
    const hova_tensor *tensor = i < program->num_inputs
                                    ? &inputs[i]
                                    : &outputs[i - program->num_inputs];
    bool copies = tensor->device.device_type == HOVA_CPU_MEMORY;
    hova_device_address address =
        copies ? context->staged[i] : (uintptr_t)context->data[i];
    context->copies[i].device = address;
    context->copies[i].host = copies ? context->data[i] : NULL;
    job->wait |= copies;
    context->tensors[i] = address;
  }
}

hova_status hova_run(hova_context *context, const hova_tensor *inputs,
                     const hova_tensor *outputs) {
  if (!context) {
    return HOVA_REJECTED;
  }
  // Two callers at once would share the arena.
  if (atomic_flag_test_and_set(&context->running)) {
    return HOVA_BUSY;
  }
  context->error.text[0] = '\0';
  hova_status status =
      context->intercepted
          ? hova_fail(&context->error, HOVA_REJECTED,
                      "kernels of a GPU cannot be intercepted: no call of a "
                      "kernel is made here")
          : hova_gpu_check(context->gpu, &context->error);
  if (status == HOVA_OK) {
    status = check_call(context, inputs, outputs);
  }
  if (status == HOVA_OK) {
    prepare_job(context, inputs, outputs);
    status = hova_gpu_run(context->gpu, &context->job, &context->error);
  }
  atomic_flag_clear(&context->running);
  return status;
}

//===----------------------------------------------------------------------===//
// Asking and measuring
//===----------------------------------------------------------------------===//

const char *hova_message(const hova_context *context) {
  return context ? context->error.text : "expects a context, got null";
}

const hova_program *hova_program_of(const hova_context *context) {
  return context->program;
}

const hova_level *hova_level_of(const hova_context *context) {
  return context->level;
}

int32_t hova_threads_of(const hova_context *context) {
  (void)context;
  return 1;
}

const char *hova_arena_of(const hova_context *context) {
  return hova_gpu_host_view(context->gpu, context->places.arena);
}

uint64_t hova_memory_of(const hova_context *context) {
  return context->program->arena_bytes;
}

hova_gpu *hova_gpu_of(hova_context *context) { return context->gpu; }

void hova_set_hook(hova_context *context, hova_hook_fn *hook, void *user) {
  context->job.hook = hook;
  context->job.user = user;
}

void hova_set_times(hova_context *context, uint64_t *times) {
  context->job.times = times;
}

void hova_set_spans(hova_context *context, uint64_t *spans) {
  context->job.spans = spans;
}

void hova_select_kernel(hova_context *context, int64_t kernel) {
  context->job.only = kernel;
}

void hova_set_intercept(hova_context *context, hova_intercept_fn *intercept,
                        void *user) {
  (void)user;
  context->intercepted = intercept != NULL;
}

void hova_flush_caches(const hova_context *context) { (void)context; }
