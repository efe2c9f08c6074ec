//===- Context.c - Create, run and destroy --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What contexts of all machines have in common, and which machine a context is
// for.
//
//===----------------------------------------------------------------------===//

#include "runtime/Arguments.h"
#include "runtime/Machine.h"
#include "runtime/MappedFile.h"

#include <stdio.h>
#include <string.h>

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

static bool asks_for_gpu(const hova_options *options) {
  return options->device != 0 || options->stream;
}

/// Whether the options leave it open that this program is run.
static bool is_wanted(const hova_program *program,
                      const hova_options *options) {
  const hova_machine *machine = hova_machine_for(program);
  return (machine->is_gpu || !asks_for_gpu(options)) &&
         (!options->target || strcmp(options->target, machine->target) == 0);
}

/// The first of `program` and its alternatives that is wanted; null: none.
static const hova_program *next_wanted(const hova_program *program,
                                       const hova_options *options) {
  while (program && !is_wanted(program, options)) {
    program = program->alternative;
  }
  return program;
}

/// No program is wanted.
static hova_status fail_by_options(const hova_program *program,
                                   const hova_options *options,
                                   hova_error *error) {
  char targets[64] = "";
  size_t length = 0;
  bool is_known = !options->target;
  for (const hova_program *at = program; at; at = at->alternative) {
    const char *target = hova_machine_for(at)->target;
    is_known = is_known || strcmp(options->target, target) == 0;
    length += (size_t)snprintf(targets + length, sizeof targets - length,
                               "%s%s", length ? ", " : "", target);
  }
  return is_known ? hova_fail(error, HOVA_REJECTED,
                              "a device other than 0, or a stream, asks for a "
                              "GPU, and the program is to run on %s",
                              options->target ? options->target : targets)
                  : hova_fail(error, HOVA_REJECTED,
                              "program '%s' is for %s; it expects no target "
                              "'%s'",
                              program->name, targets, options->target);
}

/// A context of one program, once its machine is found; with HOVA_REJECTED and
/// no context where there is no such machine.
static hova_status find_machine(const hova_program *program,
                                const hova_options *options,
                                hova_context **found, hova_error *error) {
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
  if (status != HOVA_OK) {
    *error = context->error;
    hova_destroy(context);
    return status;
  }
  *found = context;
  return HOVA_OK;
}

/// The context of the first program whose machine is there. `refusal` is why
/// those before it were not taken.
static hova_status choose(const hova_program *program,
                          const hova_options *options, hova_context **chosen,
                          hova_error *refusal, hova_error *error) {
  const hova_program *at = next_wanted(program, options);
  if (!at) {
    return fail_by_options(program, options, error);
  }
  for (;;) {
    hova_status status = find_machine(at, options, chosen, error);
    at = next_wanted(at->alternative, options);
    if (status != HOVA_REJECTED || !at) {
      if (status == HOVA_REJECTED && refusal->text[0]) {
        hova_error last = *error;
        hova_fail(error, status, "%.600s; %.600s", refusal->text, last.text);
      }
      return status;
    }
    *refusal = *error;
  }
}

static hova_status create(const hova_program *program,
                          const hova_options *options, hova_context **created,
                          hova_error *error) {
  hova_error refusal = {HOVA_OK, ""};
  hova_context *context = NULL;
  hova_status status = choose(program, options, &context, &refusal, error);
  if (status != HOVA_OK) {
    return status;
  }
  hova_options settings = *options;
  if (program->alternative && !options->target && context->machine->is_gpu) {
    settings.threads = 0;
  }
  status = context->machine->start(context, &settings);
  if (status != HOVA_OK) {
    *error = context->error;
    hova_destroy(context);
    return status;
  }
  if (program->alternative && !options->target) {
    hova_fail(error, HOVA_OK, "runs on %s%s%s",
              context->machine->name_of(context), refusal.text[0] ? ": " : "",
              refusal.text);
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
    // What a program of another version has, nobody knows.
    status = hova_check_program(program, &error);
  }
  if (created && status == HOVA_OK) {
    status = create(program, options, created, &error);
  }
  if (options->message && options->message_bytes) {
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

static hova_status run(hova_context *context, const int32_t *lengths,
                       int64_t items, const hova_tensor *inputs,
                       const hova_tensor *outputs) {
  if (!context) {
    return HOVA_REJECTED;
  }
  // Two callers at once would share the arena.
  if (atomic_flag_test_and_set(&context->running)) {
    return HOVA_BUSY;
  }
  context->error.text[0] = '\0';
  hova_sizes sizes;
  hova_status status = hova_find_sizes(context->program, inputs, lengths, items,
                                       &sizes, &context->error);
  if (status == HOVA_OK) {
    status = context->machine->run(context, &sizes, inputs, outputs);
  }
  atomic_flag_clear(&context->running);
  return status;
}

hova_status hova_run(hova_context *context, const hova_tensor *inputs,
                     const hova_tensor *outputs) {
  return run(context, NULL, 0, inputs, outputs);
}

hova_status hova_run_packed(hova_context *context, const int32_t *lengths,
                            int64_t items, const hova_tensor *inputs,
                            const hova_tensor *outputs) {
  // A null pointer is a list of nothing here.
  static const int32_t none = 0;
  return run(context, lengths ? lengths : &none, lengths ? items : 0, inputs,
             outputs);
}

const char *hova_message(const hova_context *context) {
  return context ? context->error.text : "expects a context, got null";
}

const char *hova_target(const hova_context *context) {
  return context ? context->machine->target : "expects a context, got null";
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

hova_status hova_read_arena(hova_context *context, uint64_t offset,
                            uint64_t bytes, void *to) {
  return context->machine->read_arena(context, offset, bytes, to);
}

hova_status hova_poison(hova_context *context) {
  return context->machine->poison(context);
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
