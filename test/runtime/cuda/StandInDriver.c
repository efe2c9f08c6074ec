//===- StandInDriver.c - A driver of GPUs without a GPU -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Written from the documentation of the CUDA Driver API, and from nothing in
// runtime/cuda. With WITH_CUDA_H the declarations are those of NVIDIA's header,
// which says whether the definitions below are the same.
//
//===----------------------------------------------------------------------===//

#include "StandInDriver.h"
#include "StandInMachine.h"

#include <stdio.h>
#include <string.h>

#ifdef WITH_CUDA_H
#include <cuda.h>
#define CODE(NUMBER) ((CUresult)(NUMBER))
#else
#define CODE(NUMBER) (NUMBER)
typedef unsigned CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef unsigned CUdevice_attribute, CUfunction_attribute, CUjit_option,
    CUpointer_attribute;
typedef struct {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams, **extra;
  struct CUkern_st *kern;
  CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct {
  unsigned char from_port, to_port, type, reserved[5];
} CUgraphEdgeData;
enum { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
#endif

#define ENTER(IN_CONTEXT)                                                      \
  do {                                                                         \
    unsigned early = begin_call(__func__, IN_CONTEXT);                         \
    if (early) {                                                               \
      return CODE(early);                                                      \
    }                                                                          \
  } while (0)

static call check_call(const CUDA_KERNEL_NODE_PARAMS *made, const char *name) {
  const object *function = find(made->func, FUNCTION, name);
  demand(!made->kern && !made->ctx && !made->extra, name,
         "a function has other things beside it");
  demand(made->gridDimX >= 1 && made->gridDimY >= 1 && made->gridDimZ >= 1 &&
             made->gridDimX <= INT32_MAX && made->gridDimY <= 65535 &&
             made->gridDimZ <= 65535,
         name, "the grid is no grid");
  demand(made->blockDimX >= 1 && made->blockDimX <= 1024 &&
             made->blockDimY >= 1 && made->blockDimY <= 1024 &&
             made->blockDimZ >= 1 && made->blockDimZ <= 64 &&
             made->blockDimX * made->blockDimY * made->blockDimZ <= 1024,
         name, "the block is no block");
  demand((int)made->sharedMemBytes <= function->dynamic_shared, name,
         "more shared memory than was asked for");
  demand(function->carveout == 100 ||
             (machine.any_carveout && function->carveout >= 0),
         name, "another share of shared memory");
  call checked = {
      .kernel = function->function,
      .grid = {made->gridDimX, made->gridDimY, made->gridDimZ},
      .block = {made->blockDimX, made->blockDimY, made->blockDimZ},
      .shared = made->sharedMemBytes,
      .waits = function->waits,
  };
  for (int i = 0; i < function->function->parameters; ++i) {
    memcpy(&checked.arguments[i], made->kernelParams[i], 8);
    bytes_at(checked.arguments[i], 1, name);
  }
  for (int i = 0; i < function->function->numbers; ++i) {
    memcpy(&checked.numbers[i],
           made->kernelParams[function->function->parameters + i], 4);
  }
  return checked;
}

static object *stream_of(CUstream stream, const char *call) {
  return find(stream, STREAM, call);
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

static const char *const device_name = "Stand-in GPU";
/// The one context; never looked into.
static char the_context[1];

STAND_IN CUresult cuInit(unsigned flags) {
  if (machine.broken) {
    return CODE(machine.broken);
  }
  machine.initialized = true;
  ENTER(false);
  demand(flags == 0, __func__, "flags");
  return CODE(machine.device_count ? 0 : 100);
}

STAND_IN CUresult cuDriverGetVersion(int *version) {
  *version = 12040;
  return CODE(0);
}

STAND_IN CUresult cuGetErrorName(CUresult code, const char **text) {
  *text = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_TEST";
  return CODE(code == 999 ? 1 : 0);
}

STAND_IN CUresult cuGetErrorString(CUresult code, const char **text) {
  *text = code == 700 ? "an illegal memory access was encountered"
                      : "a test wants it so";
  return CODE(code == 999 ? 1 : 0);
}

STAND_IN CUresult cuDeviceGetCount(int *count) {
  ENTER(false);
  *count = machine.device_count;
  return CODE(0);
}

STAND_IN CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  ENTER(false);
  demand(ordinal >= 0 && ordinal < machine.device_count, __func__,
         "no such device");
  *device = ordinal;
  return CODE(0);
}

STAND_IN CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  ENTER(false);
  (void)device;
  snprintf(name, (size_t)length, "%s", device_name);
  return CODE(0);
}

STAND_IN CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                       CUdevice device) {
  ENTER(false);
  (void)device;
  switch ((int)attribute) {
  case 16: // multiprocessors
    *value = 2;
    return CODE(0);
  case 75:
    *value = machine.capability / 10;
    return CODE(0);
  case 76:
    *value = machine.capability % 10;
    return CODE(0);
  case 97:
    *value = most_shared();
    return CODE(0);
  default:
    violation("cuDeviceGetAttribute: attribute %d", (int)attribute);
  }
}

