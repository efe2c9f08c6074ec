//===- Target.h - What the kernels of a program run on ----------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_TARGET_H
#define HOVA_RUNTIME_MAIN_TARGET_H

#include "runtime/Error.h"
#include "runtime/Output.h"

#include <stdbool.h>

/// The target that the program was compiled for, as `hova compile` names it:
/// "cpu", "cuda" or "cuda-emulated".
const char *hova_program_target(const hova_program *program);

/// Whether kernels run on a GPU, or on one that the processor emulates.
bool hova_is_for_gpu(const hova_program *program);
bool hova_is_emulated(const hova_program *program);

/// What made the machine code for a GPU; null where there is none.
const char *hova_assembler_of(const hova_program *program);

/// Prints a table of what a GPU is asked for, launch by launch. Nothing for
/// another target.
void hova_print_launches(const hova_program *program);

/// The same as `,\n  "arch": "..",\n  "launches": [..]`.
hova_status hova_write_launches(hova_output *output,
                                const hova_program *program, hova_error *error);

#endif // HOVA_RUNTIME_MAIN_TARGET_H
