//===- Shadow.c - Who has accessed a place in memory ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Shadow.h"

#include "runtime/emulation/Block.h"

#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

clock_values *take_clock(clock_pool *pool) {
  clock_values *clock = pool->free;
  if (clock) {
    pool->free = clock->next;
  } else {
    clock = malloc(sizeof *clock + pool->agents * sizeof clock->at[0]);
    if (!clock) {
      return NULL;
    }
  }
  clock->uses = 1;
  return clock;
}

void drop_clock(clock_pool *pool, clock_values *clock) {
  if (--clock->uses == 0) {
    clock->next = pool->free;
    pool->free = clock;
  }
}

void free_clocks(clock_pool *pool) {
  while (pool->free) {
    clock_values *next = pool->free->next;
    free(pool->free);
    pool->free = next;
  }
}

void raise_clocks(const clock_pool *pool, clock_values *clock,
                  const clock_values *other) {
  for (uint32_t a = 0; a < pool->agents; ++a) {
    raise_clock(&clock->at[a], other->at[a]);
  }
}

/// Whether an access of this block happened before what the thread does now.
static bool knows(const hova_emulated_thread *self, uint32_t agent,
                  uint32_t clock) {
  if (agent == self->index) {
    return true;
  }
  if (agent == self->block->thread_count + self->index) {
    return clock <= self->landed;
  }
  if (agent == products_of(self)) {
    return clock <= warp_of(self)->ended;
  }
  return clock <= self->known->at[agent];
}

