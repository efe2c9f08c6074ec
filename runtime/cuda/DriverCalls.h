//===- DriverCalls.h - What is used of the CUDA driver ----------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// The driver's interface as its documentation gives it (CUDA Driver API 12.0),
// so that neither its headers nor its library are needed to build: a program
// looks for the library when it runs. Names that end in _v2 are those that the
// headers mean by the name without; test/runtime/test_driver_calls.py compares
// all of this with a header.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_CUDA_DRIVERCALLS_H
#define HOVA_RUNTIME_CUDA_DRIVERCALLS_H

#include "runtime/Error.h"

#include <stddef.h>
#include <stdint.h>

typedef uint32_t driver_result; ///< 0: done
typedef int driver_device;
typedef unsigned long long driver_pointer;
typedef struct CUctx_st *driver_context;
typedef struct CUmod_st *driver_module;
typedef struct CUfunc_st *driver_function;
typedef struct CUstream_st *driver_stream;
typedef struct CUevent_st *driver_event;
typedef struct CUgraph_st *driver_graph;
typedef struct CUgraphNode_st *driver_node;
typedef struct CUgraphExec_st *driver_exec;

/// CUDA_KERNEL_NODE_PARAMS_v2.
typedef struct driver_kernel_node {
  driver_function function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void **parameters;
  void **extra;
  struct CUkern_st *kernel; ///< in the place of `function`
  driver_context context;   ///< null: the current one
} driver_kernel_node;

/// CUgraphEdgeData.
typedef struct driver_edge {
  unsigned char from_port, to_port;
  unsigned char type;
  unsigned char reserved[5];
} driver_edge;

enum driver_number {
  DRIVER_INVALID_VALUE = 1,
  DRIVER_OUT_OF_MEMORY = 2,
  DRIVER_NO_DEVICE = 100,
  // CUdevice_attribute
  DRIVER_CAPABILITY_MAJOR = 75,
  DRIVER_CAPABILITY_MINOR = 76,
  DRIVER_MOST_SHARED_BYTES = 97,
  // CUfunction_attribute
  DRIVER_MOST_THREADS = 0,
  DRIVER_STATIC_SHARED_BYTES = 1,
  DRIVER_DYNAMIC_SHARED_BYTES = 8,
  DRIVER_SHARED_CARVEOUT = 9, ///< in percent of what there is
  // CUjit_option
  DRIVER_ERROR_LOG = 5,
  DRIVER_ERROR_LOG_BYTES = 6,
  // CUpointer_attribute, CUmemorytype
  DRIVER_POINTER_MEMORY_TYPE = 2,
  DRIVER_POINTER_DEVICE = 9,
  DRIVER_DEVICE_MEMORY = 2,
  // CUgraphDependencyType, CU_GRAPH_KERNEL_NODE_PORT_*: when all blocks have
  // allowed what is behind the edge to begin, or have ended
  DRIVER_PROGRAMMATIC_EDGE = 1,
  DRIVER_PROGRAMMATIC_PORT = 1
};

