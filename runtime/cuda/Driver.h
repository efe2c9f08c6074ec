//===- Driver.h - A GPU that the CUDA driver runs ---------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_CUDA_DRIVER_H
#define HOVA_RUNTIME_CUDA_DRIVER_H

#include "runtime/cuda/Device.h"
#include "runtime/cuda/DriverCalls.h"

#include <sys/types.h>

/// A launch as the driver takes it.
typedef struct hova_driver_launch {
  driver_kernel_node call; ///< its parameters point into `addresses`
  driver_node node;
  bool has_tensors; ///< whose addresses a run may change
} hova_driver_launch;

struct hova_gpu {
  hova_driver driver;
  pid_t process; ///< that opened it: no other can use it
  driver_device device;
  int32_t ordinal;
  uint32_t capability;
  int most_shared; ///< bytes that a block may have
  char name[128];
  driver_context context; ///< null: not retained
  driver_stream stream;
  bool owns_stream;
  driver_pointer memory; ///< 0: none
  driver_module module;
  driver_graph graph;
  driver_exec exec;
  const hova_program *program;
  const hova_device_code *code;
  const hova_places *places;
  hova_driver_launch *launches;
  driver_function *functions;    ///< of each kernel
  driver_pointer *addresses;     ///< of all buffers of all launches
  void **parameters;             ///< of all launches
  hova_device_address *recorded; ///< of the tensors, when they were last given
  hova_kernel_sizes sizes;       ///< of the run that the graph is for
  uint32_t longest, longest_other;
  driver_event *events; ///< null until a run is timed
};

/// The GPU's context is current between the two; every entry is left.
hova_status hova_driver_enter(hova_gpu *gpu, hova_error *error);
void hova_driver_leave(hova_gpu *gpu);

/// Loads the module and finds its kernels.
hova_status hova_driver_load_module(hova_gpu *gpu, hova_error *error);

/// The same as hova_driver_fail, of this GPU.
hova_status hova_gpu_fail(const hova_gpu *gpu, driver_result result,
                          hova_status failure, const char *cannot,
                          hova_error *error);

#endif // HOVA_RUNTIME_CUDA_DRIVER_H
