//===- StandInMachine.h - What the stand-in for a driver keeps --*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_RUNTIME_CUDA_STANDINMACHINE_H
#define HOVA_TEST_RUNTIME_CUDA_STANDINMACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_PARAMETERS = 16, COMMON_SHARED = 48 << 10 };

typedef unsigned long long device_address;

typedef enum kind {
  MEMORY,
  MODULE,
  FUNCTION,
  STREAM,
  EVENT,
  GRAPH,
  NODE,
  EXEC,
  NUM_KINDS
} kind;

/// What a function of a module does.
typedef struct kernel {
  const char *name;
  int parameters;                        ///< addresses
  void (*run)(float *const *parameters); ///< null: what its PTX says
  const char *ptx;                       ///< of the module
  int numbers; ///< of 32 bits, parameters after the addresses
} kernel;

/// A kernel with its arguments.
typedef struct call {
  const kernel *kernel;
  device_address arguments[MOST_PARAMETERS];
  unsigned numbers[MOST_PARAMETERS];
  unsigned grid[3], block[3], shared;
  bool waits;    ///< for launches before it, as its PTX says
  bool overlaps; ///< begins while these may still run
} call;

/// Something that happens when its stream is waited for.
typedef struct operation {
  struct object *stream, *event;
  void *to; ///< of a copy
  const void *from;
  size_t bytes;
  call call;
} operation;

/// Nothing is freed before the end, so that a use after it is seen.
typedef struct object {
  kind kind;
  bool alive;
  struct object *next, *owner;
  char *memory;
  /// Of memory, 1 for each byte that launches which may still run have written;
  /// null: none.
  char *under_way;
  size_t bytes;
  const kernel *function;
  int dynamic_shared, carveout;
  bool waits;            ///< of a function
  struct object *before; ///< of a node
  call call;
  double ms; ///< of an event; negative: has not happened
} object;

/// All there is.
typedef struct machine_state {
  object *objects;
  operation queue[256];
  int queued;
  double clock_ms;
  bool initialized;
  int contexts, pushed; ///< retained, and current
  int capability, device_count;
  int most_shared; ///< bytes of a block; 0: as its capability says
  /// Kernels may ask for any share of shared memory, not for all of it alone.
  bool any_carveout;
  size_t memory;   ///< of the device
  unsigned broken; ///< what every call returns; 0: none is
} machine_state;
extern machine_state machine;

/// Ends the process.
__attribute__((format(printf, 1, 2), noreturn)) void
violation(const char *format, ...);
void demand(bool holds, const char *call, const char *what);

/// What a call has to return before it does anything; 0: it may go on.
unsigned begin_call(const char *call, bool in_context);
/// How often it was begun.
int *count_of(const char *call);

object *make(kind kind, object *owner);
/// The object of a handle, which has not been given back.
object *find(const void *handle, kind kind, const char *call);
/// Gives an object back, and all that it owns.
void give_back(const void *handle, kind kind, const char *call);

size_t used_memory(void);
device_address take_memory(size_t bytes);
void drop_memory(device_address address, const char *call);
/// The memory that holds an address; null: none does.
object *memory_at(device_address address);
/// What lies at `bytes` of device memory.
char *bytes_at(device_address address, size_t bytes, const char *call);

/// The kernel of that name in a module of this PTX; null: none. Machine code
/// has no PTX, and the kernels of the tests alone.
const kernel *find_kernel(const char *name, const char *ptx);
void run_call(const call *made);
/// Whether a kernel of a module has an instruction that waits for launches
/// before its own.
bool kernel_waits(const char *name, const char *ptx);

/// Bytes of shared memory that the device gives to a block.
int most_shared(void);
/// Whether it runs PTX: that of its own capability and of earlier ones, or,
/// with an `a` after the number, of its own alone.
bool runs_text(const char *ptx);

/// A place in the queue of a stream.
operation *put(object *stream, const char *call);
/// Performs all that was put there.
void wait_for(const object *stream);

#endif // HOVA_TEST_RUNTIME_CUDA_STANDINMACHINE_H
