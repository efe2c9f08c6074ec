//===- Buffers.c - Global memory of a launch, and addresses in it ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Buffers.h"

#include "runtime/emulation/Block.h"

#include <stdlib.h>

/// Addresses of one buffer, and where among them its first byte is: half lie
/// before it.
#define ADDRESS_BITS 48
#define MIDDLE (UINT64_C(1) << (ADDRESS_BITS - 1))
#define MOST_BUFFERS ((1u << (64 - ADDRESS_BITS)) - 2)
/// Addresses are as aligned as those of the host, up to this.
#define ALIGNMENT 256u

//===----------------------------------------------------------------------===//
// Checks of a launch
//===----------------------------------------------------------------------===//

static bool is_dense(const hova_emulation_buffer *buffer) {
  return buffer->row_bytes == buffer->row_stride;
}

/// Whether a byte of `buffer` lies in [begin, end).
static bool has_byte_in(const hova_emulation_buffer *buffer, uintptr_t begin,
                        uintptr_t end) {
  uintptr_t first = (uintptr_t)buffer->data, last = first + buffer->bytes;
  if (end <= first || begin >= last) {
    return false;
  }
  if (is_dense(buffer) || begin <= first) {
    return true;
  }
  uintptr_t row =
      first + (begin - first) / buffer->row_stride * buffer->row_stride;
  // The row that `begin` lies in or after, else the one after it.
  return begin < row + buffer->row_bytes ||
         (row + buffer->row_stride < end && row + buffer->row_stride < last);
}

static bool overlap(const hova_emulation_buffer *a,
                    const hova_emulation_buffer *b) {
  uintptr_t first = (uintptr_t)a->data, last = first + a->bytes;
  if (!has_byte_in(b, first, last)) {
    return false;
  }
  size_t row_bytes = is_dense(a) ? a->bytes : a->row_bytes;
  for (uintptr_t row = first; row < last;
       row += is_dense(a) ? a->bytes : a->row_stride) {
    if (has_byte_in(b, row, row + row_bytes)) {
      return true;
    }
  }
  return false;
}

static bool is_same_state(const hova_emulation_buffer *a,
                          const hova_emulation_buffer *b) {
  return a->use == HOVA_EMULATION_STATE && b->use == HOVA_EMULATION_STATE &&
         a->data == b->data && a->bytes == b->bytes &&
         a->row_bytes == b->row_bytes && a->row_stride == b->row_stride;
}

/// Every pointer is to the first byte of the buffer that stands at its place
/// among the pointers, and every buffer is a pointer's.
static bool check_pointers(const hova_emulation_launch *launch,
                           hova_emulation_report *report) {
  const hova_emulated_kernel *kernel = launch->kernel;
  size_t pointers = 0;
  for (uint32_t i = 0; i < kernel->parameter_count; ++i) {
    if (kernel->parameters[i]) {
      continue;
    }
    size_t number = pointers++;
    if (number < launch->buffer_count &&
        *(void *const *)launch->arguments[i] != launch->buffers[number].data) {
      return refuse(report,
                    "kernel '%s': argument %u expects the address of '%s', "
                    "which is buffer %zu",
                    kernel->name, i, launch->buffers[number].name, number);
    }
  }
  return pointers == launch->buffer_count ||
         refuse(report, "kernel '%s': expects %zu buffers, got %zu",
                kernel->name, pointers, launch->buffer_count);
}

bool check_buffers(const hova_emulation_launch *launch,
                   hova_emulation_report *report) {
  if (launch->buffer_count > MOST_BUFFERS) {
    return refuse(report, "kernel '%s': %zu buffers are too many to emulate",
                  launch->kernel->name, launch->buffer_count);
  }
  for (size_t i = 0; i < launch->buffer_count; ++i) {
    const hova_emulation_buffer *buffer = &launch->buffers[i];
    if (!buffer->bytes || buffer->row_bytes > buffer->row_stride ||
        (buffer->row_stride && !buffer->row_bytes)) {
      return refuse(report,
                    "kernel '%s': buffer '%s' expects rows of 1 to %zu bytes, "
                    "got %zu, in %zu bytes",
                    launch->kernel->name, buffer->name, buffer->row_stride,
                    buffer->row_bytes, buffer->bytes);
    }
    if (buffer->settled && buffer->use != HOVA_EMULATION_INPUT) {
      return refuse(report,
                    "kernel '%s': buffer '%s' is settled, so that no launch "
                    "writes it, and is no input",
                    launch->kernel->name, buffer->name);
    }
    for (size_t j = 0; j < i; ++j) {
      const hova_emulation_buffer *other = &launch->buffers[j];
      bool reads =
          buffer->use == HOVA_EMULATION_INPUT && other->use == buffer->use;
      if (!reads && !is_same_state(buffer, other) && overlap(buffer, other)) {
        return refuse(report,
                      "kernel '%s': buffers '%s' and '%s' overlap, and one of "
                      "them is written",
                      launch->kernel->name, other->name, buffer->name);
      }
    }
  }
  return check_pointers(launch, report);
}

//===----------------------------------------------------------------------===//
// Memory of a block
//===----------------------------------------------------------------------===//

