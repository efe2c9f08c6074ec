//===- Schedule.c - Whose turn it is --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Block.h"

#include <string.h>

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// The next lane of this warp, or of another; null: all threads wait.
static hova_emulated_thread *next_thread(block *block) {
  warp *warp = &block->warps[block->warp];
  // Without a seed a warp goes on as long as it can.
  if (!warp->ready || choose(block, 8) == 1) {
    uint32_t first = block->launch->seed ? choose(block, block->warp_count) : 0;
    for (uint32_t i = 0; i < block->warp_count; ++i) {
      uint32_t w = (first + i) % block->warp_count;
      if (block->warps[w].ready) {
        block->warp = w;
        break;
      }
    }
    warp = &block->warps[block->warp];
  }
  return warp->ready ? &warp->threads[__builtin_ctz(warp->ready)] : NULL;
}

void park(hova_emulated_thread *self) {
  hova_emulated_thread *next = next_thread(self->block);
  if (next == self) {
    return;
  }
  switch_stacks(&self->stack_pointer,
                next ? next->stack_pointer : self->block->scheduler);
}

void fiber_main(hova_emulated_thread *self) {
  block *block = self->block;
  block->launch->kernel->entry(self, block->arguments);
  land(self, self->committed + 1);
  if (!self->has_waited) {
    fault(self, NO_PLACE,
          "ends and has not waited for the launches before it, so that the "
          "next one may begin before these have ended");
  }
  if (self->left) {
    fault(self, NO_PLACE, "ends and has not waited where its cluster meets");
  }
  warp *warp = &block->warps[self->index / LANES];
  self->state = ENDED;
  warp->ready &= ~(1u << self->lane);
  warp->live &= ~(1u << self->lane);
  --block->live;
  if (!warp->live) {
    settle_traffic(block, warp);
  }
  park(self);
  __builtin_unreachable();
}

/// Threads wait, and none of them can go on.
static void report_standstill(block *block) {
  hova_emulated_thread *waiting = NULL, *ended = NULL, *other = NULL;
  for (uint32_t i = 0; i < block->thread_count; ++i) {
    hova_emulated_thread *thread = &block->threads[i];
    if (thread->state == ENDED) {
      ended = thread;
    } else if (!waiting) {
      waiting = thread;
    }
  }
  for (uint32_t i = 0; i < block->thread_count && !other; ++i) {
    hova_emulated_thread *thread = &block->threads[i];
    if (thread->state != ENDED &&
        (thread->state != waiting->state || thread->place != waiting->place)) {
      other = thread;
    }
  }
  const char *who = waiting->state == AT_BARRIER ? "all threads of its block"
                    : waiting->state == AT_CLUSTER
                        ? "all threads of its cluster"
                        : "the lanes of its warp that it names";
  if (other) {
    report_fault(waiting, waiting->place,
                 "waits for %s for ever: thread %u waits at '%s' at %s", who,
                 other->index, operation_of(block, other->place),
                 location_of(block, other->place));
  } else {
    report_fault(waiting, waiting->place,
                 "waits for %s for ever: thread %u has ended", who,
                 ended ? ended->index : 0);
  }
}

void run_threads(block *block) {
  for (uint32_t i = 0; i < block->thread_count; ++i) {
    prepare_fiber(&block->threads[i]);
  }
  block->warp = choose(block, block->warp_count);
  hova_emulated_thread *first = next_thread(block);
  switch_stacks(&block->scheduler, first->stack_pointer);
  if (!block->failed && block->live) {
    report_standstill(block);
  }
}

void hova_emulated_turn(hova_self *self, uint32_t place) {
  uint64_t most = self->block->launch->most_turns;
  if (++self->turns > (most ? most : HOVA_EMULATION_MOST_TURNS)) {
    fault(self, place,
          "has taken %llu turns of loops without meeting another thread: it "
          "does not seem to end",
          (unsigned long long)self->turns - 1);
  }
}

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

