//===- Help.c - What a compiled program says of itself --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One screen, with examples that work as they are printed: on invented inputs,
// or on a file that the first of them makes.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/Help.h"

#include "runtime/Elements.h"
#include "runtime/Npy.h"
#include "runtime/Sizes.h"
#include "runtime/main/Target.h"

#include <stdio.h>
#include <string.h>

/// More tensors than this are only counted: the help stays one screen.
#define MOST_TENSORS 6

/// Prints a word as a shell reads it.
static void print_word(const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-./:@%";
  if (*word && word[strspn(word, plain)] == '\0') {
    printf("%s", word);
    return;
  }
  printf("'");
  for (; *word; ++word) {
    printf(*word == '\'' ? "'\\''" : "%c", *word);
  }
  printf("'");
}

/// An example on invented inputs, whose sizes have to be given where they are
/// ranges.
static void print_example(const hova_program *program, const char *name,
                          const char *rest) {
  const hova_ranges *ranges = program->ranges;
  printf("  ");
  print_word(name);
  printf(" --random-inputs 1");
  if (ranges && ranges->items) {
    printf(" --set %s=%lld", ranges->items, (long long)ranges->least_items);
  }
  if (ranges && ranges->tokens) {
    printf(" --set %s=%lld", ranges->tokens, (long long)ranges->most_tokens);
  }
  if (ranges && ranges->other_tokens) {
    printf(" --set %s=%lld", ranges->other_tokens,
           (long long)ranges->most_other_tokens);
  }
  printf(" %s\n", rest);
}

/// A file for the first input, and how it is given.
static void print_file_example(const hova_program *program, const char *name) {
  const hova_tensor_info *info = &program->inputs[0];
  printf("  python3 -c \"import numpy; numpy.save('%s.npy', numpy.zeros((",
         info->name);
  for (int32_t i = 0; i < info->rank; ++i) {
    printf("%lld,%s", (long long)info->dims[i], i + 1 < info->rank ? " " : "");
  }
  printf("), '%s'))\"\n  ", hova_numpy_name(hova_file_element(info->dtype)));
  print_word(name);
  printf(" --input %s=%s.npy%s\n", info->name, info->name,
         program->num_inputs > 1 ? " --random-inputs 1" : "");
}

static void print_examples(const hova_program *program, const char *name) {
  char expected[300];
  printf("examples:\n");
  print_example(program, name, "--output-dir out");
  if (program->num_outputs > 0) {
    snprintf(expected, sizeof expected, "--expected %s=out/%s.npy",
             program->outputs[0].name, program->outputs[0].name);
    print_example(program, name, expected);
  }
  print_example(program, name, "--benchmark");
  if (program->num_inputs > 0) {
    print_file_example(program, name);
  }
  printf("\n");
}

static void print_tensors(const char *role, const hova_program *program,
                          uint32_t count, const hova_tensor_info *infos) {
  printf("%s:\n", role);
  for (uint32_t i = 0; i < count && i < MOST_TENSORS; ++i) {
    char shape[256];
    hova_format_range_shape(shape, sizeof shape, program, &infos[i]);
    printf("  %-20s %s%s", infos[i].name, hova_dtype_name(infos[i].dtype),
           shape);
    if (infos[i].lower != infos[i].upper) {
      printf(" from %lld to %lld", (long long)infos[i].lower,
             (long long)infos[i].upper - 1);
    }
    printf("\n");
  }
  if (count > MOST_TENSORS) {
    printf("  and %u more, which --describe lists\n", count - MOST_TENSORS);
  }
}

void hova_print_help(const hova_program *program, const char *name) {
  printf("usage: ");
  print_word(name);
  printf(" [options]\nRuns the model '%s' on .npy files.\n\n", program->name);
  print_examples(program, name);
  print_tensors("inputs", program, program->num_inputs, program->inputs);
  print_tensors("outputs", program, program->num_outputs, program->outputs);
  printf("\noptions:\n");
  hova_print_options(program);
  printf(
      "\nWith one input or output NAME= may be left out. Without an output "
      "file "
      "a short\nsummary is printed. As a file, - is standard output, or for "
      "--input standard input.\n\n"
      "exit status: 0 ok, 1 an input or the weights were rejected, 2 usage, 3 "
      "outputs differ\nfrom --expected%s, 70 internal error, 71 out of memory, "
      "74 "
      "a file could not be read or\nwritten, 128 + n signal n. "
      "docs/compile-a-model.md of hova says more.\n",
      hova_is_for_gpu(program) ? " or a kernel fails" : "");
}
