//===- Context.c - Create, run and destroy --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Arguments.h"
#include "runtime/Image.h"
#include "runtime/cpu/Scratch.h"
#include "runtime/cpu/Team.h"

#include <errno.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_THREADS 1024
#define HUGE_PAGE (UINT64_C(2) << 20)

struct hova_context {
  const hova_program *program;
  const hova_level *level;
  hova_team *team;
  hova_span image; ///< mapped by this context; empty where the caller owns it
  int32_t threads;
  _Alignas(64) hova_job job; ///< alone: every thread reads it
  _Alignas(64) atomic_flag running;
  hova_error error;
  void *arena_memory; ///< what to unmap; job.arena lies in it
  uint64_t arena_memory_bytes;
  uint64_t memory_bytes; ///< of the arena and the scratch
  uint64_t *scratch;     ///< what job.scratch points to
  void *data[];          ///< addresses of inputs, then of outputs
};

//===----------------------------------------------------------------------===//
// Creation, step by step
//===----------------------------------------------------------------------===//

static void list_missing(char *text, size_t size, uint64_t missing) {
  static const char *const names[] = {
#define HOVA_CPU_FEATURE_NAME(NAME, TEXT) TEXT,
      HOVA_CPU_FEATURES(HOVA_CPU_FEATURE_NAME)
#undef HOVA_CPU_FEATURE_NAME
  };
  size_t length = 0;
  text[0] = '\0';
  for (int bit = 0; bit < HOVA_NUM_CPU_FEATURES && length < size; ++bit) {
    if (missing >> bit & 1) {
      length += (size_t)snprintf(text + length, size - length, "%s%s",
                                 length ? ", " : "", names[bit]);
    }
  }
}

