//===- Arguments.h - Checks of the tensors of a call ------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_CPU_ARGUMENTS_H
#define HOVA_RUNTIME_CPU_ARGUMENTS_H

#include "runtime/Error.h"

#include <stdbool.h>

/// Checks inputs and outputs of a call and writes their addresses to
/// `input_data` and `output_data`. Nothing else is written.
hova_status hova_check_arguments(const hova_program *program,
                                 const hova_tensor *inputs,
                                 const hova_tensor *outputs, void **input_data,
                                 void **output_data, hova_error *error);

/// Checks that the `count` integers or booleans at `data` are valid for
/// `info`.
hova_status hova_check_range(const hova_tensor_info *info, const void *data,
                             uint64_t count, hova_error *error);

/// The number of elements and bytes of a program's tensor. Its shape was
/// checked when the context was created.
uint64_t hova_info_count(const hova_tensor_info *info);
uint64_t hova_info_bytes(const hova_tensor_info *info);

/// Whether name, type and shape of an input or output can be what a compiler
/// emitted.
bool hova_info_is_valid(const hova_tensor_info *info);

#endif // HOVA_RUNTIME_CPU_ARGUMENTS_H
