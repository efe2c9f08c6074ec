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
    return self->block->id[which % 3];
  case 3:
    return launch->grid[which % 3];
  default:
    return self->lane;
  }
}

/// Whether `bytes` from byte `at` on lie in one row.
static bool is_in_row(const hova_emulation_buffer *buffer, uint64_t at,
                      uint32_t bytes) {
  return buffer->row_bytes == buffer->row_stride ||
         at % buffer->row_stride + bytes <= buffer->row_bytes;
}

/// Says where an access went that no buffer holds; the nearest one below is
/// named.
static void report_outside(hova_emulated_thread *self, uint32_t place,
                           const char *does, uint64_t address, uint32_t bytes,
                           const hova_emulation_buffer *nearest) {
  if (!nearest) {
    fault(self, place, "%s %u bytes outside of all buffers", does, bytes);
  }
  unsigned long long at = address - (uint64_t)(uintptr_t)nearest->data;
  if (at < nearest->bytes && bytes <= nearest->bytes - at) {
    fault(self, place,
          "%s %u bytes from byte %llu of '%s' on, whose rows have %zu bytes "
          "every %zu: what lies between them is not its own",
          does, bytes, at, nearest->name, nearest->row_bytes,
          nearest->row_stride);
  }
  fault(self, place,
        "%s %u bytes from byte %llu of '%s' on, which has %zu bytes", does,
        bytes, at, nearest->name, nearest->bytes);
}

/// The buffer that holds all bytes from `address` on.
static uint32_t find_buffer(hova_emulated_thread *self, uint32_t place,
                            const char *does, uint64_t address, uint32_t bytes,
                            uint32_t alignment) {
  const hova_emulation_launch *launch = self->block->launch;
  if (address % alignment) {
    fault(self, place,
          "%s %u bytes at an address that is %u more than a "
          "multiple of %u",
          does, bytes, (uint32_t)(address % alignment), alignment);
  }
  const hova_emulation_buffer *nearest = NULL;
  for (uint32_t i = 0; i < launch->buffer_count; ++i) {
    const hova_emulation_buffer *buffer = &launch->buffers[i];
    uint64_t first = (uint64_t)(uintptr_t)buffer->data;
    if (address < first) {
      continue;
    }
    uint64_t at = address - first;
    if (at < buffer->bytes && bytes <= buffer->bytes - at &&
        is_in_row(buffer, at, bytes)) {
      return i;
    }
    if (!nearest || (uintptr_t)buffer->data > (uintptr_t)nearest->data) {
      nearest = buffer;
    }
  }
  report_outside(self, place, does, address, bytes, nearest);
  __builtin_unreachable();
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
  return at;
}

static void read_global(hova_emulated_thread *self, uint32_t agent,
                        uint32_t place, uint64_t address, uint32_t bytes,
                        uint32_t alignment) {
  block *block = self->block;
  uint32_t i = find_buffer(self, place, "reads", address, bytes, alignment);
  const hova_emulation_buffer *buffer = &block->launch->buffers[i];
  if (buffer->use != HOVA_EMULATION_INPUT) {
    note_read(&block->global_shadows[i], self, agent, place,
              address - (uint64_t)(uintptr_t)buffer->data, bytes, buffer->name);
  }
}

const void *hova_emulated_load_global(hova_self *self, uint32_t place,
                                      uint64_t address, uint32_t bytes,
                                      uint32_t alignment) {
  read_global(self, self->index, place, address, bytes, alignment);
  note_traffic(self, place, HOVA_EMULATION_LOADS, address, bytes);
  return (const void *)(uintptr_t)address;
}

void *hova_emulated_store_global(hova_self *self, uint32_t place,
                                 uint64_t address, uint32_t bytes,
                                 uint32_t alignment) {
  block *block = self->block;
  uint32_t i = find_buffer(self, place, "writes", address, bytes, alignment);
  const hova_emulation_buffer *buffer = &block->launch->buffers[i];
  if (buffer->use == HOVA_EMULATION_INPUT) {
    fault(self, place, "writes '%s', which is an input", buffer->name);
  }
  note_write(&block->global_shadows[i], self, self->index, place,
             address - (uint64_t)(uintptr_t)buffer->data, bytes, buffer->name);
  note_traffic(self, place, HOVA_EMULATION_STORES, address, bytes);
  return (void *)(uintptr_t)address;
}

const uint8_t *read_shared(hova_emulated_thread *self, uint32_t place,
                           uint64_t address, uint32_t bytes,
                           uint32_t alignment) {
  uint32_t at = shared_offset(self, place, "reads", address, bytes, alignment);
  note_read(&self->block->shared_shadow, self, self->index, place, at, bytes,
            NULL);
  return self->block->shared + at;
}

const void *hova_emulated_load_shared(hova_self *self, uint32_t place,
                                      uint64_t address, uint32_t bytes,
                                      uint32_t alignment) {
  const uint8_t *from = read_shared(self, place, address, bytes, alignment);
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
  memcpy(target, copy->source, copy->read);
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
  if (read) {
    read_global(self, agent, place, source, read, 1);
    note_traffic(self, place, HOVA_EMULATION_COPIED_FROM, source, read);
  }
  note_write(&block->shared_shadow, self, agent, place, at, bytes, NULL);
  block->report->counts.copied_bytes += read;
  struct copy copy = {at, bytes, read, self->committed + 1,
                      (const uint8_t *)(uintptr_t)source};
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
