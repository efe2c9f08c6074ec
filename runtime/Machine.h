//===- Machine.h - What runs the kernels of a program -----------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A context is for one kind of machine: the processor, a GPU, or a GPU that the
// processor emulates. What all have in common is in Context.c, which asks for
// the rest by this table. Which machines a program is linked with, best first,
// is said in one place: `hova_machines` (Machines.c).
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_MACHINE_H
#define HOVA_RUNTIME_MACHINE_H

#include "runtime/Bytes.h"
#include "runtime/Error.h"
#include "runtime/Sizes.h"

#include <stdatomic.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How the next runs are looked into.
typedef struct hova_watch {
  hova_hook_fn *hook; ///< null: none
  void *user;
  uint64_t *times;              ///< null: none
  uint64_t *spans;              ///< null: none
  int64_t only;                 ///< the one launch to execute; negative: all
  hova_intercept_fn *intercept; ///< null: none
  void *interceptor;
} hova_watch;

typedef struct hova_machine {
  /// As `hova compile` names the target.
  const char *target;
  /// Whether it has devices and streams, and no threads.
  bool is_gpu;
  /// Whether the code of a level is for it.
  bool (*fits)(const hova_level *level);
  /// A context, all zero but for what it needs to be destroyed; null: there is
  /// no memory.
  hova_context *(*make)(const hova_program *program);
  /// Finds such a machine and picks the best level that it can run.
  /// HOVA_REJECTED where there is none.
  hova_status (*find)(hova_context *context, const hova_options *options);
  /// Checks the options and prepares all runs.
  hova_status (*start)(hova_context *context, const hova_options *options);
  /// Checks the call, then runs. The sizes have been found and are in the
  /// ranges of the program.
  hova_status (*run)(hova_context *context, const hova_sizes *sizes,
                     const hova_tensor *inputs, const hova_tensor *outputs);
  void (*destroy)(hova_context *context);
  /// What people call the machine that was found.
  const char *(*name_of)(const hova_context *context);
  // Those of hova_runtime.h.
  int32_t (*threads_of)(const hova_context *context);
  const char *(*arena_of)(const hova_context *context);
  uint64_t (*memory_of)(const hova_context *context);
  hova_status (*read_arena)(hova_context *context, uint64_t offset,
                            uint64_t bytes, void *to);
  hova_status (*poison)(hova_context *context);
  void (*flush_caches)(const hova_context *context);
  const hova_inspection *inspection;
} hova_machine;

/// What code for a processor may use here: the features of the machine, less
/// those whose registers the system refuses to this process. Asks for them
/// where a level of the program needs them.
uint64_t hova_usable_features(const hova_program *program);

/// Writes the names of features, as LLVM has them, comma separated.
void hova_list_features(char *text, size_t size, uint64_t features);

/// The start of every context.
struct hova_context {
  const hova_machine *machine;
  const hova_program *program;
  const hova_level *level; ///< once the machine is found
  hova_watch *watch;       ///< in what the machine runs
  hova_span image; ///< mapped by this context; empty where the caller owns it
  const char *weights; ///< of the image
  atomic_flag running;
  hova_error error;
};

extern const hova_machine hova_cpu_machine;
/// A GPU, or in programs that emulate one that.
extern const hova_machine hova_gpu_machine;

/// Those that the program is linked with, best first; null after the last.
extern const hova_machine *const hova_machines[];

/// The machine that code of the program is for, of those that it is linked
/// with; the first of these where it is for none.
const hova_machine *hova_machine_for(const hova_program *program);

/// Sets what functions of Machine.inspection are for every machine.
#define HOVA_INSPECTION(SET_ORDER, SET_SUMS, SET_APPROXIMATIONS)               \
  {hova_read_arena, hova_poison, hova_set_hook,     hova_set_intercept,        \
   SET_ORDER,       SET_SUMS,    SET_APPROXIMATIONS}

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_MACHINE_H
