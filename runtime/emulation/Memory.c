//===- Memory.c - Loads, stores and asynchronous copies -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Block.h"

#include <stdlib.h>
#include <string.h>

uint32_t hova_emulated_register(hova_self *self, uint32_t which) {
  const hova_emulation_launch *launch = self->block->launch;
  switch (which / 3) {
  case 0:
    return self->id[which % 3];
  case 1:
    return launch->block[which % 3];
  case 2:
    return self->block->id[which % 3] + (which == 8 ? self->member : 0);
  case 3:
    return launch->grid[which % 3];
  default:
    return self->lane;
  }
}

static uint32_t shared_offset(hova_emulated_thread *self, uint32_t place,
                              const char *does, uint64_t address,
                              uint32_t bytes, uint32_t alignment) {
  // Addresses have 32 bits, whatever the host has computed.
  uint32_t at = (uint32_t)address;
  if (at % alignment) {
    fault(self, place,
          "%s %u bytes from byte %u of shared memory on, which is no multiple "
          "of %u",
          does, bytes, at, alignment);
  }
  uint32_t size = self->block->shared_bytes;
  if (at > size || bytes > size - at) {
    fault(self, place,
          "%s %u bytes from byte %u of shared memory on, which has %u bytes",
          does, bytes, at, size);
  }
  return shared_begin(self) + at;
}

/// What launches before this one may still write or read a thread touches when
/// it has waited for them. That is asked of every access, instead of an order
/// of both launches by chance: none is right without.
static void check_order(hova_emulated_thread *self, uint32_t place,
                        const char *does, const global_place *found) {
  if (!self->has_waited && !found->memory->buffer->settled) {
    fault(self, place,
          "%s byte %llu of '%s' before it waits for the launches before it, "
          "which may still run",
          does, (unsigned long long)found->at, found->memory->buffer->name);
  }
}

void hova_emulated_await_launches(hova_self *self, uint32_t place) {
  (void)place;
  self->has_waited = true;
}

void hova_emulated_allow_launches(hova_self *self, uint32_t place) {
  (void)self;
  (void)place;
}

/// Where the bytes are that an agent reads.
static const void *read_global(hova_emulated_thread *self, uint32_t agent,
                               uint32_t place, uint64_t address, uint32_t bytes,
                               uint32_t alignment) {
  global_place found =
      find_global(self, place, "reads", address, bytes, alignment);
  check_order(self, place, "reads", &found);
  if (found.memory->shadow) {
    note_read(found.memory->shadow, self, agent, place, found.at, bytes,
              found.memory->buffer->name);
  }
  return found.data;
}

const void *hova_emulated_load_global(hova_self *self, uint32_t place,
                                      uint64_t address, uint32_t bytes,
                                      uint32_t alignment) {
  const void *data =
      read_global(self, self->index, place, address, bytes, alignment);
  note_traffic(self, place, HOVA_EMULATION_LOADS, address, bytes);
  return data;
}

void *hova_emulated_store_global(hova_self *self, uint32_t place,
                                 uint64_t address, uint32_t bytes,
                                 uint32_t alignment) {
  global_place found =
      find_global(self, place, "writes", address, bytes, alignment);
  check_order(self, place, "writes", &found);
  const char *name = found.memory->buffer->name;
  if (!found.memory->shadow) {
    fault(self, place, "writes '%s', which is an input", name);
  }
  note_write(found.memory->shadow, self, self->index, place, found.at, bytes,
             name);
  note_traffic(self, place, HOVA_EMULATION_STORES, address, bytes);
  return found.data;
}

const uint8_t *read_shared(hova_emulated_thread *self, uint32_t agent,
                           uint32_t place, uint64_t address, uint32_t bytes,
                           uint32_t alignment) {
  uint32_t at = shared_offset(self, place, "reads", address, bytes, alignment);
  note_read(&self->block->shared_shadow, self, agent, place, at, bytes, NULL);
  return self->block->shared + at;
}

const void *hova_emulated_load_shared(hova_self *self, uint32_t place,
                                      uint64_t address, uint32_t bytes,
                                      uint32_t alignment) {
  const uint8_t *from =
      read_shared(self, self->index, place, address, bytes, alignment);
  note_traffic(self, place, HOVA_EMULATION_SHARED,
               (uint64_t)(from - self->block->shared), bytes);
  return from;
}

void *hova_emulated_store_shared(hova_self *self, uint32_t place,
                                 uint64_t address, uint32_t bytes,
                                 uint32_t alignment) {
  uint32_t at = shared_offset(self, place, "writes", address, bytes, alignment);
  note_write(&self->block->shared_shadow, self, self->index, place, at, bytes,
             NULL);
  note_traffic(self, place, HOVA_EMULATION_SHARED, at, bytes);
  return self->block->shared + at;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static void perform(hova_emulated_thread *self, const copy *copy) {
  uint8_t *target = self->block->shared + copy->target;
  if (copy->read) {
    memcpy(target, copy->source, copy->read);
  }
  memset(target + copy->read, 0, copy->bytes - copy->read);
}

void hova_emulated_copy(hova_self *self, uint32_t place, uint64_t target,
                        uint64_t source, uint32_t bytes, uint32_t read) {
  block *block = self->block;
  if (read > bytes) {
    fault(self, place, "reads %u bytes where it writes %u", read, bytes);
  }
  uint32_t agent = block->thread_count + self->index;
  uint32_t at = shared_offset(self, place, "writes", target, bytes, bytes);
  if (source % bytes) {
    fault(self, place, "reads from an address that is no multiple of %u",
          bytes);
  }
  note_traffic(self, place, HOVA_EMULATION_COPIED_TO, at, bytes);
  const void *from = NULL;
  if (read) {
    from = read_global(self, agent, place, source, read, 1);
    note_traffic(self, place, HOVA_EMULATION_COPIED_FROM, source, read);
  }
  note_write(&block->shared_shadow, self, agent, place, at, bytes, NULL);
  block->report->counts.copied_bytes += read;
  struct copy copy = {at, bytes, read, self->committed + 1, from};
  hova_emulation_copies when = block->launch->copies;
  if (when == HOVA_EMULATION_EARLY ||
      (when == HOVA_EMULATION_MIXED && choose(block, 2))) {
    perform(self, &copy);
    return;
  }
  if (self->copy_count == self->copy_room) {
    uint32_t room = self->copy_room ? 2 * self->copy_room : 64;
    struct copy *copies = realloc(self->copies, room * sizeof *copies);
    if (!copies) {
      lack_memory(self);
    }
    self->copies = copies;
    self->copy_room = room;
  }
  self->copies[self->copy_count++] = copy;
}

void land(hova_emulated_thread *self, uint32_t group) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < self->copy_count; ++i) {
    if (self->copies[i].group <= group) {
      perform(self, &self->copies[i]);
    } else {
      self->copies[kept++] = self->copies[i];
    }
  }
  self->copy_count = kept;
  if (group > self->landed) {
    self->landed = group;
  }
}

void hova_emulated_commit(hova_self *self, uint32_t place) {
  (void)place;
  ++self->committed;
}

void hova_emulated_wait(hova_self *self, uint32_t place, uint32_t groups) {
  (void)place;
  if (groups < self->committed) {
    land(self, self->committed - groups);
  }
}
