//===- Block.h - The threads of a block, and what they know ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a cluster run together: what is called a block here has the threads
// of all of them, and each is a *member* with a shared memory of its own.
//
// Every thread is a fiber on the host's thread that launched. A fiber runs
// until it has to wait for others, so what happens between two calls is atomic.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_EMULATION_BLOCK_H
#define HOVA_RUNTIME_EMULATION_BLOCK_H

#include "runtime/emulation/Buffers.h"
#include "runtime/emulation/Calls.h"
#include "runtime/emulation/Shadow.h"
#include "runtime/emulation/Traffic.h"

#define LANES 32u
#define MOST_THREADS 1024u
/// Blocks of a cluster, on every device that has clusters.
#define MOST_MEMBERS 8u
/// Of a fault that is no operation's.
#define NO_PLACE UINT32_MAX

/// Instructions that wait: what `place` of a thread means.
typedef enum wait { RUNNING, AT_BARRIER, AT_WARP, AT_CLUSTER, ENDED } wait;

/// A copy that was issued and has not taken place.
typedef struct copy {
  uint32_t target, bytes, read, group;
  const uint8_t *source;
} copy;

struct hova_emulated_thread {
  void *stack_pointer; ///< of a fiber that does not run
  struct block *block;
  uint32_t index, lane, id[3];
  uint32_t member;
  wait state;
  uint32_t place, mask; ///< of what it waits for
  const uint32_t *operands;
  uint32_t *results;
  // What is known of other agents, and of its own copies.
  clock_values *known;
  uint32_t time;      ///< of its own accesses; grows where others learn of them
  uint32_t committed; ///< groups of copies
  uint32_t landed;    ///< groups whose copies it has waited for
  copy *copies;
  uint32_t copy_count, copy_room;
  /// What is known to be fenced of other agents; null: nothing. Of its own
  /// accesses, those up to a time, and of its copies those up to a group.
  clock_values *fenced;
  uint32_t fenced_time, fenced_landed;
  /// What it knew when it arrived at a barrier of the cluster; null: it has
  /// not. And what all knew, when all have arrived.
  clock_values *left, *met;
  uint64_t turns;  ///< of loops since it met others
  bool has_waited; ///< for the launches before, or has not to
};

struct warp {
  uint32_t all;   ///< lanes that the block has
  uint32_t ready; ///< those that can go on
  uint32_t live;  ///< lanes that have not ended
  hova_emulated_thread *threads;
  traffic *traffic; ///< null unless the launch counts accesses
  // Groups of asynchronous products, and sums that they add to.
  uint32_t begun; ///< groups
  uint32_t ended; ///< groups that the warp has waited for
  uint32_t last_place;
  uint64_t begun_hash; ///< of all that it has begun
  struct product *products;
  uint32_t product_count, product_room;
  struct sums *sums;
  uint32_t sums_count, sums_room;
};

/// Words of sums of a lane, at most.
#define MOST_SUMS 128u

struct block {
  const hova_emulation_launch *launch;
  hova_emulation_report *report;
  uint32_t id[3], number;                ///< in the grid, of the first member
  uint32_t member_count, member_threads; ///< threads of each
  uint32_t thread_count, warp_count, live;
  uint32_t at_barrier[MOST_MEMBERS], at_cluster;
  uint32_t warp; ///< whose turn it is
  uint64_t random;
  hova_emulated_thread *threads;
  warp *warps;
  uint8_t *stacks;
  size_t stack_bytes; ///< of each, with its guard
  void *scheduler;    ///< stack pointer of the launch while fibers run
  uint8_t *shared;
  uint32_t shared_bytes;  ///< of a member
  uint32_t shared_stride; ///< from one to the next
  /// For each member, until when each thread has read its shared memory from
  /// another one.
  uint32_t *read_until;
  shadow shared_shadow;
  global_memory *global;  ///< of each buffer
  const void **arguments; ///< what a kernel's entry is given
  clock_pool clocks;
  bool failed;
  bool has_fma; ///< the processor, with vectors of eight f32
};

/// A number below `count` that the seed decides; 0 without a seed.
static inline uint32_t choose(block *block, uint32_t count) {
  if (!block->launch->seed) {
    return 0;
  }
  // xorshift64*, whose state is never 0.
  uint64_t x = block->random;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  block->random = x;
  return (uint32_t)((x * 2685821657736338717u >> 32) * count >> 32);
}

