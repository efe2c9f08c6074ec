//===- StandInMachine.c - What the stand-in for a driver keeps ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StandInMachine.h"

#include "StandInDriver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Added to addresses of the host, so that the processor cannot use them.
#define DEVICE_BASE (1ull << 62)

machine_state machine = {
    .capability = 80, .device_count = 1, .memory = 1 << 20};
static char failing[64];
static int fails_at;
static unsigned fails_with;
static struct {
  char name[48];
  int count;
} counted[64];
static const char *const kind_names[] = {"memory", "module",    "function",
                                         "stream", "event",     "graph",
                                         "node",   "graph exec"};

void violation(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "stand-in driver: ");
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n");
  abort();
}

void demand(bool holds, const char *call, const char *what) {
  if (!holds) {
    violation("%s: %s", call, what);
  }
}

int *count_of(const char *call) {
  for (int i = 0;; ++i) {
    demand(i < 64, call, "too many calls to count");
    if (!counted[i].name[0]) {
      snprintf(counted[i].name, sizeof counted[i].name, "%s", call);
    }
    if (strcmp(counted[i].name, call) == 0) {
      return &counted[i].count;
    }
  }
}

unsigned begin_call(const char *call, bool in_context) {
  ++*count_of(call);
  if (machine.broken) {
    return machine.broken;
  }
  if (failing[0] && strcmp(call, failing) == 0 && --fails_at == 0) {
    failing[0] = '\0';
    return fails_with;
  }
  demand(machine.initialized, call, "before cuInit");
  demand(!in_context || machine.pushed > 0, call, "without a current context");
  return 0;
}

//===----------------------------------------------------------------------===//
// Objects and memory
//===----------------------------------------------------------------------===//

object *make(kind kind, object *owner) {
  object *made = calloc(1, sizeof *made);
  *made = (object){.kind = kind,
                   .alive = true,
                   .next = machine.objects,
                   .owner = owner,
                   .ms = -1};
  machine.objects = made;
  return made;
}

object *find(const void *handle, kind kind, const char *call) {
  for (object *at = machine.objects; at; at = at->next) {
    if (at == handle && at->kind == kind) {
      demand(at->alive, call, "uses what was given back");
      return at;
    }
  }
  violation("%s: %p is no %s", call, handle, kind_names[kind]);
}

void give_back(const void *handle, kind kind, const char *call) {
  object *gone = find(handle, kind, call);
  gone->alive = false;
  for (object *at = machine.objects; at; at = at->next) {
    at->alive &= at->owner != gone;
  }
}

object *memory_at(device_address address) {
  for (object *at = machine.objects; at; at = at->next) {
    if (at->kind == MEMORY && at->alive &&
        address - DEVICE_BASE - (uintptr_t)at->memory < at->bytes) {
      return at;
    }
  }
  return NULL;
}

char *bytes_at(device_address address, size_t bytes, const char *call) {
  const object *memory = memory_at(address);
  size_t offset =
      memory ? address - DEVICE_BASE - (uintptr_t)memory->memory : 0;
  if (!memory || bytes > memory->bytes - offset) {
    violation("%s: %zu bytes at 0x%llx are no device memory", call, bytes,
              address);
  }
  return memory->memory + offset;
}

size_t used_memory(void) {
  size_t used = 0;
  for (object *at = machine.objects; at; at = at->next) {
    used += at->kind == MEMORY && at->alive ? at->bytes : 0;
  }
  return used;
}

device_address take_memory(size_t bytes) {
  object *made = make(MEMORY, NULL);
  made->memory = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
  made->bytes = bytes;
  memset(made->memory, 0xFF, bytes);
  return (uintptr_t)made->memory + DEVICE_BASE;
}

void drop_memory(device_address address, const char *call) {
  demand(machine.queued == 0, call, "while something is in the queue");
  for (object *at = machine.objects; at; at = at->next) {
    if (at->kind == MEMORY && at->alive &&
        (uintptr_t)at->memory + DEVICE_BASE == address) {
      at->alive = false;
      return;
    }
  }
  violation("%s: 0x%llx is no memory, or was freed already", call, address);
}