static hova_status pick_level(const hova_program *program,
                              const hova_level **level, hova_error *error) {
  uint64_t features = hova_cpu_features();
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    if (program->levels[i].run &&
        (program->levels[i].features & ~features) == 0) {
      *level = &program->levels[i];
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
  list_missing(missing, sizeof missing, last->features & ~features);
  return hova_fail(error, HOVA_REJECTED,
                   "program '%s' needs a processor of level %s; this machine "
                   "lacks %s",
                   program->name, last->name, missing);
}

/// Zero pages, aligned for huge ones: the arena and each thread's scratch.
static hova_status allocate_arena(hova_context *context) {
  uint64_t arena = context->program->arena_bytes, bytes, reserved;
  uint64_t threads = (uint64_t)context->threads;
  context->scratch = calloc(threads, sizeof(uint64_t));
  if (!context->scratch) {
    return hova_fail(&context->error, HOVA_OUT_OF_MEMORY,
                     "out of memory for %d threads", context->threads);
  }
  context->job.scratch = context->scratch;
  bool fits = hova_place_scratch(context->level->launches, threads, arena,
                                 context->scratch, &bytes);
  if (bytes == 0) {
    return HOVA_OK;
  }
  void *memory = MAP_FAILED;
  if (fits && hova_add(bytes, 2 * HUGE_PAGE, &reserved)) {
    reserved &= ~(HUGE_PAGE - 1);
    memory = mmap(NULL, (size_t)reserved, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED) {
    return hova_fail(&context->error, HOVA_OUT_OF_MEMORY,
                     "out of memory: the arena takes %llu bytes, and %d "
                     "threads together %llu more",
                     (unsigned long long)arena, context->threads,
                     (unsigned long long)(bytes - arena));
  }
  context->memory_bytes = bytes;
  context->arena_memory = memory;
  context->arena_memory_bytes = reserved;
  uintptr_t start = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
  context->job.arena = (char *)start;
  uint64_t number;
  if (context->level->launches &&
      !hova_shares_fit(context->level->launches, threads, start, &number)) {
    return hova_fail(&context->error, HOVA_REJECTED,
                     "program '%s' is malformed: kernel %llu cannot be "
                     "divided among %d threads",
                     context->program->name, (unsigned long long)number,
                     context->threads);
  }
  // Only a hint: without huge pages the program is slower, not wrong.
  madvise((void *)start, (size_t)bytes, MADV_HUGEPAGE);
  return HOVA_OK;
}

static hova_status start(hova_context *context, const hova_options *options) {
  hova_error *error = &context->error;
  hova_status status = pick_level(context->program, &context->level, error);
  if (status != HOVA_OK) {
    return status;
  }
  if (options->threads < 0 || options->threads > MAX_THREADS ||
      (options->check_weights != 0 && options->check_weights != 1)) {
    return hova_fail(error, HOVA_REJECTED,
                     "expects 0 to %d threads, got %d, and 0 or 1 as "
                     "check_weights, got %d",
                     MAX_THREADS, options->threads, options->check_weights);
  }
  context->job.run = context->level->run;
  context->threads =
      options->threads ? options->threads : hova_usable_processors();
  if (context->threads > MAX_THREADS) {
    context->threads = MAX_THREADS;
  }
  status = hova_image_open(context->program, options, &context->image,
                           &context->job.weights, error);
  if (status == HOVA_OK) {
    status = allocate_arena(context);
  }
  if (status == HOVA_OK) {
    status = hova_team_create(context->threads, &context->team, error);
  }
  return status;
}

static void report(const hova_options *options, const hova_error *error) {
  if (options->message && options->message_bytes) {
    snprintf(options->message, (size_t)options->message_bytes, "%s",
             error->text);
  }
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
  size_t tensors = (size_t)program->num_inputs + program->num_outputs;
  size_t bytes = sizeof(hova_context) + tensors * sizeof(void *);
  hova_context *context = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  if (!context) {
    hova_fail(&error, HOVA_OUT_OF_MEMORY, "out of memory for a context");
    report(options, &error);
    return HOVA_OUT_OF_MEMORY;
  }
  memset(context, 0, bytes);
  context->program = program;
  context->job.only = -1;
  context->job.inputs = context->data;
  context->job.outputs = context->data + program->num_inputs;
  atomic_flag_clear(&context->running);
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
  hova_team_destroy(context->team, context->threads);
  hova_unmap_file(context->image);
  if (context->arena_memory) {
    munmap(context->arena_memory, (size_t)context->arena_memory_bytes);
  }
  free(context->scratch);
  free(context);
}

//===----------------------------------------------------------------------===//
// Running and asking
//===----------------------------------------------------------------------===//

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
      hova_team_is_lost(context->team)
          ? hova_fail(&context->error, HOVA_REJECTED,
                      "the threads of this context are in the process that "
                      "created it, before a fork(): create another one here")
          : hova_check_arguments(context->program, HOVA_CPU_MEMORY, inputs,
                                 outputs, context->data,
                                 context->data + context->program->num_inputs,
                                 &context->error);
  if (status == HOVA_OK) {
    status =
        hova_check_contents(context->program, context->data, &context->error);
  }
  if (status == HOVA_OK) {
    hova_team_run(context->team, &context->job);
  }
  atomic_flag_clear(&context->running);
  return status;
}

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
  return context->threads;
}

const char *hova_arena_of(const hova_context *context) {
  return context->job.arena;
}

uint64_t hova_memory_of(const hova_context *context) {
  return context->memory_bytes;
}

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
  context->job.intercept = intercept;
  context->job.interceptor = user;
}

const hova_inspection *hova_inspect(void) {
  static const hova_inspection own = {hova_arena_of, hova_memory_of,
                                      hova_set_hook, hova_set_intercept,
                                      NULL,          NULL};
  return &own;
}

static void flush(const char *memory, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += 64) {
    _mm_clflush(memory + at);
  }
}

void hova_flush_caches(const hova_context *context) {
  const hova_program *program = context->program;
  flush(context->job.weights, program->weight_bytes);
  flush(context->job.arena, context->memory_bytes);
  _mm_mfence();
}
