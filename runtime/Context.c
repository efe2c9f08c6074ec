//===- Context.c - Create, run and destroy --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What contexts of all machines have in common.
//
//===----------------------------------------------------------------------===//

#include "runtime/Arguments.h"
#include "runtime/Machine.h"

#include <stdio.h>

const hova_machine *hova_machine_for(const hova_program *program) {
  for (int i = 0; hova_machines[i]; ++i) {
    for (uint32_t level = 0; level < program->num_levels; ++level) {
      if (hova_machines[i]->fits(&program->levels[level])) {
        return hova_machines[i];
      }
    }
  }
  return hova_machines[0];
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static hova_status create(const hova_program *program,
                          const hova_options *options, hova_context **created,
                          hova_error *error) {
  hova_status status = hova_check_program(program, error);
  if (status != HOVA_OK) {
    return status;
  }
  const hova_machine *machine = hova_machine_for(program);
  hova_context *context = machine->make(program);
  if (!context) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for a context");
  }
  context->machine = machine;
  context->program = program;
  context->watch->only = -1;
  atomic_flag_clear(&context->running);
  status = machine->find(context, options);
  if (status == HOVA_OK) {
    status = machine->start(context, options);
  }
  if (status != HOVA_OK) {
    *error = context->error;
    hova_destroy(context);
    return status;
  }
  *created = context;
  return HOVA_OK;
}

hova_status hova_create(const hova_program *program,
                        const hova_options *options, hova_context **created) {
  static const hova_options defaults = {0};
  hova_error error = {HOVA_OK, ""};
  options = options ? options : &defaults;
  hova_status status = HOVA_REJECTED;
  if (created) {
    *created = NULL;
    status = create(program, options, created, &error);
  }
  if (status != HOVA_OK && options->message && options->message_bytes) {
    snprintf(options->message, (size_t)options->message_bytes, "%s",
             error.text);
  }
  return status;
}

void hova_destroy(hova_context *context) {
  if (context) {
    hova_span image = context->image;
    context->machine->destroy(context);
    hova_unmap_file(image);
  }
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
  hova_status status = context->machine->run(context, inputs, outputs);
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
  return context->machine->threads_of(context);
}

const char *hova_arena_of(const hova_context *context) {
  return context->machine->arena_of(context);
}

uint64_t hova_memory_of(const hova_context *context) {
  return context->machine->memory_of(context);
}

void hova_set_hook(hova_context *context, hova_hook_fn *hook, void *user) {
  context->watch->hook = hook;
  context->watch->user = user;
}

void hova_set_times(hova_context *context, uint64_t *times) {
  context->watch->times = times;
}

void hova_set_spans(hova_context *context, uint64_t *spans) {
  context->watch->spans = spans;
}

void hova_select_kernel(hova_context *context, int64_t kernel) {
  context->watch->only = kernel;
}

void hova_set_intercept(hova_context *context, hova_intercept_fn *intercept,
                        void *user) {
  context->watch->intercept = intercept;
  context->watch->interceptor = user;
}

void hova_flush_caches(const hova_context *context) {
  context->machine->flush_caches(context);
}

const hova_inspection *hova_inspect(void) {
  return hova_machines[0]->inspection;
}
