//===- Faults.c - What ends a launch --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Block.h"

#include <stdarg.h>
#include <stdio.h>

bool refuse(hova_emulation_report *report, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(report->message, sizeof report->message, format, arguments);
  va_end(arguments);
  return false;
}

static void write_fault(hova_emulated_thread *self, uint32_t place,
                        const char *format, va_list arguments) {
  block *block = self->block;
  const hova_emulated_kernel *kernel = block->launch->kernel;
  char *text = block->report->message;
  size_t room = sizeof block->report->message;
  int used = snprintf(
      text, room,
      "kernel '%s', block (%u, %u, %u), thread (%u, %u, %u): ", kernel->name,
      block->id[0], block->id[1], block->id[2] + self->member, self->id[0],
      self->id[1], self->id[2]);
  if (place != NO_PLACE && used > 0 && (size_t)used < room) {
    used += snprintf(text + used, room - (size_t)used, "'%s' at %s ",
                     operation_of(block, place), location_of(block, place));
  }
  if (used > 0 && (size_t)used < room) {
    vsnprintf(text + used, room - (size_t)used, format, arguments);
  }
  block->failed = true;
}

void report_fault(hova_emulated_thread *self, uint32_t place,
                  const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_fault(self, place, format, arguments);
  va_end(arguments);
}

void fault(hova_emulated_thread *self, uint32_t place, const char *format,
           ...) {
  va_list arguments;
  va_start(arguments, format);
  write_fault(self, place, format, arguments);
  va_end(arguments);
  // Nobody switches to this fiber again.
  switch_stacks(&self->stack_pointer, self->block->scheduler);
  __builtin_unreachable();
}

void lack_memory(hova_emulated_thread *self) {
  self->block->report->out_of_memory = true;
  fault(self, NO_PLACE, "lacks memory of the host");
}
