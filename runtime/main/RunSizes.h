//===- RunSizes.h - The sizes of an executable's run ------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_RUNSIZES_H
#define HOVA_RUNTIME_MAIN_RUNSIZES_H

#include "runtime/main/CommandLine.h"

/// A program whose inputs and outputs have the shapes of one run.
typedef struct sized_program {
  hova_program program;
  void *memory; ///< of what `program` has besides
} sized_program;

/// Notes `length=64`, of a range of the program.
hova_status hova_note_size(const char *flag, const char *text,
                           const hova_program *program, command_line *options,
                           hova_error *error);

/// Refuses what says less than all sizes of a run.
hova_status hova_require_sizes(const hova_program *program,
                               const command_line *options, hova_error *error);

/// Finds the sizes of a run, by the files of inputs and by what the options
/// set, and what `program` is of these. One without ranges stays as it is.
hova_status hova_size_program(const hova_program *program,
                              const command_line *options, sized_program *sized,
                              hova_error *error);
void hova_free_sized_program(sized_program *sized);

#endif // HOVA_RUNTIME_MAIN_RUNSIZES_H