STAND_IN CUresult cuDevicePrimaryCtxRetain(CUcontext *context,
                                           CUdevice device) {
  ENTER(false);
  demand(device >= 0 && device < machine.device_count, __func__,
         "no such device");
  ++machine.contexts;
  *context = (CUcontext)(void *)the_context;
  return CODE(0);
}

STAND_IN CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  ENTER(false);
  (void)device;
  demand(machine.contexts-- > 0, __func__, "released more often than retained");
  return CODE(0);
}

STAND_IN CUresult cuCtxPushCurrent_v2(CUcontext context) {
  ENTER(false);
  demand((void *)context == the_context && machine.contexts > 0, __func__,
         "no context");
  ++machine.pushed;
  return CODE(0);
}

STAND_IN CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  ++*count_of(__func__);
  demand(machine.pushed-- > 0, __func__, "popped more often than pushed");
  *context = (CUcontext)(void *)the_context;
  return CODE(0);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

STAND_IN CUresult cuMemGetInfo_v2(size_t *unused, size_t *all) {
  ENTER(true);
  *all = machine.memory;
  *unused = machine.memory - used_memory();
  return CODE(0);
}

STAND_IN CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  ENTER(true);
  demand(bytes > 0, __func__, "nothing");
  if (bytes > machine.memory - used_memory()) {
    return CODE(2);
  }
  *address = take_memory(bytes);
  return CODE(0);
}

STAND_IN CUresult cuMemFree_v2(CUdeviceptr address) {
  ENTER(true);
  drop_memory(address, __func__);
  return CODE(0);
}

STAND_IN CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from,
                                       size_t bytes, CUstream stream) {
  ENTER(true);
  operation *made = put(stream_of(stream, __func__), __func__);
  made->to = bytes_at(to, bytes, __func__);
  made->from = from;
  made->bytes = bytes;
  return CODE(0);
}

STAND_IN CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                                       CUstream stream) {
  ENTER(true);
  operation *made = put(stream_of(stream, __func__), __func__);
  made->from = bytes_at(from, bytes, __func__);
  made->to = to;
  made->bytes = bytes;
  return CODE(0);
}

STAND_IN CUresult cuPointerGetAttribute(void *value,
                                        CUpointer_attribute attribute,
                                        CUdeviceptr address) {
  ENTER(true);
  demand(attribute == 2 || attribute == 9, __func__, "attribute");
  if (!memory_at(address)) {
    return CODE(1);
  }
  *(int *)value = attribute == 2 ? 2 : 0;
  return CODE(0);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

STAND_IN CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                     unsigned count, CUjit_option *options,
                                     void **values) {
  ENTER(true);
  const char *text = image;
  bool is_text = strstr(text, ".version") != NULL;
  bool is_code = memcmp(text, "\177ELF", 4) == 0;
  if (!is_code && (!is_text || strstr(text, "nonsense"))) {
    demand(count == 2 && options[0] == CU_JIT_ERROR_LOG_BUFFER &&
               options[1] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
           __func__, "no room for a log");
    snprintf(values[0], (size_t)(uintptr_t)values[1],
             "ptxas application ptx input, line 3\nfatal   : Parsing error\n");
    return CODE(218);
  }
  // What an assembler made nobody executes here: the text is to be taken.
  if (is_code ? text[4] != '\0' : !runs_text(text)) {
    return CODE(209);
  }
  object *made = make(MODULE, NULL);
  made->memory = (char *)text;
  *module = (CUmodule)(void *)made;
  return CODE(0);
}

STAND_IN CUresult cuModuleUnload(CUmodule module) {
  ENTER(true);
  demand(machine.queued == 0, __func__, "while something is in the queue");
  give_back(module, MODULE, __func__);
  return CODE(0);
}

