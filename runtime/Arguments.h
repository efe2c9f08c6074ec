//===- Arguments.h - Checks of a program and of a call ----------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_ARGUMENTS_H
#define HOVA_RUNTIME_ARGUMENTS_H

#include "runtime/Error.h"
#include "runtime/Sizes.h"

#include <stdbool.h>

/// What a corrupt or newer program could get wrong: its version, and its inputs
/// and outputs.
hova_status hova_check_program(const hova_program *program, hova_error *error);

/// Where a call's tensors are, in DLPack's words; or where each of them may be.
enum hova_memory_kind {
  HOVA_CPU_MEMORY = 1,
  HOVA_CUDA_MEMORY = 2,
  HOVA_CPU_OR_CUDA_MEMORY = 3
};

/// What addresses of tensors in CUDA memory are multiples of.
enum { HOVA_CUDA_ALIGNMENT = 16 };

/// Checks inputs and outputs of a call of these sizes, which must lie in
/// `memory`, and writes
/// their addresses to `input_data` and `output_data`. Neither reads what lies
/// there nor writes anything else. Which of several devices it is, it does not
/// look at.
hova_status hova_check_arguments(const hova_program *program,
                                 const hova_sizes *sizes,
                                 enum hova_memory_kind memory,
                                 const hova_tensor *inputs,
                                 const hova_tensor *outputs, void **input_data,
                                 void **output_data, hova_error *error);

/// Checks the integers and booleans of all inputs, which the processor can
/// read.
hova_status hova_check_contents(const hova_program *program,
                                const hova_sizes *sizes,
                                void *const *input_data, hova_error *error);

/// Whether values of an input or output have to be checked.
bool hova_has_range(const hova_tensor_info *info);

/// Checks that the `count` integers or booleans at `data` are valid for
/// `info`.
hova_status hova_check_range(const hova_tensor_info *info, const void *data,
                             uint64_t count, hova_error *error);

/// The number of elements and bytes of a program's tensor. Its shape was
/// checked when the context was created.
uint64_t hova_info_count(const hova_tensor_info *info);
uint64_t hova_info_bytes(const hova_tensor_info *info);

#endif // HOVA_RUNTIME_ARGUMENTS_H
