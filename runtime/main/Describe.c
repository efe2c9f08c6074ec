//===- Describe.c - What a program is -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/MemoryMap.h"
#include "runtime/main/Report.h"
#include "runtime/main/Target.h"

#include "runtime/Elements.h"
#include "runtime/Machine.h"
#include "runtime/Npy.h"
#include "runtime/Output.h"
#include "runtime/Sizes.h"

#include <stdio.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void print_tensor(const char *role, const hova_program *program,
                         const hova_tensor_info *info) {
  char shape[256];
  hova_format_range_shape(shape, sizeof shape, program, info);
  printf("%-10s %s %s%s", role, info->name, hova_dtype_name(info->dtype),
         shape);
  if (info->lower != info->upper) {
    printf(" from %lld to %lld", (long long)info->lower,
           (long long)info->upper - 1);
  }
  printf("\n");
}

/// Why a level does not run here.
static void print_refusal(uint64_t missing) {
  char names[400];
  hova_list_features(names, sizeof names, missing);
  // What the machine has and the process may not use.
  bool is_refused = (missing & ~hova_cpu_features()) == 0;
  if (!names[0]) { // one that this runtime does not know
    printf(" (not on this machine)");
  } else if (is_refused) {
    printf(" (not here: the system refuses %s)", names);
  } else {
    printf(" (not on this machine: no %s)", names);
  }
}

static void print_levels(const hova_program *program) {
  uint64_t features = hova_usable_features(program);
  bool chosen = false, for_gpu = hova_is_for_gpu(program);
  if (for_gpu) {
    printf("%-10s %s%s\n", "target", hova_program_target(program),
           hova_is_emulated(program) ? ": its kernels run on the processor, "
                                       "with checks"
                                     : "");
  }
  printf("%-10s", "levels");
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    const hova_level *level = &program->levels[i];
    bool runs = (level->features & ~features) == 0;
    printf("%s %s", i ? "," : "", level->name);
    if (!for_gpu && !runs) {
      print_refusal(level->features & ~features);
    } else if (!for_gpu && !chosen) {
      printf(" (chosen here)");
    }
    chosen |= runs;
  }
  printf("\n");
  if (hova_assembler_of(program)) {
    printf("%-10s %s\n", "assembler", hova_assembler_of(program));
  }
}

/// The level that runs here, or the first.
static const hova_level *level_of(const hova_program *program) {
  uint64_t features = hova_usable_features(program);
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    if ((program->levels[i].features & ~features) == 0) {
      return &program->levels[i];
    }
  }
  return program->num_levels ? program->levels : NULL;
}

static unsigned long long scratch_of(const hova_program *program,
                                     int32_t threads) {
  return program->num_levels
             ? hova_scratch_bytes(program, level_of(program), threads)
             : 0;
}

/// Threads together need less than so many times what one does.
static void print_scratch(const hova_program *program) {
  static const int32_t threads[] = {1, 2, 8, 64};
  printf("%-10s", "scratch");
  for (size_t i = 0; i < sizeof threads / sizeof *threads; ++i) {
    printf("%s %llu%s %d%s", i ? "," : "", scratch_of(program, threads[i]),
           i ? " of" : " bytes of", threads[i], i ? "" : " thread");
  }
  printf("\n");
}

static void print_dtype(const hova_program *program) {
  printf("%-10s %s%s\n", "dtype", program->dtype,
         strcmp(program->dtype, "f32") == 0 ? "" : ", sums in f32");
}

static void print_tensors(const hova_program *program) {
  for (uint32_t i = 0; i < program->num_inputs; ++i) {
    print_tensor("input", program, &program->inputs[i]);
  }
  for (uint32_t i = 0; i < program->num_outputs; ++i) {
    print_tensor("output", program, &program->outputs[i]);
  }
}

/// How much there is of everything that one machine runs.
static void print_sizes(const hova_program *program, uint64_t embedded_bytes) {
  printf("%-10s %u\n", "kernels", program->num_kernels);
  printf("%-10s %llu of the description, %llu executed\n", "flops",
         (unsigned long long)program->flops,
         (unsigned long long)program->flops_executed);
  printf("%-10s %llu bytes\n", "arena",
         (unsigned long long)program->arena_bytes);
  if (!hova_is_for_gpu(program)) {
    print_scratch(program);
  }
  printf("%-10s %llu bytes%s\n", "weights",
         (unsigned long long)program->weight_bytes,
         program->weight_bytes == 0 ? ""
         : embedded_bytes           ? ", embedded"
                                    : ", in a file");
  hova_print_memory_map(program, level_of(program));
  hova_print_launches(program);
}