/// The shadow that the first of the same states has, else a new one; null
/// where the host has no memory.
static shadow *shadow_of(const block *block, size_t number) {
  const hova_emulation_buffer *buffer = &block->launch->buffers[number];
  for (size_t j = 0; j < number; ++j) {
    if (is_same_state(buffer, block->global[j].buffer)) {
      return block->global[j].shadow;
    }
  }
  shadow *made = calloc(1, sizeof *made);
  if (made &&
      make_shadow(made, buffer->bytes, block->launch->kernel->global_granule)) {
    clear_shadow(made, buffer->use == HOVA_EMULATION_OUTPUT ? NOBODY : HOST);
    return made;
  }
  free(made);
  return NULL;
}

static void set_arguments(block *block) {
  const hova_emulation_launch *launch = block->launch;
  size_t pointers = 0;
  for (uint32_t i = 0; i < launch->kernel->parameter_count; ++i) {
    block->arguments[i] = launch->kernel->parameters[i]
                              ? launch->arguments[i]
                              : &block->global[pointers++].first;
  }
}

bool make_global_memory(block *block) {
  const hova_emulation_launch *launch = block->launch;
  block->global = calloc(launch->buffer_count + 1, sizeof *block->global);
  block->arguments = calloc(launch->kernel->parameter_count + (size_t)1,
                            sizeof *block->arguments);
  if (!block->global || !block->arguments) {
    return false;
  }
  for (size_t i = 0; i < launch->buffer_count; ++i) {
    const hova_emulation_buffer *buffer = &launch->buffers[i];
    global_memory *memory = &block->global[i];
    memory->buffer = buffer;
    memory->first = ((uint64_t)(i + 1) << ADDRESS_BITS) + MIDDLE +
                    (uintptr_t)buffer->data % ALIGNMENT;
    if (buffer->use == HOVA_EMULATION_INPUT) {
      continue;
    }
    memory->shadow = shadow_of(block, i);
    if (!memory->shadow) {
      return false;
    }
  }
  set_arguments(block);
  return true;
}

void free_global_memory(block *block) {
  for (size_t i = 0; block->global && i < block->launch->buffer_count; ++i) {
    shadow *freed = block->global[i].shadow;
    for (size_t j = i + 1; j < block->launch->buffer_count; ++j) {
      block->global[j].shadow =
          block->global[j].shadow == freed ? NULL : block->global[j].shadow;
    }
    if (freed) {
      free_shadow(freed);
      free(freed);
    }
  }
  free(block->global);
  free(block->arguments);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// How many bytes from byte `at` on are the buffer's, before others follow.
static uint64_t count_inside(const hova_emulation_buffer *buffer, int64_t at) {
  if (at < 0 || (uint64_t)at >= buffer->bytes) {
    return 0;
  }
  uint64_t rest = buffer->bytes - (uint64_t)at;
  if (is_dense(buffer)) {
    return rest;
  }
  uint64_t in_row = (uint64_t)at % buffer->row_stride;
  uint64_t of_row = in_row < buffer->row_bytes ? buffer->row_bytes - in_row : 0;
  return of_row < rest ? of_row : rest;
}

/// Says where an access goes that does not stay in its buffer, of which the
/// first `inside` bytes do, and which other buffer is there.
__attribute__((noreturn)) static void
report_outside(hova_emulated_thread *self, uint32_t place, const char *does,
               const global_memory *memory, int64_t at, uint32_t bytes,
               uint64_t inside) {
  const hova_emulation_launch *launch = self->block->launch;
  const hova_emulation_buffer *buffer = memory->buffer, *there = NULL;
  uintptr_t begin = (uintptr_t)buffer->data + (uint64_t)at;
  for (size_t i = 0; i < launch->buffer_count && !there; ++i) {
    const hova_emulation_buffer *other = &launch->buffers[i];
    there = has_byte_in(other, begin + inside, begin + bytes) ? other : NULL;
  }
  const char *before = there ? ": '" : "", *after = there ? "' lies there" : "";
  const char *other = there ? there->name : "";
  if (at >= 0 && (uint64_t)at < buffer->bytes &&
      bytes <= buffer->bytes - (uint64_t)at) {
    fault(self, place,
          "%s %u bytes from byte %lld of '%s' on, whose rows have %zu bytes "
          "every %zu%s%s%s",
          does, bytes, (long long)at, buffer->name, buffer->row_bytes,
          buffer->row_stride, there ? before : ": what lies between them ",
          other, there ? after : "is not its own");
  }
  fault(self, place,
        "%s %u bytes from byte %lld of '%s' on, which has %zu bytes%s%s%s",
        does, bytes, (long long)at, buffer->name, buffer->bytes, before, other,
        after);
}

global_place find_global(hova_emulated_thread *self, uint32_t place,
                         const char *does, uint64_t address, uint32_t bytes,
                         uint32_t alignment) {
  block *block = self->block;
  if (address % alignment) {
    fault(self, place,
          "%s %u bytes at an address that is %u more than a "
          "multiple of %u",
          does, bytes, (uint32_t)(address % alignment), alignment);
  }
  uint64_t number = (address >> ADDRESS_BITS) - 1;
  if (number >= block->launch->buffer_count) {
    fault(self, place, "%s %u bytes at an address that began in no buffer",
          does, bytes);
  }
  const global_memory *memory = &block->global[number];
  int64_t at = (int64_t)(address - memory->first);
  uint64_t inside = count_inside(memory->buffer, at);
  if (inside < bytes) {
    report_outside(self, place, does, memory, at, bytes, inside);
  }
  return (global_place){memory, (uint64_t)at,
                        (uint8_t *)memory->buffer->data + at};
}
