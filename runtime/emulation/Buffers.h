//===- Buffers.h - Global memory of a launch, and addresses in it ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is given no addresses of the host. Its addresses have the number of
// the buffer that they began in above bit 48, and below it how far from that
// buffer they are: whatever is added to one, it stays an address of its buffer.
// So an access that leaves a buffer is a fault even where another one of the
// launch lies, as values do in one piece of memory.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_EMULATION_BUFFERS_H
#define HOVA_RUNTIME_EMULATION_BUFFERS_H

#include "runtime/emulation/Shadow.h"

struct block;

/// A buffer of a launch as its blocks see it.
typedef struct global_memory {
  const hova_emulation_buffer *buffer;
  uint64_t first; ///< the address of its first byte, aligned as that is
  shadow *shadow; ///< null: it is only read; of the same states one for all
} global_memory;

/// Where an access goes.
typedef struct global_place {
  const global_memory *memory;
  uint64_t at; ///< from its first byte on
  void *data;  ///< of the host
} global_place;

/// Whether buffers and pointers are what hova_emulation_launch asks for; says
/// so in the report if not.
bool check_buffers(const hova_emulation_launch *launch,
                   hova_emulation_report *report);

/// What belongs to buffers of a block, and the arguments of its threads. False
/// where the host has no memory.
bool make_global_memory(struct block *block);
void free_global_memory(struct block *block);

/// Where all of `bytes` from `address` on are. A fault if that is not in the
/// buffer that the address began in, or the address is no multiple of
/// `alignment`.
global_place find_global(hova_emulated_thread *self, uint32_t place,
                         const char *does, uint64_t address, uint32_t bytes,
                         uint32_t alignment);

#endif // HOVA_RUNTIME_EMULATION_BUFFERS_H
