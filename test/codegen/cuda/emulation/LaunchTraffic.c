//===- LaunchTraffic.c - What the launches of a program ask of memory -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Linked with the object of a program that emulates its GPU, it runs the first
// launch of each kernel alone, and prints a line for it: its name, and of
// loads, stores and asynchronous copies of global memory how many sectors they
// touch, and how few could hold as many bytes. Buffers lie where the program
// has them but for multiples of 256 bytes. Floats are 0, booleans true and ids
// 0: which bytes a kernel reads depends on booleans and ids alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Launches.h"
#include "runtime/emulation/Emulation.h"
#include "runtime/hova_runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Of the object; the linker gives it this name.
extern const hova_program traffic_program;

/// The address of buffers is aligned as far as that of an allocation.
enum { ALIGNMENT = 256 };

static _Noreturn void complain(const char *what) {
  fprintf(stderr, "launch-traffic: %s\n", what);
  exit(1);
}

/// The type of what a launch reads; floats where the program does not say.
static int32_t type_of(uint32_t launch, uint64_t place) {
  const hova_program *program = &traffic_program;
  uint64_t at = place & ~(uint64_t)HOVA_BUFFER_KINDS;
  if ((place & HOVA_BUFFER_KINDS) == HOVA_INPUT) {
    return program->inputs[at >> HOVA_BUFFER_KIND_BITS].dtype;
  }
  for (uint32_t i = 0; i < program->num_values; ++i) {
    const hova_value_info *value = &program->values[i];
    if ((place & HOVA_BUFFER_KINDS) == HOVA_IN_ARENA && value->offset == at &&
        value->kernel <= (int32_t)launch &&
        (int32_t)launch <= value->last_kernel) {
      return value->dtype;
    }
  }
  return HOVA_F32;
}

/// Room for a buffer, with values; `*allocation` is to be freed.
static void *make_buffer(const hova_device_code *code, uint32_t launch,
                         const hova_device_buffer *buffer, void **allocation) {
  uint64_t bytes = hova_buffer_bytes(buffer);
  uint64_t at = buffer->place & ~(uint64_t)HOVA_BUFFER_KINDS;
  uint64_t apart = hova_buffer_is_tensor(buffer) ? 0 : at % ALIGNMENT;
  uint64_t room = (apart + bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
  char *data = aligned_alloc(ALIGNMENT, room);
  if (!data) {
    complain("out of memory for a buffer");
  }
  *allocation = data;
  memset(data, type_of(launch, buffer->place) == HOVA_BOOL, room);
  if ((buffer->place & HOVA_BUFFER_KINDS) == HOVA_IN_TABLES) {
    memcpy(data + apart, (const char *)code->tables + at, bytes);
  }
  return data + apart;
}

static void run_launch(const hova_device_code *code, uint32_t number) {
  const hova_device_launch *launch = &code->launches[number];
  const hova_device_kernel *kernel = &code->kernels[launch->kernel];
  enum { MOST_BUFFERS = 256 };
  if (kernel->num_buffers > MOST_BUFFERS) {
    complain("a kernel takes too many buffers");
  }
  hova_emulation_buffer buffers[MOST_BUFFERS];
  const void *addresses[MOST_BUFFERS], *arguments[MOST_BUFFERS];
  void *allocations[MOST_BUFFERS];
  for (uint32_t i = 0; i < kernel->num_buffers; ++i) {
    const hova_device_buffer *buffer = &launch->buffers[i];
    void *data = make_buffer(code, number, buffer, &allocations[i]);
    addresses[i] = data;
    arguments[i] = &addresses[i];
    buffers[i] = (hova_emulation_buffer){
        .name = "buffer",
        .data = data,
        .bytes = hova_buffer_bytes(buffer),
        .use = buffer->use == HOVA_DEVICE_INPUT    ? HOVA_EMULATION_INPUT
               : buffer->use == HOVA_DEVICE_OUTPUT ? HOVA_EMULATION_OUTPUT
                                                   : HOVA_EMULATION_STATE,
        .row_bytes = buffer->row_bytes,
        .row_stride = buffer->row_stride};
  }
  hova_emulation_launch emulated = {
      .kernel = kernel->emulated,
      .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
      .block = {kernel->threads, 1, 1},
      .dynamic_shared_bytes = kernel->shared_bytes,
      .most_shared_bytes = code->shared_bytes,
      .arguments = arguments,
      .buffers = buffers,
      .buffer_count = kernel->num_buffers,
      .copies = HOVA_EMULATION_LATE,
      .counts_accesses = true};
  hova_emulation_report report;
  if (!hova_emulate(&emulated, &report)) {
    complain(report.message);
  }
  printf("%s", kernel->name);
  for (int access = HOVA_EMULATION_LOADS; access < HOVA_EMULATION_ACCESSES;
       ++access) {
    const hova_emulation_traffic *traffic = &report.counts.accesses[access];
    printf(" %" PRIu64 " %" PRIu64, traffic->used, traffic->least);
  }
  printf("\n");
  for (uint32_t i = 0; i < kernel->num_buffers; ++i) {
    free(allocations[i]);
  }
}

int main(void) {
  const hova_device_code *code = traffic_program.levels[0].device;
  for (uint32_t i = 0; i < code->num_launches; ++i) {
    uint32_t before = 0;
    while (code->launches[before].kernel != code->launches[i].kernel) {
      ++before;
    }
    if (before == i) {
      run_launch(code, i);
    }
  }
  return 0;
}