/// X(name here, name in the library, parameters).
#define HOVA_DRIVER_CALLS(X)                                                   \
  X(initialize, cuInit, (unsigned))                                            \
  X(version, cuDriverGetVersion, (int *))                                      \
  X(error_name, cuGetErrorName, (driver_result, const char **))                \
  X(error_text, cuGetErrorString, (driver_result, const char **))              \
  X(count_devices, cuDeviceGetCount, (int *))                                  \
  X(find_device, cuDeviceGet, (driver_device *, int))                          \
  X(device_name, cuDeviceGetName, (char *, int, driver_device))                \
  X(device_attribute, cuDeviceGetAttribute, (int *, unsigned, driver_device))  \
  X(retain_context, cuDevicePrimaryCtxRetain,                                  \
    (driver_context *, driver_device))                                         \
  X(release_context, cuDevicePrimaryCtxRelease_v2, (driver_device))            \
  X(push_context, cuCtxPushCurrent_v2, (driver_context))                       \
  X(pop_context, cuCtxPopCurrent_v2, (driver_context *))                       \
  X(memory_info, cuMemGetInfo_v2, (size_t *, size_t *))                        \
  X(allocate, cuMemAlloc_v2, (driver_pointer *, size_t))                       \
  X(free, cuMemFree_v2, (driver_pointer))                                      \
  X(copy_to_device, cuMemcpyHtoDAsync_v2,                                      \
    (driver_pointer, const void *, size_t, driver_stream))                     \
  X(copy_to_host, cuMemcpyDtoHAsync_v2,                                        \
    (void *, driver_pointer, size_t, driver_stream))                           \
  X(pointer_attribute, cuPointerGetAttribute,                                  \
    (void *, unsigned, driver_pointer))                                        \
  X(load_module, cuModuleLoadDataEx,                                           \
    (driver_module *, const void *, unsigned, unsigned *, void **))            \
  X(unload_module, cuModuleUnload, (driver_module))                            \
  X(find_function, cuModuleGetFunction,                                        \
    (driver_function *, driver_module, const char *))                          \
  X(function_attribute, cuFuncGetAttribute,                                    \
    (int *, unsigned, driver_function))                                        \
  X(set_function_attribute, cuFuncSetAttribute,                                \
    (driver_function, unsigned, int))                                          \
  X(create_stream, cuStreamCreate, (driver_stream *, unsigned))                \
  X(destroy_stream, cuStreamDestroy_v2, (driver_stream))                       \
  X(synchronize, cuStreamSynchronize, (driver_stream))                         \
  X(create_graph, cuGraphCreate, (driver_graph *, unsigned))                   \
  X(destroy_graph, cuGraphDestroy, (driver_graph))                             \
  X(add_kernel, cuGraphAddKernelNode_v2,                                       \
    (driver_node *, driver_graph, const driver_node *, size_t,                 \
     const driver_kernel_node *))                                              \
  X(instantiate, cuGraphInstantiateWithFlags,                                  \
    (driver_exec *, driver_graph, unsigned long long))                         \
  X(change_kernel, cuGraphExecKernelNodeSetParams_v2,                          \
    (driver_exec, driver_node, const driver_kernel_node *))                    \
  X(launch_graph, cuGraphLaunch, (driver_exec, driver_stream))                 \
  X(destroy_exec, cuGraphExecDestroy, (driver_exec))                           \
  X(launch_kernel, cuLaunchKernel,                                             \
    (driver_function, unsigned, unsigned, unsigned, unsigned, unsigned,        \
     unsigned, unsigned, driver_stream, void **, void **))                     \
  X(create_event, cuEventCreate, (driver_event *, unsigned))                   \
  X(destroy_event, cuEventDestroy_v2, (driver_event))                          \
  X(record_event, cuEventRecord, (driver_event, driver_stream))                \
  X(elapsed_ms, cuEventElapsedTime, (float *, driver_event, driver_event))

/// The same of what later drivers have, which is null in others: since 12.3.
#define HOVA_LATER_DRIVER_CALLS(X)                                             \
  X(add_edges, cuGraphAddDependencies_v2,                                      \
    (driver_graph, const driver_node *, const driver_node *,                   \
     const driver_edge *, size_t))

typedef struct hova_driver {
  void *library; ///< null: not open
#define HOVA_DRIVER_MEMBER(NAME, SYMBOL, PARAMETERS)                           \
  driver_result(*NAME) PARAMETERS;
  HOVA_DRIVER_CALLS(HOVA_DRIVER_MEMBER)
  HOVA_LATER_DRIVER_CALLS(HOVA_DRIVER_MEMBER)
#undef HOVA_DRIVER_MEMBER
} hova_driver;

#ifdef __cplusplus
extern "C" {
#endif

/// Finds the driver, all calls of it, and starts it. The result is to be
/// closed, whatever the status.
hova_status hova_driver_open(hova_driver *driver, hova_error *error);
void hova_driver_close(hova_driver *driver);

/// The status `failure`, with a message such as "cannot DO on NAME: an illegal
/// memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
hova_status hova_driver_fail(const hova_driver *driver, driver_result result,
                             hova_status failure, const char *cannot,
                             const char *name, hova_error *error);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_CUDA_DRIVERCALLS_H
