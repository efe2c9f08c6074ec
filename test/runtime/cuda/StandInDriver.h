//===- StandInDriver.h - A driver of GPUs without a GPU ---------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 for tests. It keeps memory, modules, graphs and streams on the
// host and is stricter than a driver: what an application must not do ends the
// process with a sentence. What is put on a stream happens when somebody waits
// for the stream, and not before. Kernels are those of DeviceFixture.c, by
// name, written again as plain loops.
//
// The environment may say, when a process begins: STAND_IN_FAIL=CALL:N:CODE
// (the Nth call of CALL returns CODE), STAND_IN_CAPABILITY=75,
// STAND_IN_MEMORY=BYTES, STAND_IN_DEVICES=COUNT, STAND_IN_ANY_CARVEOUT=1 (of
// probes: what hova compiles asks for the largest share of shared memory).
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TEST_RUNTIME_CUDA_STANDINDRIVER_H
#define HOVA_TEST_RUNTIME_CUDA_STANDINDRIVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STAND_IN __attribute__((visibility("default")))

/// The next calls of `call` are counted; that of number `at` (1 is the first)
/// returns `code`. Null: none fails.
STAND_IN void stand_in_fail(const char *call, int at, unsigned code);
/// All later calls return `code`, as after a fault of a kernel; 0: no more.
STAND_IN void stand_in_break(unsigned code);
STAND_IN void stand_in_set_device(int capability, size_t memory, int count);
/// Objects and allocations that were made and not given back.
STAND_IN int stand_in_live(void);
/// Calls of `call` until now.
STAND_IN int stand_in_calls(const char *call);
/// Allocates device memory, and copies to and from it.
STAND_IN void *stand_in_allocate(size_t bytes);
STAND_IN void stand_in_free(void *memory);
STAND_IN void stand_in_write(void *memory, const void *from, size_t bytes);
STAND_IN void stand_in_read(void *to, const void *memory, size_t bytes);

// What a caller who has a stream of his own calls himself, with handles that
// he does not look into.
#ifdef __cplusplus
STAND_IN unsigned cuInit(unsigned flags);
STAND_IN unsigned cuDevicePrimaryCtxRetain(void **context, int device);
STAND_IN unsigned cuDevicePrimaryCtxRelease_v2(int device);
STAND_IN unsigned cuCtxPushCurrent_v2(void *context);
STAND_IN unsigned cuCtxPopCurrent_v2(void **context);
STAND_IN unsigned cuStreamCreate(void **stream, unsigned flags);
STAND_IN unsigned cuStreamDestroy_v2(void *stream);
STAND_IN unsigned cuStreamSynchronize(void *stream);
#endif

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_TEST_RUNTIME_CUDA_STANDINDRIVER_H