int most_shared(void) {
  if (machine.most_shared) {
    return machine.most_shared;
  }
  switch (machine.capability) {
  case 86:
  case 89:
  case 120:
    return 99 << 10;
  case 90:
    return 227 << 10;
  default:
    return 163 << 10;
  }
}

bool runs_text(const char *ptx) {
  const char *target = strstr(ptx, ".target sm_");
  int number = 0, length = 0;
  if (!target || sscanf(target, ".target sm_%d%n", &number, &length) != 1) {
    return false;
  }
  return target[length] == 'a' ? number == machine.capability
                               : number <= machine.capability;
}

//===----------------------------------------------------------------------===//
// The queue
//===----------------------------------------------------------------------===//

operation *put(object *stream, const char *call) {
  demand(machine.queued < 256, call, "too much in the queue");
  machine.queue[machine.queued] = (operation){.stream = stream};
  return &machine.queue[machine.queued++];
}

static void perform(const operation *made) {
  if (made->bytes) {
    memcpy(made->to, made->from, made->bytes);
  }
  if (made->call.kernel) {
    run_call(&made->call);
    machine.clock_ms += 0.5;
  }
  if (made->event) {
    made->event->ms = machine.clock_ms;
  }
}

void wait_for(const object *stream) {
  int kept = 0;
  for (int i = 0; i < machine.queued; ++i) {
    if (machine.queue[i].stream == stream) {
      perform(&machine.queue[i]);
    } else {
      machine.queue[kept++] = machine.queue[i];
    }
  }
  machine.queued = kept;
}

//===----------------------------------------------------------------------===//
// For tests
//===----------------------------------------------------------------------===//

void stand_in_fail(const char *call, int at, unsigned code) {
  snprintf(failing, sizeof failing, "%s", call ? call : "");
  fails_at = at;
  fails_with = code;
}

void stand_in_break(unsigned code) { machine.broken = code; }

void stand_in_set_device(int number, size_t memory, int count) {
  machine.capability = number;
  machine.memory = memory;
  machine.device_count = count;
}

int stand_in_live(void) {
  int live = machine.contexts + machine.pushed + machine.queued;
  for (object *at = machine.objects; at; at = at->next) {
    live += at->alive;
  }
  return live;
}

int stand_in_calls(const char *call) { return *count_of(call); }

void *stand_in_allocate(size_t bytes) {
  return (void *)(uintptr_t)take_memory(bytes);
}

void stand_in_free(void *memory) { drop_memory((uintptr_t)memory, __func__); }

void stand_in_write(void *memory, const void *from, size_t bytes) {
  memcpy(bytes_at((uintptr_t)memory, bytes, __func__), from, bytes);
}

void stand_in_read(void *to, const void *memory, size_t bytes) {
  memcpy(to, bytes_at((uintptr_t)memory, bytes, __func__), bytes);
}

__attribute__((constructor)) static void read_environment(void) {
  const char *fail = getenv("STAND_IN_FAIL");
  if (fail &&
      sscanf(fail, "%63[^:]:%d:%u", failing, &fails_at, &fails_with) != 3) {
    violation("STAND_IN_FAIL expects CALL:N:CODE, got %s", fail);
  }
  const char *number = getenv("STAND_IN_CAPABILITY");
  machine.capability = number ? atoi(number) : machine.capability;
  number = getenv("STAND_IN_SHARED");
  machine.most_shared = number ? atoi(number) : machine.most_shared;
  machine.any_carveout = getenv("STAND_IN_ANY_CARVEOUT") != NULL;
  number = getenv("STAND_IN_MEMORY");
  machine.memory = number ? (size_t)atoll(number) : machine.memory;
  number = getenv("STAND_IN_DEVICES");
  machine.device_count = number ? atoi(number) : machine.device_count;
}

/// What is left at the end is a leak.
__attribute__((destructor)) static void count_leaks(void) {
  if (stand_in_live()) {
    fprintf(stderr, "stand-in driver: %d objects were not given back\n",
            stand_in_live());
    _exit(99);
  }
  while (machine.objects) {
    object *next = machine.objects->next;
    if (machine.objects->kind == MEMORY) {
      free(machine.objects->memory);
    }
    free(machine.objects->under_way);
    free(machine.objects);
    machine.objects = next;
  }
}