static void print_bill(const hova_program *program) {
  if (program->bill) {
    printf("\n%s", program->bill);
  }
}

/// Names of the kinds of machine that a program is for, best first.
static void print_targets(const hova_program *program) {
  printf("%-10s", "targets");
  for (const hova_program *at = program; at; at = at->alternative) {
    printf("%s %s", at == program ? "" : ", or where there is none",
           hova_program_target(at));
  }
  printf("\n");
}

void hova_print_description(const hova_program *program,
                            uint64_t embedded_bytes) {
  printf("%-10s %s\n", "model", program->name);
  printf("%-10s %s\n", "compiler", program->compiler ? program->compiler : "");
  print_dtype(program);
  if (!program->alternative) {
    print_levels(program);
    print_tensors(program);
    print_sizes(program, embedded_bytes);
    print_bill(program);
    return;
  }
  print_targets(program);
  print_tensors(program);
  for (const hova_program *at = program; at; at = at->alternative) {
    printf("\n--device=%s\n", hova_program_target(at));
    print_levels(at);
    print_sizes(at, embedded_bytes);
  }
  print_bill(program);
}

void hova_print_version(const hova_program *program) {
  printf("%-10s %s\n", "model", program->name);
  printf("%-10s %s\n", "compiler", program->compiler ? program->compiler : "");
  print_dtype(program);
  if (program->alternative) {
    print_targets(program);
  }
  for (const hova_program *at = program; at; at = at->alternative) {
    print_levels(at);
    printf("%-10s %s\n", "hash", at->weight_id ? at->weight_id : "");
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// `"key": "text"` after `before`.
static hova_status write_text(hova_output *output, const char *before,
                              const char *key, const char *text,
                              hova_error *error) {
  hova_status status =
      hova_output_print(output, error, "%s\"%s\": ", before, key);
  return status == HOVA_OK ? hova_output_print_string(output, error, text)
                           : status;
}

static hova_status write_tensor(hova_output *output, const char *before,
                                const hova_tensor_info *info,
                                hova_error *error) {
  char shape[192];
  hova_format_shape(shape, sizeof shape, info->rank, info->dims);
  hova_status status = hova_output_print(output, error, "%s{", before);
  if (status == HOVA_OK) {
    status = write_text(output, "", "name", info->name, error);
  }
  if (status == HOVA_OK) {
    status =
        hova_output_print(output, error, ", \"dtype\": \"%s\", \"shape\": %s",
                          hova_dtype_name(info->dtype), shape);
  }
  if (status == HOVA_OK && info->lower != info->upper) {
    status =
        hova_output_print(output, error, ", \"lower\": %lld, \"upper\": %lld",
                          (long long)info->lower, (long long)info->upper);
  }
  return status == HOVA_OK ? hova_output_print(output, error, "}") : status;
}

static hova_status write_tensors(hova_output *output, const char *key,
                                 uint32_t count, const hova_tensor_info *infos,
                                 hova_error *error) {
  hova_status status = hova_output_print(output, error, ",\n  \"%s\": [", key);
  for (uint32_t i = 0; i < count && status == HOVA_OK; ++i) {
    status = write_tensor(output, i ? ",\n    " : "\n    ", &infos[i], error);
  }
  return status == HOVA_OK ? hova_output_print(output, error, "]") : status;
}

/// Whether a GPU is there, only a run finds out: nothing is said of it.
static hova_status write_levels(hova_output *output,
                                const hova_program *program,
                                hova_error *error) {
  uint64_t features = hova_usable_features(program);
  hova_status status = hova_output_print(output, error, ",\n  \"levels\": [");
  for (uint32_t i = 0; i < program->num_levels && status == HOVA_OK; ++i) {
    const hova_level *level = &program->levels[i];
    status = write_text(output, i ? ", {" : "{", "name", level->name, error);
    if (status == HOVA_OK && !hova_is_for_gpu(program)) {
      bool runs = (level->features & ~features) == 0;
      status = hova_output_print(output, error, ", \"runs_here\": %s",
                                 runs ? "true" : "false");
    }
    if (status == HOVA_OK) {
      status = hova_output_print(output, error, "}");
    }
  }
  return status == HOVA_OK ? hova_output_print(output, error, "]") : status;
}

/// The sizes that a program may be run with, as `"NAME": [1, 512]` by the
/// parameters of the description; nothing where they are fixed.
static hova_status write_ranges(hova_output *output,
                                const hova_program *program,
                                hova_error *error) {
  const hova_ranges *ranges = program->ranges;
  if (!ranges) {
    return HOVA_OK;
  }
  const char *const names[] = {ranges->items, ranges->tokens,
                               ranges->other_tokens};
  const int64_t bounds[][2] = {
      {ranges->least_items, ranges->most_items},
      {ranges->least_tokens, ranges->most_tokens},
      {ranges->least_other_tokens, ranges->most_other_tokens}};
  hova_status status = hova_output_print(output, error, ",\n  \"ranges\": {");
  const char *before = "";
  for (int i = 0; i < 3 && status == HOVA_OK; ++i) {
    if (names[i]) {
      status = hova_output_print(output, error, "%s\"%s\": [%lld, %lld]",
                                 before, names[i], (long long)bounds[i][0],
                                 (long long)bounds[i][1]);
      before = ", ";
    }
  }
  return status == HOVA_OK ? hova_output_print(output, error, "}") : status;
}

static hova_status write_sizes(hova_output *output, const hova_program *program,
                               uint64_t embedded_bytes, hova_error *error) {
  return hova_output_print(
      output, error,
      ",\n  \"kernels\": %u,\n  \"flops\": %llu,\n  \"flops_executed\": "
      "%llu,\n  \"arena_bytes\": %llu,\n  \"scratch_bytes\": %llu,\n  "
      "\"weight_bytes\": %llu,\n  \"weights_embedded\": %s",
      program->num_kernels, (unsigned long long)program->flops,
      (unsigned long long)program->flops_executed,
      (unsigned long long)program->arena_bytes, scratch_of(program, 1),
      (unsigned long long)program->weight_bytes,
      embedded_bytes ? "true" : "false");
}

/// The object that follows after the text.
static hova_status write_bill(hova_output *output, const hova_program *program,
                              hova_error *error) {
  if (!program->bill) {
    return HOVA_OK;
  }
  // Longer than what a print may be.
  const char *json = program->bill + strlen(program->bill) + 1;
  hova_status status = hova_output_print(output, error, ",\n  \"bill\": ");
  return status == HOVA_OK
             ? hova_output_write(output, json, strlen(json), error)
             : status;
}

/// What is said of the program for one kind of machine, but for the end of the
/// object.
static hova_status write_program(hova_output *output,
                                 const hova_program *program,
                                 uint64_t embedded_bytes, hova_error *error) {
  const char *const texts[][2] = {{"model", program->name},
                                  {"compiler", program->compiler},
                                  {"dtype", program->dtype},
                                  {"hash", program->weight_id},
                                  {"target", hova_program_target(program)}};
  hova_status status = HOVA_OK;
  for (size_t i = 0; i < sizeof texts / sizeof *texts && status == HOVA_OK;
       ++i) {
    status = write_text(output, i ? ",\n  " : "{\n  ", texts[i][0], texts[i][1],
                        error);
  }
  if (status == HOVA_OK) {
    status = write_levels(output, program, error);
  }
  if (status == HOVA_OK) {
    status = hova_write_launches(output, program, error);
  }
  if (status == HOVA_OK) {
    status = write_tensors(output, "inputs", program->num_inputs,
                           program->inputs, error);
  }
  if (status == HOVA_OK) {
    status = write_tensors(output, "outputs", program->num_outputs,
                           program->outputs, error);
  }
  if (status == HOVA_OK) {
    status = write_ranges(output, program, error);
  }
  if (status == HOVA_OK) {
    status = write_sizes(output, program, embedded_bytes, error);
  }
  if (status == HOVA_OK) {
    status = hova_write_memory_map(output, program, level_of(program), error);
  }
  return status == HOVA_OK ? write_bill(output, program, error) : status;
}

hova_status hova_print_description_json(const hova_program *program,
                                        uint64_t embedded_bytes,
                                        hova_error *error) {
  hova_output output;
  hova_status status = hova_output_open(&output, "-", error);
  const hova_program *at = program;
  while (at && status == HOVA_OK) {
    status = write_program(&output, at, embedded_bytes, error);
    const char *between = at == program ? ",\n  \"alternatives\": [" : "\n}, ";
    at = at->alternative;
    if (at && status == HOVA_OK) {
      status = hova_output_print(&output, error, "%s", between);
    }
  }
  if (status == HOVA_OK) {
    status = hova_output_print(&output, error, "%s\n}\n",
                               program->alternative ? "\n}]" : "");
  }
  return hova_output_close(&output, status, error);
}
