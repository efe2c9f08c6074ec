//===- MemoryMap.h - What lies where ----------------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_MEMORYMAP_H
#define HOVA_RUNTIME_MAIN_MEMORYMAP_H

#include "runtime/Error.h"
#include "runtime/Output.h"

/// Prints tables: the values in the arena with the kernels that write and read
/// them, what threads need inside of kernels, and the weights in the image.
/// `level` is the one whose code runs here; null: none.
void hova_print_memory_map(const hova_program *program,
                           const hova_level *level);

/// The same as `,\n  "memory": {..}`.
hova_status hova_write_memory_map(hova_output *output,
                                  const hova_program *program,
                                  const hova_level *level, hova_error *error);

#endif // HOVA_RUNTIME_MAIN_MEMORYMAP_H