clock_values *join_known(hova_emulated_thread *first, uint32_t count,
                         uint32_t mask, uint32_t uses) {
  block *block = first->block;
  clock_values *joined = take_clock(&block->clocks);
  if (!joined) {
    lack_memory(first);
  }
  joined->uses = uses;
  memset(joined->at, 0, block->clocks.agents * sizeof joined->at[0]);
  // Threads that have met share one.
  const clock_values *last = NULL;
  for (uint32_t i = 0; i < count; ++i) {
    if ((mask >> i % LANES & 1) && first[i].known != last) {
      last = first[i].known;
      raise_clocks(&block->clocks, joined, last);
    }
  }
  return joined;
}

void hova_emulated_barrier(hova_self *self, uint32_t place) {
  block *block = self->block;
  uint32_t count = block->member_threads, first = self->member * count;
  self->state = AT_BARRIER;
  self->place = place;
  warp_of(self)->ready &= ~(1u << self->lane);
  if (++block->at_barrier[self->member] < count) {
    park(self);
    return;
  }
  // Each thread knows all others of its block, and what their waits have ended.
  hova_emulated_thread *threads = block->threads + first;
  clock_values *known = join_known(threads, count, UINT32_MAX, count);
  for (uint32_t i = 0; i < count; ++i) {
    hova_emulated_thread *thread = &threads[i];
    if (thread->place != place) {
      fault(self, place,
            "is not the barrier that thread %u waits at, which is '%s' at %s",
            i, operation_of(block, thread->place),
            location_of(block, thread->place));
    }
    known->at[first + i] = thread->time;
    known->at[block->thread_count + first + i] = thread->landed;
  }
  uint32_t warps = (count + LANES - 1) / LANES, first_warp = first / LANES;
  for (uint32_t w = first_warp; w < first_warp + warps; ++w) {
    known->at[2 * block->thread_count + w] = block->warps[w].ended;
  }
  clock_values *fenced = join_fenced(threads, count, UINT32_MAX, count);
  for (uint32_t i = 0; i < count; ++i) {
    hova_emulated_thread *thread = &threads[i];
    drop_clock(&block->clocks, thread->known);
    thread->known = known;
    learn_fenced(thread, fenced);
    ++thread->time;
    thread->state = RUNNING;
    thread->turns = 0;
  }
  for (uint32_t w = first_warp; w < first_warp + warps; ++w) {
    settle_traffic(block, &block->warps[w]);
    block->warps[w].ready = block->warps[w].live;
  }
  block->at_barrier[self->member] = 0;
  ++block->report->counts.barriers;
  park(self);
}

bool meet(hova_emulated_thread *self, uint32_t place, uint32_t mask,
          const uint32_t *operands, uint32_t *results) {
  block *block = self->block;
  warp *warp = &block->warps[self->index / LANES];
  uint32_t bit = 1u << self->lane;
  if (!(mask & bit)) {
    fault(self, place, "names lanes 0x%x, of which it is none", mask);
  }
  if (mask & ~warp->live) {
    fault(self, place, "needs lane %u of its warp, which %s",
          (uint32_t)__builtin_ctz(mask & ~warp->live),
          warp->threads + __builtin_ctz(mask & ~warp->live) <
                  block->threads + block->thread_count
              ? "has ended"
              : "the block does not have");
  }
  self->state = AT_WARP;
  self->place = place;
  self->mask = mask;
  self->operands = operands;
  self->results = results;
  warp->ready &= ~bit;
  if (mask & warp->ready) {
    park(self);
    return false;
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const hova_emulated_thread *lane = &warp->threads[__builtin_ctz(rest)];
    if (lane->state != AT_WARP || lane->place != place || lane->mask != mask) {
      park(self);
      return false;
    }
  }
  ++block->report->counts.warp_instructions;
  if (mask == warp->all) {
    settle_traffic(block, warp);
  }
  return true;
}

void release_lanes(hova_emulated_thread *self) {
  warp *warp = &self->block->warps[self->index / LANES];
  for (uint32_t rest = self->mask; rest; rest &= rest - 1) {
    warp->threads[__builtin_ctz(rest)].state = RUNNING;
    warp->threads[__builtin_ctz(rest)].turns = 0;
  }
  warp->ready |= self->mask;
}
