//===- Tensors.h - Inputs and outputs of a compiled program -----*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_TENSORS_H
#define HOVA_RUNTIME_MAIN_TENSORS_H

#include "runtime/main/CommandLine.h"

/// Memory for every input and output of a program.
typedef struct tensor_set {
  hova_tensor *inputs;  ///< [num_inputs]
  hova_tensor *outputs; ///< [num_outputs]
} tensor_set;

hova_status hova_allocate_tensors(const hova_program *program, tensor_set *set,
                                  hova_error *error);
void hova_free_tensors(const hova_program *program, tensor_set *set);

/// Reads or invents every input.
hova_status hova_fill_inputs(const hova_program *program,
                             const command_line *options, tensor_set *set,
                             hova_error *error);

/// Writes the outputs that were asked for.
hova_status hova_write_outputs(const hova_program *program,
                               const command_line *options,
                               const tensor_set *set, hova_error *error);

/// Prints shape, first values and position of the largest value of the last
/// axis of every output.
void hova_print_outputs(const hova_program *program, const tensor_set *set);

#endif // HOVA_RUNTIME_MAIN_TENSORS_H
