//===- Context.c - The processor as a machine -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Arguments.h"
#include "runtime/HugePages.h"
#include "runtime/Image.h"
#include "runtime/Machine.h"
#include "runtime/cpu/Scratch.h"
#include "runtime/cpu/Team.h"

#include <errno.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_THREADS 1024

typedef struct cpu_context {
  hova_context base;
  hova_team *team;
  int32_t threads;
  _Alignas(64) hova_job job;       ///< alone: every thread reads it
  _Alignas(64) void *arena_memory; ///< what to unmap; job.arena lies in it
  uint64_t arena_memory_bytes;
  uint64_t memory_bytes; ///< of the arena and the scratch
  uint64_t *scratch;     ///< what job.scratch points to
  // With ranges: what job.launches and job.sequences point to, and of which
  // sizes they are. Those of packed items are written by every run.
  hova_launches *launches;
  int32_t *sequences;
  hova_sizes sizes;
  uint64_t sized_threads; ///< for as many threads
  void *data[];           ///< addresses of inputs, then of outputs
} cpu_context;

static cpu_context *as_cpu(hova_context *context) {
  return (cpu_context *)context;
}

static const cpu_context *as_const_cpu(const hova_context *context) {
  return (const cpu_context *)context;
}

//===----------------------------------------------------------------------===//
// Creation, step by step
//===----------------------------------------------------------------------===//

static bool fits(const hova_level *level) { return level->run != NULL; }

/// The processor is there; whether it has what a level needs is the question.
static hova_status find(hova_context *context, const hova_options *options) {
  (void)options;
  const hova_program *program = context->program;
  hova_error *error = &context->error;
  uint64_t features = hova_usable_features(program);
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    if (program->levels[i].run &&
        (program->levels[i].features & ~features) == 0) {
      context->level = &program->levels[i];
      return HOVA_OK;
    }
  }
  if (program->num_levels == 0) {
    return hova_fail(error, HOVA_REJECTED, "program '%s' has no code",
                     program->name);
  }
  const hova_level *last = &program->levels[program->num_levels - 1];
  if (!last->run) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' has code for a GPU and is linked for a "
                     "processor",
                     program->name);
  }
  char missing[400];
  hova_list_features(missing, sizeof missing, last->features & ~features);
  return hova_fail(error, HOVA_REJECTED,
                   "program '%s' needs a processor of level %s; this machine "
                   "lacks %s",
                   program->name, last->name, missing);
}