STAND_IN CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                      const char *name) {
  ENTER(true);
  object *owner = find(module, MODULE, __func__);
  bool is_code = owner->memory[0] == '\177';
  const kernel *found = find_kernel(name, is_code ? NULL : owner->memory);
  if (!found) {
    return CODE(500);
  }
  object *made = make(FUNCTION, owner);
  made->function = found;
  made->dynamic_shared = COMMON_SHARED;
  made->carveout = -1;
  // Of machine code nobody here knows.
  made->waits = is_code || kernel_waits(name, owner->memory);
  *function = (CUfunction)(void *)made;
  return CODE(0);
}

STAND_IN CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                     CUfunction function) {
  ENTER(true);
  find(function, FUNCTION, __func__);
  demand(attribute == 0 || attribute == 1, __func__, "attribute");
  *value = attribute == 0 ? 256 : 0;
  return CODE(0);
}

STAND_IN CUresult cuFuncSetAttribute(CUfunction function,
                                     CUfunction_attribute attribute,
                                     int value) {
  ENTER(true);
  object *of = find(function, FUNCTION, __func__);
  demand(attribute == 8 || attribute == 9, __func__, "attribute");
  if (attribute == 9) {
    demand(value >= 0 && value <= 100, __func__, "percent");
    of->carveout = value;
    return CODE(0);
  }
  demand(value >= 0 && value <= most_shared(), __func__, "bytes");
  of->dynamic_shared = value;
  return CODE(0);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

STAND_IN CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  ENTER(true);
  demand(flags == 0, __func__, "flags");
  *stream = (CUstream)(void *)make(STREAM, NULL);
  return CODE(0);
}

STAND_IN CUresult cuStreamDestroy_v2(CUstream stream) {
  ENTER(true);
  demand(machine.queued == 0, __func__, "while something is in the queue");
  give_back(stream, STREAM, __func__);
  return CODE(0);
}

STAND_IN CUresult cuStreamSynchronize(CUstream stream) {
  ENTER(true);
  wait_for(stream_of(stream, __func__));
  return CODE(0);
}

STAND_IN CUresult cuEventCreate(CUevent *event, unsigned flags) {
  ENTER(true);
  demand(flags == 0, __func__, "flags");
  *event = (CUevent)(void *)make(EVENT, NULL);
  return CODE(0);
}

STAND_IN CUresult cuEventDestroy_v2(CUevent event) {
  ENTER(true);
  give_back(event, EVENT, __func__);
  return CODE(0);
}

STAND_IN CUresult cuEventRecord(CUevent event, CUstream stream) {
  ENTER(true);
  object *recorded = find(event, EVENT, __func__);
  recorded->ms = -1;
  put(stream_of(stream, __func__), __func__)->event = recorded;
  return CODE(0);
}

STAND_IN CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
  ENTER(true);
  const object *start = find(from, EVENT, __func__);
  const object *end = find(to, EVENT, __func__);
  demand(start->ms >= 0 && end->ms >= 0, __func__, "has not happened");
  *ms = (float)(end->ms - start->ms);
  return CODE(0);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

STAND_IN CUresult cuLaunchKernel(CUfunction function, unsigned grid_x,
                                 unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared,
                                 CUstream stream, void **parameters,
                                 void **extra) {
  ENTER(true);
  CUDA_KERNEL_NODE_PARAMS made = {function,   grid_x,  grid_y,  grid_z,
                                  block_x,    block_y, block_z, shared,
                                  parameters, extra,   NULL,    NULL};
  call checked = check_call(&made, __func__);
  put(stream_of(stream, __func__), __func__)->call = checked;
  return CODE(0);
}

STAND_IN CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  ENTER(false);
  demand(flags == 0, __func__, "flags");
  *graph = (CUgraph)(void *)make(GRAPH, NULL);
  return CODE(0);
}

STAND_IN CUresult cuGraphDestroy(CUgraph graph) {
  ENTER(false);
  give_back(graph, GRAPH, __func__);
  return CODE(0);
}

STAND_IN CUresult cuGraphAddKernelNode_v2(
    CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
    const CUDA_KERNEL_NODE_PARAMS *parameters) {
  ENTER(true);
  object *owner = find(graph, GRAPH, __func__);
  demand(count <= 1 && (count == 0) == (before == NULL), __func__,
         "dependencies");
  object *earlier = count ? find(before[0], NODE, __func__) : NULL;
  demand(!earlier || earlier->owner == owner, __func__,
         "depends on another graph");
  call checked = check_call(parameters, __func__);
  object *made = make(NODE, owner);
  made->before = earlier;
  made->call = checked;
  *node = (CUgraphNode)(void *)made;
  return CODE(0);
}

