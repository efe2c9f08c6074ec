//===- Device.h - What runs the kernels of a program for a GPU --*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// Context.c knows programs, tensors and weights, and asks for all else here. A
// program is linked with one of two implementations: Driver.c asks the driver
// of an NVIDIA GPU, Emulated.c runs kernels on the processor with all checks.
//
// A device belongs to one context and is used by one caller at a time.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_CUDA_DEVICE_H
#define HOVA_RUNTIME_CUDA_DEVICE_H

#include "runtime/Machine.h"
#include "runtime/cuda/Launches.h"

typedef struct hova_gpu hova_gpu;

/// As `hova compile` names the target.
extern const char hova_gpu_target[];
extern const hova_inspection hova_gpu_inspection;

/// Finds device `ordinal` (see `hova_options::device`); `stream` is null or the
/// caller's. `*gpu` is to be closed even after a failure, unless it is null.
hova_status hova_gpu_open(int32_t ordinal, void *stream, hova_gpu **gpu,
                          hova_error *error);

/// Waits for what still runs, and gives everything back. Null is allowed.
void hova_gpu_close(hova_gpu *gpu);

/// Whether this process can use the device: none that fork() has made can.
hova_status hova_gpu_check(const hova_gpu *gpu, hova_error *error);

/// Its compute capability, 80 for 8.0; that of an emulation has no end.
uint32_t hova_gpu_capability(const hova_gpu *gpu);
/// Bytes of shared memory that it gives to a block; those of an emulation have
/// no end.
uint64_t hova_gpu_shared(const hova_gpu *gpu);
/// Its name, for messages.
const char *hova_gpu_name(const hova_gpu *gpu);
/// Whether tensors may lie in its memory (DLPack's device type 2).
bool hova_gpu_takes_tensors(const hova_gpu *gpu);
/// Looks whether `address`, which a caller says to be memory of this device,
/// is.
hova_status hova_gpu_owns(hova_gpu *gpu, hova_device_address address,
                          bool *owns, hova_error *error);

/// Takes the memory of a program, once: `size` bytes, not 0, aligned to 256,
/// which close gives back.
/// The status is HOVA_REJECTED where a GPU, HOVA_OUT_OF_MEMORY where the host
/// has too little.
hova_status hova_gpu_allocate(hova_gpu *gpu, uint64_t size,
                              hova_device_address *address, hova_error *error);

/// Whether kernels read `address` as it is in the memory of the host, so that
/// nobody needs to copy weights.
bool hova_gpu_reads_host(const hova_gpu *gpu);

/// Copies `bytes` of the host's memory to the device, and waits for it.
/// `cannot` says what fails, as in "cannot copy the weights".
hova_status hova_gpu_upload(hova_gpu *gpu, hova_device_address to,
                            const void *from, uint64_t bytes,
                            const char *cannot, hova_error *error);

/// What the processor reads at an address of the device; null: nothing.
const char *hova_gpu_host_view(const hova_gpu *gpu,
                               hova_device_address address);

/// Loads the kernels of the program's `code`, whose launches are checked, and
/// prepares one run with all buffers at `places`, which outlive the device.
hova_status hova_gpu_load(hova_gpu *gpu, const hova_program *program,
                          const hova_device_code *code,
                          const hova_places *places, hova_error *error);

/// A copy between host and device; `host` null: none.
typedef struct hova_gpu_copy {
  hova_device_address device;
  void *host;
  uint64_t bytes;
} hova_gpu_copy;

/// What one run does. The addresses of tensors are those of `places`, which may
/// have changed since the run before.
typedef struct hova_gpu_job {
  hova_sizes sizes;               ///< all 0 where shapes are fixed
  const hova_gpu_copy *uploads;   ///< before the launches, in `num_uploads`
  const hova_gpu_copy *downloads; ///< after them
  uint32_t num_uploads, num_downloads;
  bool wait; ///< until all is done
  hova_watch watch;
} hova_gpu_job;

hova_status hova_gpu_run(hova_gpu *gpu, const hova_gpu_job *job,
                         hova_error *error);

/// Copies from the device to the host after what is in the queue, and waits;
/// `cannot` is as above.
hova_status hova_gpu_download(hova_gpu *gpu, void *to, hova_device_address from,
                              uint64_t bytes, const char *cannot,
                              hova_error *error);

/// The device of a context, for Emulated.h.
hova_gpu *hova_gpu_of(hova_context *context);

/// Nanoseconds of CLOCK_MONOTONIC.
uint64_t hova_gpu_now(void);

#endif // HOVA_RUNTIME_CUDA_DEVICE_H
