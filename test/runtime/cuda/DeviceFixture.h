//===- DeviceFixture.h - A small program for a GPU ---------------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_RUNTIME_CUDA_DEVICEFIXTURE_H
#define HOVA_TEST_RUNTIME_CUDA_DEVICEFIXTURE_H

#include "runtime/hova_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DEVICE_ROWS = 6,
  DEVICE_COLUMNS = 5,
  DEVICE_VOCABULARY = 10,
  /// Of a row in the arena, where it is padded, in elements.
  DEVICE_STRIDE = 8,
  DEVICE_WEIGHT_BYTES = 64
};

/// y = (x * w + ids by row) with its rows in the order of a table, first = its
/// first row before that. Three launches and two values in the arena, of which
/// the second is the first one changed in place.
extern const hova_program hova_program_device;

/// The same, and for where no GPU is, a program for the processor.
extern const hova_program hova_program_both;

/// The first for GPUs of 9.0 and later: its launches may begin before those in
/// front of them have ended, and its PTX waits. Not in the emulation.
extern const hova_program hova_program_overlapping;

// Programs with a mistake each, in the emulation alone.

/// Writes what lies between two rows of the arena.
extern const hova_program hova_program_gap;
/// Launches too few blocks, so that rows stay unwritten.
extern const hova_program hova_program_short;
/// Its second launch may begin before the first has ended, and does not wait.
extern const hova_program hova_program_hasty;
/// Its first launch is missing.
extern const hova_program hova_program_empty_arena;
/// No launch writes its second output.
extern const hova_program hova_program_silent;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_TEST_RUNTIME_CUDA_DEVICEFIXTURE_H