/// Both kinds of edges: the later node begins when the earlier one has ended
/// (0), or when all of its blocks have allowed it (1), and then it waits
/// itself.
STAND_IN CUresult cuGraphAddDependencies_v2(CUgraph graph,
                                            const CUgraphNode *from,
                                            const CUgraphNode *to,
                                            const CUgraphEdgeData *edges,
                                            size_t count) {
  ENTER(true);
  const object *owner = find(graph, GRAPH, __func__);
  demand(count == 1, __func__, "edges");
  object *earlier = find(from[0], NODE, __func__);
  object *later = find(to[0], NODE, __func__);
  demand(earlier->owner == owner && later->owner == owner && earlier != later,
         __func__, "nodes of another graph");
  demand(!later->before, __func__, "depends on two nodes");
  const CUgraphEdgeData edge = edges ? edges[0] : (CUgraphEdgeData){0};
  for (size_t i = 0; i < sizeof edge.reserved; ++i) {
    demand(edge.reserved[i] == 0, __func__, "reserved bytes of an edge");
  }
  demand(edge.to_port == 0 && edge.type <= 1 && edge.from_port == edge.type,
         __func__, "a kind of edge, and the port of another");
  demand(edge.type == 0 || machine.capability >= 90, __func__,
         "a programmatic edge before 9.0");
  demand(edge.type == 0 || later->call.waits, __func__,
         "a kernel that does not wait stands behind a programmatic edge");
  later->before = earlier;
  later->call.overlaps = edge.type == 1;
  return CODE(0);
}

/// The nodes of an exec are copies, whose `before` is the node that they copy.
STAND_IN CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                              unsigned long long flags) {
  ENTER(true);
  demand(flags == 0, __func__, "flags");
  object *from = find(graph, GRAPH, __func__);
  object *made = make(EXEC, from);
  made->owner = NULL;
  // Last added first: what depends on nothing runs in the wrong order.
  object *first = machine.objects;
  for (object *at = first; at; at = at->next) {
    if (at->kind == NODE && at->alive && at->owner == from) {
      object *copy = make(NODE, made);
      copy->before = at;
      copy->call = at->call;
    }
  }
  *exec = (CUgraphExec)(void *)made;
  return CODE(0);
}

STAND_IN CUresult
cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS *parameters) {
  ENTER(true);
  const object *owner = find(exec, EXEC, __func__);
  const object *original = find(node, NODE, __func__);
  call checked = check_call(parameters, __func__);
  for (object *at = machine.objects; at; at = at->next) {
    if (at->kind == NODE && at->owner == owner && at->before == original) {
      checked.overlaps = at->call.overlaps;
      at->call = checked;
      return CODE(0);
    }
  }
  violation("%s: the node is none of this graph", __func__);
}

static object *copy_in(const object *exec, const object *original) {
  for (object *at = machine.objects; at; at = at->next) {
    if (at->kind == NODE && at->owner == exec && at->before == original) {
      return at;
    }
  }
  return NULL;
}

/// Puts a node in the queue after what it depends on.
static void put_node(CUstream stream, object *exec, object *node, bool *done,
                     object **nodes, int count) {
  int index = 0;
  while (index < count && nodes[index] != node) {
    ++index;
  }
  if (done[index]) {
    return;
  }
  done[index] = true;
  if (node->before->before) {
    put_node(stream, exec, copy_in(exec, node->before->before), done, nodes,
             count);
  }
  put(stream_of(stream, "cuGraphLaunch"), "cuGraphLaunch")->call = node->call;
}

STAND_IN CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  ENTER(true);
  object *owner = find(exec, EXEC, __func__);
  object *nodes[64];
  bool done[64] = {false};
  int count = 0;
  // Newest object first. Copies were made last node first, so that the list has
  // the first node first; walk it from its end.
  for (object *at = machine.objects; at; at = at->next) {
    if (at->kind == NODE && at->alive && at->owner == owner) {
      demand(count < 64, __func__, "too many nodes");
      nodes[count++] = at;
    }
  }
  for (int i = count - 1; i >= 0; --i) {
    put_node(stream, owner, nodes[i], done, nodes, count);
  }
  return CODE(0);
}

STAND_IN CUresult cuGraphExecDestroy(CUgraphExec exec) {
  ENTER(false);
  give_back(exec, EXEC, __func__);
  return CODE(0);
}