/// The thread waits; another one runs until it may go on.
void park(hova_emulated_thread *self);
/// Runs all threads to their end or to the first fault.
void run_threads(block *block);
/// The bottom of every fiber's stack.
void fiber_main(hova_emulated_thread *self);
/// Makes `stack_pointer` such that switching there calls fiber_main.
void prepare_fiber(hova_emulated_thread *self);
void switch_stacks(void **from, void *to);

static inline warp *warp_of(const hova_emulated_thread *self) {
  return &self->block->warps[self->index / LANES];
}

/// The agent that multiplies for the thread's warp.
static inline uint32_t products_of(const hova_emulated_thread *self) {
  return 2 * self->block->thread_count + self->index / LANES;
}

/// Where the shared memory of the thread's member begins.
static inline uint32_t shared_begin(const hova_emulated_thread *self) {
  return self->member * self->block->shared_stride;
}

/// What all threads of `first` and the `count - 1` after it that `mask` names,
/// lane by lane, know of all agents, as a clock that so many use.
clock_values *join_known(hova_emulated_thread *first, uint32_t count,
                         uint32_t mask, uint32_t uses);

/// Drops what a thread holds of a barrier of the cluster.
void forget_cluster(hova_emulated_thread *self);

/// The cluster has ended: a fault if a block may have, while others read its
/// shared memory.
void check_reads(block *block);

/// What all threads of `first` and the `count - 1` after it that `mask` names
/// know to be fenced, as a clock that so many use; null: nothing.
clock_values *join_fenced(hova_emulated_thread *first, uint32_t count,
                          uint32_t mask, uint32_t uses);
/// A thread learns what is fenced; `known` may be null.
void learn_fenced(hova_emulated_thread *self, clock_values *known);

/// The products of a block begin anew.
void begin_products(block *block);
/// The block has ended: a fault if the warps of a group have not begun the same
/// products, or have not waited for them.
void check_products(block *block);
void free_products(block *block);

/// The warp instruction at `place` is executed by all lanes of `mask`: true in
/// the last of them to come, which executes it for all and lets them go on by
/// `release_lanes`; false in the others, when that has happened.
bool meet(hova_emulated_thread *self, uint32_t place, uint32_t mask,
          const uint32_t *operands, uint32_t *results);
void release_lanes(hova_emulated_thread *self);

/// The bytes of an access to shared memory, checked but not counted.
const uint8_t *read_shared(hova_emulated_thread *self, uint32_t agent,
                           uint32_t place, uint64_t address, uint32_t bytes,
                           uint32_t alignment);

/// Copies of groups up to `group` take place and are known to the thread.
void land(hova_emulated_thread *self, uint32_t group);

/// Both values of 16 bits of a word.
void set_halves(float *low, float *high, uint32_t word, uint32_t is_f16);

/// sums[i][j] += the sum of left[i][k] right[k][j] over k; left and right hold
/// numbers of bf16. In Sums.c.
void multiply(hova_emulation_sums how, bool has_fma, float left[16][16],
              float right[16][8], float sums[16][8]);

static inline const char *operation_of(const block *block, uint32_t place) {
  const hova_emulated_kernel *kernel = block->launch->kernel;
  return kernel->place_text + kernel->place_offsets[2 * place];
}

static inline const char *location_of(const block *block, uint32_t place) {
  const hova_emulated_kernel *kernel = block->launch->kernel;
  return kernel->place_text + kernel->place_offsets[2 * place + 1];
}

/// Says why a launch is none; false.
__attribute__((format(printf, 2, 3))) bool refuse(hova_emulation_report *report,
                                                  const char *format, ...);

/// Ends the launch with a message about the operation at `place` of a thread.
/// Does not return when a fiber calls it.
__attribute__((format(printf, 3, 4), noreturn)) void
fault(hova_emulated_thread *self, uint32_t place, const char *format, ...);
/// The same where the host has no memory for what the emulation keeps.
__attribute__((noreturn)) void lack_memory(hova_emulated_thread *self);
/// The same about threads that wait, from the scheduler.
__attribute__((format(printf, 3, 4))) void
report_fault(hova_emulated_thread *self, uint32_t place, const char *format,
             ...);

#endif // HOVA_RUNTIME_EMULATION_BLOCK_H