/// Zero pages, aligned for huge ones: the arena and each thread's scratch.
static hova_status allocate_arena(cpu_context *context) {
  uint64_t arena = context->base.program->arena_bytes, bytes, reserved;
  uint64_t threads = (uint64_t)context->threads;
  context->scratch = calloc(threads, sizeof(uint64_t));
  if (!context->scratch) {
    return hova_fail(&context->base.error, HOVA_OUT_OF_MEMORY,
                     "out of memory for %d threads", context->threads);
  }
  context->job.scratch = context->scratch;
  bool fits = hova_place_scratch(context->base.level->launches, threads, arena,
                                 context->scratch, &bytes);
  if (bytes == 0) {
    return HOVA_OK;
  }
  void *memory = MAP_FAILED;
  if (fits && hova_add(bytes, 2 * HOVA_HUGE_PAGE, &reserved)) {
    reserved &= ~(HOVA_HUGE_PAGE - 1);
    memory = mmap(NULL, (size_t)reserved, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED) {
    return hova_fail(&context->base.error, HOVA_OUT_OF_MEMORY,
                     "out of memory: the arena takes %llu bytes, and %d "
                     "threads together %llu more",
                     (unsigned long long)arena, context->threads,
                     (unsigned long long)(bytes - arena));
  }
  context->memory_bytes = bytes;
  context->arena_memory = memory;
  context->arena_memory_bytes = reserved;
  uintptr_t start =
      ((uintptr_t)memory + HOVA_HUGE_PAGE - 1) & ~(HOVA_HUGE_PAGE - 1);
  context->job.arena = (char *)start;
  uint64_t number;
  if (context->base.level->launches &&
      !hova_chunks_fit(context->base.level->launches, threads, start,
                       &number)) {
    return hova_fail(&context->base.error, HOVA_REJECTED,
                     "program '%s' is malformed: kernel %llu cannot be "
                     "divided among %d threads",
                     context->base.program->name, (unsigned long long)number,
                     context->threads);
  }
  hova_advise_huge_pages((void *)start, bytes);
  return HOVA_OK;
}

/// The launches of a run and the table of its sequences, which runs write.
static hova_status allocate_sizes(cpu_context *context) {
  const hova_program *program = context->base.program;
  const hova_launches *launches = context->base.level->launches;
  if (!program->ranges || !launches) {
    return HOVA_OK;
  }
  uint64_t bytes = hova_launch_bytes(launches);
  context->launches = malloc(bytes);
  context->sequences =
      calloc(hova_sequence_words(program->ranges), sizeof(int32_t));
  if (!context->launches || !context->sequences) {
    return hova_fail(&context->base.error, HOVA_OUT_OF_MEMORY,
                     "out of memory for the sequences of a run");
  }
  memcpy(context->launches, launches, bytes);
  context->job.launches = context->launches;
  context->job.sequences = (const char *)context->sequences;
  return HOVA_OK;
}

static void set_sizes(cpu_context *context, const hova_sizes *sizes) {
  // Whoever takes the place of a call has it whole.
  uint64_t threads =
      context->job.watch.intercept ? 1 : (uint64_t)context->threads;
  if (!context->launches || (hova_same_sizes(sizes, &context->sizes) &&
                             threads == context->sized_threads)) {
    return;
  }
  const hova_ranges *ranges = context->base.program->ranges;
  hova_write_sequences(ranges, sizes, context->sequences);
  hova_size_launches(context->base.level->launches, ranges, sizes, threads,
                     context->launches);
  context->sizes = *sizes;
  context->sized_threads = threads;
}

static hova_status start(hova_context *base, const hova_options *options) {
  cpu_context *context = as_cpu(base);
  hova_error *error = &base->error;
  if (options->threads < 0 || options->threads > MAX_THREADS ||
      (options->check_weights != 0 && options->check_weights != 1)) {
    return hova_fail(error, HOVA_REJECTED,
                     "expects 0 to %d threads, got %d, and 0 or 1 as "
                     "check_weights, got %d",
                     MAX_THREADS, options->threads, options->check_weights);
  }
  context->job.run = base->level->run;
  context->threads =
      options->threads ? options->threads : hova_usable_processors();
  if (context->threads > MAX_THREADS) {
    context->threads = MAX_THREADS;
  }
  hova_status status = hova_image_open(base->program, options, &base->image,
                                       &base->weights, error);
  context->job.weights = base->weights;
  if (status == HOVA_OK) {
    status = allocate_arena(context);
  }
  if (status == HOVA_OK) {
    status = allocate_sizes(context);
  }
  if (status == HOVA_OK) {
    status = hova_team_create(context->threads, &context->team, error);
  }
  return status;
}

static hova_context *make(const hova_program *program) {
  size_t tensors = (size_t)program->num_inputs + program->num_outputs;
  size_t bytes = sizeof(cpu_context) + tensors * sizeof(void *);
  cpu_context *context = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  if (!context) {
    return NULL;
  }
  memset(context, 0, bytes);
  context->base.watch = &context->job.watch;
  context->job.inputs = context->data;
  context->job.outputs = context->data + program->num_inputs;
  return &context->base;
}

static void destroy(hova_context *base) {
  cpu_context *context = as_cpu(base);
  hova_team_destroy(context->team, context->threads);
  if (context->arena_memory) {
    munmap(context->arena_memory, (size_t)context->arena_memory_bytes);
  }
  free(context->scratch);
  free(context->launches);
  free(context->sequences);
  free(context);
}

//===----------------------------------------------------------------------===//
// Running and asking
//===----------------------------------------------------------------------===//

static hova_status run(hova_context *base, const hova_sizes *sizes,
                       const hova_tensor *inputs, const hova_tensor *outputs) {
  cpu_context *context = as_cpu(base);
  const hova_program *program = base->program;
  hova_error *error = &base->error;
  hova_status status =
      hova_team_is_lost(context->team)
          ? hova_fail(error, HOVA_REJECTED,
                      "the threads of this context are in the process that "
                      "created it, before a fork(): create another one here")
          : hova_check_arguments(program, sizes, HOVA_CPU_MEMORY, inputs,
                                 outputs, context->data,
                                 context->data + program->num_inputs, error);
  if (status == HOVA_OK) {
    status = hova_check_contents(program, sizes, context->data, error);
  }
  if (status == HOVA_OK) {
    set_sizes(context, sizes);
    hova_team_run(context->team, &context->job);
  }
  return status;
}

static const char *name_of(const hova_context *context) {
  (void)context;
  return "the processor";
}

static int32_t threads_of(const hova_context *context) {
  return as_const_cpu(context)->threads;
}

static const char *arena_of(const hova_context *context) {
  return as_const_cpu(context)->job.arena;
}

static hova_status read_arena(hova_context *context, uint64_t offset,
                              uint64_t bytes, void *to) {
  memcpy(to, arena_of(context) + offset, bytes);
  return HOVA_OK;
}

static uint64_t memory_of(const hova_context *context) {
  return as_const_cpu(context)->memory_bytes;
}

static hova_status poison(hova_context *context) {
  memset((char *)arena_of(context), 0xff, memory_of(context));
  return HOVA_OK;
}

static void flush(const char *memory, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += 64) {
    _mm_clflush(memory + at);
  }
}

static void flush_caches(const hova_context *context) {
  flush(context->weights, context->program->weight_bytes);
  flush(arena_of(context), memory_of(context));
  _mm_mfence();
}

static const hova_inspection inspection = HOVA_INSPECTION(NULL, NULL, NULL);

const hova_machine hova_cpu_machine = {
    .target = "cpu",
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
    .inspection = &inspection,
};
