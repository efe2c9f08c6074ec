//===- Compare.h - Outputs against expected files ---------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_COMPARE_H
#define HOVA_RUNTIME_MAIN_COMPARE_H

#include "runtime/main/Tensors.h"

/// Compares every output that has an expected file and prints one line for
/// each, and the five worst elements of those that differ. An element is equal
/// when |got - want| <= atol + rtol |want|, integers and booleans when they are
/// the same; NaN and infinities must be where they are expected.
hova_status hova_compare_outputs(const hova_program *program,
                                 const command_line *options,
                                 const tensor_set *set, bool *equal,
                                 hova_error *error);

#endif // HOVA_RUNTIME_MAIN_COMPARE_H