/// The same, and with a fence of proxies after it.
static bool knows_fenced(const hova_emulated_thread *self, uint32_t agent,
                         uint32_t clock) {
  uint32_t latest = agent == self->index ? self->fenced_time
                    : agent == self->block->thread_count + self->index
                        ? self->fenced_landed
                        : 0;
  return clock <= latest || (self->fenced && clock <= self->fenced->at[agent]);
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

#define NO_RECORD UINT32_MAX

typedef struct access {
  hova_emulated_thread *self;
  uint32_t agent, clock, place;
  uint64_t at;
  const char *buffer; ///< null: shared memory
} access_note;

bool make_shadow(shadow *shadow, size_t bytes, uint32_t granule) {
  memset(shadow, 0, sizeof *shadow);
  shadow->granule = granule;
  shadow->count = (bytes + granule - 1) / granule;
  shadow->free_record = NO_RECORD;
  shadow->cells = malloc((shadow->count + 1) * sizeof *shadow->cells);
  return shadow->cells;
}

void free_shadow(shadow *shadow) {
  free(shadow->cells);
  free(shadow->records);
}

void clear_shadow(shadow *shadow, uint32_t writer) {
  shadow->record_count = 0;
  shadow->free_record = NO_RECORD;
  for (size_t i = 0; i < shadow->count; ++i) {
    shadow->cells[i] = (cell){.writer = writer,
                              .write_block = NOBODY,
                              .reads = NO_RECORD,
                              .read_block = NOBODY};
  }
}

static uint32_t take_record(shadow *shadow, const access_note *note) {
  uint32_t record = shadow->free_record;
  if (record != NO_RECORD) {
    shadow->free_record = shadow->records[record].next;
    return record;
  }
  if (shadow->record_count == shadow->record_room) {
    uint32_t room = shadow->record_room ? 2 * shadow->record_room : 1024;
    read_record *records = realloc(shadow->records, room * sizeof *records);
    if (!records) {
      lack_memory(note->self);
    }
    shadow->records = records;
    shadow->record_room = room;
  }
  return shadow->record_count++;
}

static void drop_records(shadow *shadow, cell *cell) {
  while (cell->reads != NO_RECORD) {
    uint32_t record = cell->reads;
    cell->reads = shadow->records[record].next;
    shadow->records[record].next = shadow->free_record;
    shadow->free_record = record;
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Where a byte lies, as a message says it.
#define BYTE "byte %llu of %s%s%s"
#define BYTE_OF(NOTE)                                                          \
  (unsigned long long)(NOTE)->at, (NOTE)->buffer ? "'" : "",                   \
      (NOTE)->buffer ? (NOTE)->buffer : "shared memory",                       \
      (NOTE)->buffer ? "'" : ""

/// Says what is not ordered with the access.
static void conflict(const access_note *note, const char *does, const char *did,
                     uint32_t agent, uint32_t place) {
  uint32_t threads = note->self->block->thread_count;
  if (agent >= 2 * threads) {
    fault(note->self, note->place,
          "%s " BYTE ", which products of warp %u under way read, begun at %s: "
          "nothing has waited for them, or no barrier orders the two",
          does, BYTE_OF(note), agent - 2 * threads,
          location_of(note->self->block, place));
  }
  bool copies = agent >= threads;
  uint32_t thread = copies ? agent - threads : agent;
  if (copies && thread == note->self->index) {
    fault(note->self, note->place,
          "%s " BYTE " while its own asynchronous copy, issued at %s, "
          "%s it: nothing has waited for that copy",
          does, BYTE_OF(note), location_of(note->self->block, place), did);
  }
  fault(note->self, note->place,
        "%s " BYTE ", which %sthread %u %s at %s: no barrier orders "
        "the two",
        does, BYTE_OF(note), copies ? "an asynchronous copy of " : "", thread,
        did, location_of(note->self->block, place));
}

static void other_block(const access_note *note, const char *does,
                        const char *did) {
  fault(note->self, note->place,
        "%s " BYTE ", which another block %s: blocks are not ordered", does,
        BYTE_OF(note), did);
}

/// A read or write after the last write of a cell.
static void order_with_write(const access_note *note, const cell *cell,
                             const char *does) {
  if (cell->writer == NOBODY || cell->writer == HOST) {
    return;
  }
  if (cell->write_block != note->self->block->number) {
    other_block(note, does, "has written");
  }
  if (!knows(note->self, cell->writer, cell->written)) {
    conflict(note, does, "has written", cell->writer, cell->write_place);
  }
}

/// Reads that the thread knows of need not be remembered: a write that comes
/// after its own comes after them. The latest ones say whether there are any,
/// and all are only looked at when they have become twice as many. Returns how
/// many are left, or more.
static uint32_t drop_known(shadow *shadow, cell *cell,
                           const hova_emulated_thread *self) {
  uint32_t most =
      cell->reads == NO_RECORD ? 0 : shadow->records[cell->reads].count;
  bool looks_at_all = !(most & (most - 1));
  uint32_t kept = 0;
  for (uint32_t *link = &cell->reads; *link != NO_RECORD;) {
    read_record *record = &shadow->records[*link];
    if (knows(self, record->agent, record->clock)) {
      uint32_t known = *link;
      *link = record->next;
      record->next = shadow->free_record;
      shadow->free_record = known;
    } else if (looks_at_all) {
      ++kept;
      link = &record->next;
    } else {
      return record->count;
    }
  }
  return kept;
}

static void read_cell(shadow *shadow, cell *cell, const access_note *note) {
  if (cell->writer == NOBODY) {
    fault(note->self, note->place,
          "reads " BYTE ", where nothing has been written", BYTE_OF(note));
  }
  order_with_write(note, cell, "reads");
  uint32_t here = note->self->block->number;
  if (cell->read_block != here) {
    drop_records(shadow, cell);
    cell->read_block = cell->read_block == NOBODY ? here : SEVERAL_BLOCKS;
  }
  if (cell->read_block == SEVERAL_BLOCKS) {
    return; // Whoever writes it now races with one of them.
  }
  uint32_t count = drop_known(shadow, cell, note->self);
  uint32_t record = take_record(shadow, note);
  shadow->records[record] = (read_record){note->agent, note->clock, note->place,
                                          count + 1, cell->reads};
  cell->reads = record;
}

static void write_cell(shadow *shadow, cell *cell, const access_note *note) {
  order_with_write(note, cell, "writes");
  uint32_t here = note->self->block->number;
  if (cell->read_block != NOBODY && cell->read_block != here) {
    other_block(note, "writes", "has read");
  }
  for (uint32_t r = cell->reads; r != NO_RECORD; r = shadow->records[r].next) {
    const read_record *record = &shadow->records[r];
    if (!knows(note->self, record->agent, record->clock)) {
      conflict(note, "writes", "has read", record->agent, record->place);
    }
  }
  drop_records(shadow, cell);
  cell->read_block = NOBODY;
  cell->writer = note->agent;
  cell->written = note->clock;
  cell->write_place = note->place;
  cell->write_block = here;
}

static void
note_access(shadow *shadow, hova_emulated_thread *self, uint32_t agent,
            uint32_t place, uint64_t at, uint32_t bytes, const char *buffer,
            void (*note_cell)(struct shadow *, cell *, const access_note *)) {
  uint32_t clock = agent == self->index         ? self->time
                   : agent == products_of(self) ? warp_of(self)->begun + 1
                                                : self->committed + 1;
  access_note note = {self, agent, clock, place, at, buffer};
  uint64_t end = (at + bytes + shadow->granule - 1) / shadow->granule;
  for (uint64_t i = at / shadow->granule; i < end; ++i) {
    note.at = i * shadow->granule;
    note_cell(shadow, &shadow->cells[i], &note);
  }
}

void note_read(shadow *shadow, hova_emulated_thread *self, uint32_t agent,
               uint32_t place, uint64_t at, uint32_t bytes,
               const char *buffer) {
  note_access(shadow, self, agent, place, at, bytes, buffer, read_cell);
}

void note_write(shadow *shadow, hova_emulated_thread *self, uint32_t agent,
                uint32_t place, uint64_t at, uint32_t bytes,
                const char *buffer) {
  note_access(shadow, self, agent, place, at, bytes, buffer, write_cell);
}

void check_fenced(shadow *shadow, hova_emulated_thread *self, uint32_t place,
                  uint64_t at, uint32_t bytes) {
  uint64_t end = (at + bytes + shadow->granule - 1) / shadow->granule;
  for (uint64_t i = at / shadow->granule; i < end; ++i) {
    const cell *cell = &shadow->cells[i];
    if (!knows_fenced(self, cell->writer, cell->written)) {
      fault(self, place,
            "multiplies byte %llu of shared memory, which was written at %s: "
            "no fence of proxies stands between the two",
            (unsigned long long)(i * shadow->granule),
            location_of(self->block, cell->write_place));
    }
  }
}
