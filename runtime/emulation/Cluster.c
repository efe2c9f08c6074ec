//===- Cluster.c - Blocks that read each other's shared memory ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a thread knows when it arrives at a barrier of its cluster, all threads
// of the cluster know when they have waited there. Of fences of proxies the
// barrier tells nobody.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulation/Block.h"

#include <string.h>

/// Addresses of a member: its number, and one more, stands above these bits.
#define MEMBER_BITS 32

void forget_cluster(hova_emulated_thread *self) {
  if (self->left) {
    drop_clock(&self->block->clocks, self->left);
  }
  if (self->met) {
    drop_clock(&self->block->clocks, self->met);
  }
  self->left = self->met = NULL;
}

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

/// What the thread knows, and has done itself, until now.
static clock_values *leave_known(hova_emulated_thread *self) {
  uint32_t threads = self->block->thread_count;
  clock_values *known = join_known(self, 1, UINT32_MAX, 1);
  raise_clock(&known->at[products_of(self)], warp_of(self)->ended);
  known->at[self->index] = self->time++;
  known->at[threads + self->index] = self->landed;
  return known;
}

void hova_emulated_cluster_arrive(hova_self *self, uint32_t place) {
  block *block = self->block;
  if (self->left) {
    fault(self, place,
          "arrives again where its cluster meets, and has not "
          "waited there");
  }
  self->left = leave_known(self);
  if (++block->at_cluster < block->thread_count) {
    return;
  }
  block->at_cluster = 0;
  clock_values *met = take_clock(&block->clocks);
  if (!met) {
    lack_memory(self);
  }
  met->uses = block->thread_count;
  memset(met->at, 0, block->clocks.agents * sizeof met->at[0]);
  for (uint32_t i = 0; i < block->thread_count; ++i) {
    hova_emulated_thread *thread = &block->threads[i];
    raise_clocks(&block->clocks, met, thread->left);
    thread->met = met;
    if (thread->state == AT_CLUSTER) {
      thread->state = RUNNING;
      warp_of(thread)->ready |= 1u << thread->lane;
    }
  }
  ++block->report->counts.barriers;
}

void hova_emulated_cluster_wait(hova_self *self, uint32_t place) {
  block *block = self->block;
  if (!self->left) {
    fault(self, place,
          "waits where its cluster meets, and has not arrived "
          "there");
  }
  if (!self->met) {
    self->state = AT_CLUSTER;
    self->place = place;
    warp_of(self)->ready &= ~(1u << self->lane);
    park(self);
  }
  clock_values *known = join_known(self, 1, UINT32_MAX, 1);
  raise_clocks(&block->clocks, known, self->met);
  drop_clock(&block->clocks, self->known);
  self->known = known;
  self->turns = 0;
  forget_cluster(self);
}

//===----------------------------------------------------------------------===//
// Shared memory of others
//===----------------------------------------------------------------------===//

uint64_t hova_emulated_mapa(hova_self *self, uint32_t place, uint64_t address,
                            uint32_t rank) {
  uint32_t members = self->block->member_count;
  if (rank >= members) {
    fault(self, place, "asks for block %u of a cluster of %u", rank, members);
  }
  return (uint64_t)(rank + 1) << MEMBER_BITS | (uint32_t)address;
}

const void *hova_emulated_load_cluster(hova_self *self, uint32_t place,
                                       uint64_t address, uint32_t bytes,
                                       uint32_t alignment) {
  block *block = self->block;
  uint64_t number = address >> MEMBER_BITS;
  uint32_t at = (uint32_t)address, size = block->shared_bytes;
  if (number < 1 || number > block->member_count) {
    fault(self, place, "reads an address that is none of a cluster");
  }
  if (at % alignment || at > size || bytes > size - at) {
    fault(self, place,
          "reads %u bytes from byte %u of the shared memory of block %u of its "
          "cluster on, which has %u bytes, %u at a time",
          bytes, at, (uint32_t)number - 1, size, alignment);
  }
  uint32_t member = (uint32_t)number - 1;
  uint32_t from = member * block->shared_stride + at;
  note_read(&block->shared_shadow, self, self->index, place, from, bytes, NULL);
  if (member != self->member) {
    block->read_until[member * block->thread_count + self->index] = self->time;
  }
  note_traffic(self, place, HOVA_EMULATION_SHARED, from, bytes);
  return block->shared + from;
}

/// Whether a thread of the member knew before its end what `reader` did.
static bool knew(const block *block, uint32_t member, uint32_t reader,
                 uint32_t until) {
  const hova_emulated_thread *threads =
      block->threads + member * block->member_threads;
  for (uint32_t i = 0; i < block->member_threads; ++i) {
    if (threads[i].known->at[reader] >= until) {
      return true;
    }
  }
  return false;
}

void check_reads(block *block) {
  for (uint32_t i = 0; !block->failed && block->member_count > 1 &&
                       i < block->member_count * block->thread_count;
       ++i) {
    uint32_t member = i / block->thread_count, reader = i % block->thread_count;
    if (block->read_until[i] &&
        !knew(block, member, reader, block->read_until[i])) {
      report_fault(&block->threads[member * block->member_threads], NO_PLACE,
                   "may have ended, with its block, while thread %u of block "
                   "%u of its cluster reads the shared memory of that block: "
                   "the cluster does not meet behind the read",
                   reader % block->member_threads,
                   reader / block->member_threads);
    }
  }
}
