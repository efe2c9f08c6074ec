//===- Emulation.h - Runs kernels of a GPU on a processor -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Executes kernels that the compiler has lowered for emulation
// (codegen/cuda/lower): their machine code is that of the host, and every
// instruction that a host does not have, and every access to memory, is a call
// of Calls.h. docs/gpu.md says what is checked.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_EMULATION_EMULATION_H
#define HOVA_RUNTIME_EMULATION_EMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hova_emulated_thread hova_emulated_thread;

/// A kernel as the compiler describes it. Its code is trusted as any linked
/// code is.
typedef struct hova_emulated_kernel {
  const char *name;
  void (*entry)(hova_emulated_thread *self, const void *const *arguments);
  /// Names of operations and their locations, each ended by a zero, and where
  /// they begin: entry 2 p is the name of the operation at place p, entry 2 p
  /// + 1 its location.
  const char *place_text;
  const uint32_t *place_offsets;
  const uint32_t *parameters; ///< bytes of each; 0: a pointer to global memory
  uint32_t parameter_count;
  uint32_t threads;      ///< of a block; 0: any
  uint32_t shared_bytes; ///< before those of the launch
  /// The smallest access to each memory: all others are multiples of it.
  uint32_t shared_granule, global_granule;
  uint32_t cluster; ///< blocks of a cluster, along z
} hova_emulated_kernel;

typedef enum hova_emulation_use {
  HOVA_EMULATION_INPUT,  ///< is only read
  HOVA_EMULATION_OUTPUT, ///< holds nothing before; every byte is written
  HOVA_EMULATION_STATE,  ///< holds values before, is read and written
} hova_emulation_use;

/// Global memory that a launch may access by the pointer to it, and by nothing
/// else. Buffers lie apart unless both are inputs, or the same state.
typedef struct hova_emulation_buffer {
  const char *name;
  void *data;   ///< aligned to 16 bytes at least
  size_t bytes; ///< from the first to the last, with gaps
  hova_emulation_use use;
  /// Of every `row_stride` bytes the first `row_bytes` are the buffer, and the
  /// rest is not: other buffers may lie there. Both 0: all bytes are.
  size_t row_bytes, row_stride;
  /// Whether no launch before writes it: it may be read before these end.
  bool settled;
} hova_emulation_buffer;

/// When asynchronous copies take place. No result may depend on it.
typedef enum hova_emulation_copies {
  HOVA_EMULATION_EARLY, ///< when they are issued
  HOVA_EMULATION_LATE,  ///< when a wait ends
  HOVA_EMULATION_MIXED, ///< one or the other, by the seed
} hova_emulation_copies;

/// How mma.sync adds products to an old sum. Sums.c defines each; those of
/// devices follow models that others have measured.
typedef enum hova_emulation_sums {
  HOVA_EMULATION_IN_ORDER, ///< of k, each sum rounded to the nearest f32
  HOVA_EMULATION_A100,
  HOVA_EMULATION_H100,
} hova_emulation_sums;

/// Where the result of an `approx` instruction lies, among the numbers that PTX
/// allows. Approximations.c has the bounds.
typedef enum hova_emulation_approximations {
  HOVA_EMULATION_NEAREST, ///< to what is exact
  HOVA_EMULATION_ABOVE,   ///< the largest of all
  HOVA_EMULATION_BELOW,   ///< the smallest
  HOVA_EMULATION_EITHER,  ///< one of these two, by the bits of the argument
} hova_emulation_approximations;

typedef struct hova_emulation_launch {
  const hova_emulated_kernel *kernel;
  uint32_t grid[3], block[3];
  uint32_t dynamic_shared_bytes;
  /// What a block of the device may have; 0: what the largest devices give it.
  uint32_t most_shared_bytes;
  const void *const *arguments; ///< of each parameter the address of its value
  /// One for each parameter that is a pointer, in their order; it points to the
  /// first byte.
  const hova_emulation_buffer *buffers;
  size_t buffer_count;
  /// Chooses the order of blocks and of warps; with 0 they come in order.
  uint64_t seed;
  hova_emulation_copies copies;
  hova_emulation_sums sums;
  hova_emulation_approximations approximations;
  /// Whether `accesses` of the report is wanted, which takes time and memory.
  bool counts_accesses;
  /// How many turns of loops a thread may take without meeting another before
  /// that is a fault; 0: HOVA_EMULATION_MOST_TURNS.
  uint64_t most_turns;
  /// Whether it begins, as on a device behind a programmatic edge, while
  /// launches before it may still run. Until a thread has waited for them
  /// (griddepcontrol.wait), it may touch no global memory but settled buffers,
  /// and these are inputs; and it waits before it ends.
  bool overlaps;
} hova_emulation_launch;

/// Far more than a kernel takes that comes to an end in its time.
#define HOVA_EMULATION_MOST_TURNS (UINT64_C(1) << 28)

/// Accesses of warps, each to be served as one request. Those to shared memory
/// cost wavefronts, of 128 bytes in different banks; those to global memory
/// sectors, of 32 bytes.
typedef enum hova_emulation_access {
  HOVA_EMULATION_SHARED,    ///< loads and stores of shared memory
  HOVA_EMULATION_COPIED_TO, ///< where asynchronous copies write
  HOVA_EMULATION_LOADS,     ///< of global memory
  HOVA_EMULATION_STORES,
  HOVA_EMULATION_COPIED_FROM,
  HOVA_EMULATION_ACCESSES, ///< how many kinds there are
} hova_emulation_access;

typedef struct hova_emulation_traffic {
  uint64_t requests;
  uint64_t used, least; ///< wavefronts or sectors
} hova_emulation_traffic;

/// What a launch did, and what the fewest possible would have been.
typedef struct hova_emulation_counts {
  uint64_t warp_instructions, products, barriers;
  uint64_t copied_bytes; ///< by asynchronous copies
  /// Turns that shared memory takes for `ldmatrix`: 128 bytes a turn.
  uint64_t matrix_wavefronts, matrix_wavefronts_least;
  /// By hova_emulation_access. The least is that of a request, by the bytes
  /// that its lanes ask for: an access that asks for the same sector again is
  /// counted again.
  hova_emulation_traffic accesses[HOVA_EMULATION_ACCESSES];
} hova_emulation_counts;

typedef struct hova_emulation_report {
  char message[1024]; ///< empty after a run without faults
  bool out_of_memory; ///< the host's; nothing is known of the kernel then
  hova_emulation_counts counts;
} hova_emulation_report;

/// Runs all blocks to their end, or to the first fault, whose kernel, block,
/// thread and operation the message names. True when there was none. Outputs
/// are undefined after a fault. Uses no state but its own: calls may overlap.
bool hova_emulate(const hova_emulation_launch *launch,
                  hova_emulation_report *report);

#ifdef __cplusplus
}
#endif

#endif // HOVA_RUNTIME_EMULATION_EMULATION_H
