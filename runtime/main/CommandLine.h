//===- CommandLine.h - Options of a compiled program ------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_COMMANDLINE_H
#define HOVA_RUNTIME_MAIN_COMMANDLINE_H

#include "runtime/Error.h"

#include <stdbool.h>

/// Exit statuses of a compiled program.
enum {
  EXIT_OK = 0,
  EXIT_REJECTED = 1,
  EXIT_USAGE = 2,
  EXIT_NUMBERS_DIFFER = 3, ///< or a kernel of a GPU has failed
  EXIT_NO_MEMORY = 71,
  EXIT_IO = 74
};

typedef struct command_line {
  /// Files by index of the program's input or output; null: not given.
  const char **inputs;
  const char **outputs;
  const char **expected;
  const char *output_directory;
  const char *weights;
  bool check_weights;
  const char *benchmark_out;
  const char *trace;
  const char *kernel; ///< path, measured alone; null: the whole model
  const char *target; ///< null: the first whose machine is there
  int32_t device;
  double rtol; ///< NaN: by the type of the program
  double atol; ///< the same
  uint64_t seed;
  uint64_t warmup;
  uint64_t repetitions;
  int32_t threads;
  /// Of a program with ranges; 0: not given.
  int64_t items, tokens, other_tokens;
  bool random_inputs;
  bool prints_file; ///< standard output is a file, not text
  bool benchmark;
  bool cold;
  bool describe;
  const char *format; ///< of the description; null: text
  bool version;
  bool help;
} command_line;

/// Parses; HOVA_REJECTED here means exit status 2. Names are those of the
/// program's inputs and outputs.
hova_status hova_parse_command_line(int argc, char **argv,
                                    const hova_program *program,
                                    command_line *options, hova_error *error);
void hova_free_command_line(command_line *options);

/// Whether the options ask for no run.
static inline bool hova_only_prints(const command_line *options) {
  return options->describe || options->version || options->help;
}

/// The index of a kernel of the program by its path; -1: it has none.
int64_t hova_find_kernel(const hova_program *program, const char *path);

/// A line for every option that the program takes, on standard output.
void hova_print_options(const hova_program *program);

#endif // HOVA_RUNTIME_MAIN_COMMANDLINE_H
