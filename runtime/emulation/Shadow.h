//===- Shadow.h - Who has accessed a place in memory ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Races are judged by happens-before with vector clocks, as FastTrack does
// (Flanagan, Freund, PLDI 2009). An *agent* is a thread (index i), its
// asynchronous copies (index threads + i) or the asynchronous products of a
// warp (index 2 threads + warp). The clock of a thread counts barriers, that of
// copies and of products their groups. An access by agent a at clock c happened
// before what thread t does now if t knows of a up to c at least.
//
// Products see memory through a proxy of their own. What a thread wrote before
// a fence of proxies, and all that it knew of then, is *fenced*; who learns of
// the thread's accesses learns that too.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_EMULATION_SHADOW_H
#define HOVA_RUNTIME_EMULATION_SHADOW_H

#include "runtime/emulation/Emulation.h"

/// What a thread knows of all agents but its own, or knows to be fenced of
/// them; shared by threads that have met.
typedef struct clock_values {
  uint32_t uses;
  struct clock_values *next; ///< in the pool
  uint32_t at[];
} clock_values;

typedef struct clock_pool {
  clock_values *free;
  uint32_t agents;
} clock_pool;

/// One use, undefined contents; null: the host has no memory.
clock_values *take_clock(clock_pool *pool);
void drop_clock(clock_pool *pool, clock_values *clock);
void free_clocks(clock_pool *pool);
static inline void raise_clock(uint32_t *at, uint32_t value) {
  *at = *at < value ? value : *at;
}
/// Adds what `other` knows of all agents.
void raise_clocks(const clock_pool *pool, clock_values *clock,
                  const clock_values *other);

#define NOBODY UINT32_MAX
/// Wrote before the launch began.
#define HOST (UINT32_MAX - 1)
#define SEVERAL_BLOCKS (UINT32_MAX - 1)

/// A read that no later one of the same cell has replaced.
typedef struct read_record {
  uint32_t agent, clock, place;
  uint32_t count; ///< with those after it, or more
  uint32_t next;
} read_record;

/// As many bytes as the kernel's smallest access to this memory.
typedef struct cell {
  uint32_t writer, written, write_place; ///< agent, clock, place
  uint32_t write_block;
  uint32_t reads; ///< records, of the block `read_block` alone
  uint32_t read_block;
} cell;

typedef struct shadow {
  cell *cells;
  size_t count;
  uint32_t granule;
  read_record *records;
  uint32_t record_count, record_room, free_record;
} shadow;

bool make_shadow(shadow *shadow, size_t bytes, uint32_t granule);
void free_shadow(shadow *shadow);
/// Forgets everything; `writer` is NOBODY or HOST.
void clear_shadow(shadow *shadow, uint32_t writer);

/// Notes an access of `bytes` from byte `at` on, which are inside. A fault if
/// another access is not ordered with it, or nothing was written before a read.
/// `agent` is the thread or its copies, which know what the thread does;
/// `buffer` is null for shared memory.
void note_read(shadow *shadow, hova_emulated_thread *self, uint32_t agent,
               uint32_t place, uint64_t at, uint32_t bytes, const char *buffer);
void note_write(shadow *shadow, hova_emulated_thread *self, uint32_t agent,
                uint32_t place, uint64_t at, uint32_t bytes,
                const char *buffer);
/// A fault unless the last write of each byte of shared memory is fenced.
void check_fenced(shadow *shadow, hova_emulated_thread *self, uint32_t place,
                  uint64_t at, uint32_t bytes);

#endif // HOVA_RUNTIME_EMULATION_SHADOW_H
