//===- Launches.h - The launches of a program for a GPU ---------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_CUDA_LAUNCHES_H
#define HOVA_RUNTIME_CUDA_LAUNCHES_H

#include "runtime/Error.h"
#include "runtime/Sizes.h"

#include <stdbool.h>

/// Checks that every launch of `code` is one that a device can be asked for,
/// and that each of its buffers lies inside of what the program says to have.
/// Whoever runs them then needs to look at no number again.
hova_status hova_check_launches(const hova_program *program,
                                const hova_device_code *code,
                                hova_error *error);

/// An address as kernels know it: of a device's memory or, where it is
/// emulated, of the host's.
typedef uint64_t hova_device_address;

/// Where what buffers lie in begins.
typedef struct hova_places {
  hova_device_address arena, weights, tables, sequences;
  const hova_device_address *tensors; ///< of the inputs, then of the outputs
  uint32_t num_inputs;
} hova_places;

/// Where a buffer begins (see `hova_device_buffer::place`).
hova_device_address hova_buffer_address(const hova_places *places,
                                        uint64_t place);

/// Whether a buffer lies in an input or output, whose address a run may change.
bool hova_buffer_is_tensor(const hova_device_buffer *buffer);

/// The grid of a launch in a run; `sizes` are all 0 where shapes are fixed.
void hova_grid_of_run(const hova_device_launch *launch, const hova_sizes *sizes,
                      uint32_t grid[3]);

/// What kernels are told of a run: its items, their tokens and those of their
/// second sequences, in this order.
enum { HOVA_KERNEL_SIZES = 3 };
typedef struct hova_kernel_sizes {
  uint32_t number[HOVA_KERNEL_SIZES];
} hova_kernel_sizes;
hova_kernel_sizes hova_kernel_sizes_of_run(const hova_sizes *sizes);

/// A buffer with the rows that it has in a run.
hova_device_buffer hova_buffer_of_run(const hova_device_buffer *buffer,
                                      const hova_sizes *sizes);

/// From the start of the first row to the end of the last one.
uint64_t hova_buffer_bytes(const hova_device_buffer *buffer);

/// The most buffers of a launch.
uint32_t hova_most_buffers(const hova_device_code *code);

#endif // HOVA_RUNTIME_CUDA_LAUNCHES_H
