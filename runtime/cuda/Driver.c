//===- Driver.c - A GPU that the CUDA driver runs -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The device, its memory and its kernels. A context of hova uses the primary
// context of the device, as the CUDA runtime and the frameworks do, so that
// their memory and streams are its own; it is current only inside of a call.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// What a block may use without asking for more.
enum { COMMON_SHARED_BYTES = 48 << 10 };

hova_status hova_gpu_fail(const hova_gpu *gpu, driver_result result,
                          hova_status failure, const char *cannot,
                          hova_error *error) {
  return hova_driver_fail(&gpu->driver, result, failure, cannot, gpu->name,
                          error);
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

static hova_status find_device(hova_gpu *gpu, hova_error *error) {
  const hova_driver *driver = &gpu->driver;
  int count = 0;
  driver_result result = driver->count_devices(&count);
  if (result == 0 && count <= 0) {
    return hova_fail(error, HOVA_REJECTED,
                     "found no NVIDIA GPU, which kernels for a GPU need");
  }
  if (result == 0 && (gpu->ordinal < 0 || gpu->ordinal >= count)) {
    return hova_fail(error, HOVA_REJECTED,
                     "expects a device from 0 to %d, got %d", count - 1,
                     gpu->ordinal);
  }
  int major = 0, minor = 0;
  if (result == 0) {
    result = driver->find_device(&gpu->device, gpu->ordinal);
  }
  if (result == 0) {
    result = driver->device_name(gpu->name, sizeof gpu->name, gpu->device);
    gpu->name[sizeof gpu->name - 1] = '\0';
  }
  if (result == 0) {
    result =
        driver->device_attribute(&major, DRIVER_CAPABILITY_MAJOR, gpu->device);
  }
  if (result == 0) {
    result =
        driver->device_attribute(&minor, DRIVER_CAPABILITY_MINOR, gpu->device);
  }
  if (result == 0) {
    result = driver->device_attribute(&gpu->most_shared,
                                      DRIVER_MOST_SHARED_BYTES, gpu->device);
  }
  gpu->capability = (uint32_t)(10 * major + minor);
  return result == 0
             ? HOVA_OK
             : hova_gpu_fail(gpu, result, HOVA_REJECTED, "find a GPU", error);
}

hova_status hova_gpu_open(int32_t ordinal, void *stream, hova_gpu **opened,
                          hova_error *error) {
  *opened = NULL;
  hova_gpu *gpu = calloc(1, sizeof *gpu);
  if (!gpu) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for a device");
  }
  *opened = gpu;
  gpu->process = getpid();
  gpu->ordinal = ordinal;
  gpu->stream = stream;
  snprintf(gpu->name, sizeof gpu->name, "device %d", ordinal);
  hova_status status = hova_driver_open(&gpu->driver, error);
  if (status == HOVA_OK) {
    status = find_device(gpu, error);
  }
  return status;
}

uint32_t hova_gpu_capability(const hova_gpu *gpu) { return gpu->capability; }

uint64_t hova_gpu_shared(const hova_gpu *gpu) {
  return (uint64_t)gpu->most_shared;
}

const char *hova_gpu_name(const hova_gpu *gpu) { return gpu->name; }

bool hova_gpu_takes_tensors(const hova_gpu *gpu) {
  (void)gpu;
  return true;
}

bool hova_gpu_reads_host(const hova_gpu *gpu) {
  (void)gpu;
  return false;
}

const char *hova_gpu_host_view(const hova_gpu *gpu,
                               hova_device_address address) {
  (void)gpu;
  (void)address;
  return NULL;
}

hova_status hova_gpu_check(const hova_gpu *gpu, hova_error *error) {
  return gpu->process == getpid()
             ? HOVA_OK
             : hova_fail(error, HOVA_REJECTED,
                         "this context is of the process that created it, "
                         "before a fork(): start another process to use a GPU");
}

/// Retains the primary context of the device, and makes a stream in it.
static driver_result retain(hova_gpu *gpu) {
  const hova_driver *driver = &gpu->driver;
  driver_context context = NULL;
  driver_result result = driver->retain_context(&context, gpu->device);
  if (result != 0) {
    return result;
  }
  gpu->context = context;
  if (gpu->stream) {
    return 0;
  }
  result = driver->push_context(context);
  if (result != 0) {
    return result;
  }
  // Not CU_STREAM_NON_BLOCKING: what callers put on the default stream before a
  // run comes before it.
  result = driver->create_stream(&gpu->stream, 0);
  gpu->owns_stream = result == 0;
  driver->pop_context(&context);
  return result;
}

hova_status hova_driver_enter(hova_gpu *gpu, hova_error *error) {
  driver_result result = 0;
  if (!gpu->context) {
    result = retain(gpu);
  }
  if (result == 0) {
    result = gpu->driver.push_context(gpu->context);
  }
  return result == 0
             ? HOVA_OK
             : hova_gpu_fail(gpu, result, HOVA_REJECTED, "start work", error);
}

void hova_driver_leave(hova_gpu *gpu) {
  driver_context context;
  gpu->driver.pop_context(&context);
}

static void give_back(hova_gpu *gpu) {
  const hova_driver *driver = &gpu->driver;
  if (gpu->stream) {
    driver->synchronize(gpu->stream);
  }
  if (gpu->exec) {
    driver->destroy_exec(gpu->exec);
  }
  if (gpu->graph) {
    driver->destroy_graph(gpu->graph);
  }
  for (uint32_t i = 0; gpu->events && i <= gpu->code->num_launches; ++i) {
    if (gpu->events[i]) {
      driver->destroy_event(gpu->events[i]);
    }
  }
  if (gpu->module) {
    driver->unload_module(gpu->module);
  }
  if (gpu->memory) {
    driver->free(gpu->memory);
  }
  if (gpu->owns_stream) {
    driver->destroy_stream(gpu->stream);
  }
}

void hova_gpu_close(hova_gpu *gpu) {
  if (!gpu) {
    return;
  }
  // In a child of fork() nothing of the driver works, and all belongs to the
  // parent.
  if (gpu->context && gpu->process == getpid()) {
    if (gpu->driver.push_context(gpu->context) == 0) {
      give_back(gpu);
      hova_driver_leave(gpu);
    }
    gpu->driver.release_context(gpu->device);
  }
  hova_driver_close(&gpu->driver);
  free(gpu->launches);
  free(gpu->functions);
  free(gpu->addresses);
  free(gpu->parameters);
  free(gpu->recorded);
  free(gpu->events);
  free(gpu);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

hova_status hova_gpu_allocate(hova_gpu *gpu, uint64_t size,
                              hova_device_address *address, hova_error *error) {
  hova_status status = hova_driver_enter(gpu, error);
  if (status != HOVA_OK) {
    return status;
  }
  driver_result result = gpu->driver.allocate(&gpu->memory, size);
  if (result == DRIVER_OUT_OF_MEMORY) {
    size_t unused = 0, all = 0;
    gpu->memory = 0;
    gpu->driver.memory_info(&unused, &all);
    status = hova_fail(error, HOVA_REJECTED,
                       "%s has too little memory: the program takes %llu "
                       "bytes, and %llu of %llu are free",
                       gpu->name, (unsigned long long)size,
                       (unsigned long long)unused, (unsigned long long)all);
  } else if (result != 0) {
    gpu->memory = 0;
    status =
        hova_gpu_fail(gpu, result, HOVA_REJECTED, "allocate memory", error);
  }
  hova_driver_leave(gpu);
  *address = gpu->memory;
  return status;
}

hova_status hova_gpu_owns(hova_gpu *gpu, hova_device_address address,
                          bool *owns, hova_error *error) {
  unsigned kind = 0;
  int ordinal = -1;
  *owns = false;
  hova_status status = hova_driver_enter(gpu, error);
  if (status != HOVA_OK) {
    return status;
  }
  const hova_driver *driver = &gpu->driver;
  driver_result result =
      driver->pointer_attribute(&kind, DRIVER_POINTER_MEMORY_TYPE, address);
  if (result == 0) {
    result =
        driver->pointer_attribute(&ordinal, DRIVER_POINTER_DEVICE, address);
  }
  hova_driver_leave(gpu);
  *owns =
      result == 0 && kind == DRIVER_DEVICE_MEMORY && ordinal == gpu->ordinal;
  // An address that the driver does not know is an invalid value to it.
  return result == 0 || result == DRIVER_INVALID_VALUE
             ? HOVA_OK
             : hova_gpu_fail(gpu, result, HOVA_FAULT, "look at a tensor",
                             error);
}

hova_status hova_gpu_upload(hova_gpu *gpu, hova_device_address to,
                            const void *from, uint64_t bytes,
                            const char *cannot, hova_error *error) {
  hova_status status = hova_driver_enter(gpu, error);
  if (status != HOVA_OK) {
    return status;
  }
  driver_result result =
      gpu->driver.copy_to_device(to, from, bytes, gpu->stream);
  if (result == 0) {
    result = gpu->driver.synchronize(gpu->stream);
  }
  hova_driver_leave(gpu);
  return result == 0 ? HOVA_OK
                     : hova_gpu_fail(gpu, result, HOVA_REJECTED, cannot, error);
}

hova_status hova_gpu_download(hova_gpu *gpu, void *to, hova_device_address from,
                              uint64_t bytes, const char *cannot,
                              hova_error *error) {
  hova_status status = hova_driver_enter(gpu, error);
  if (status != HOVA_OK) {
    return status;
  }
  driver_result result = gpu->driver.copy_to_host(to, from, bytes, gpu->stream);
  if (result == 0) {
    result = gpu->driver.synchronize(gpu->stream);
  }
  hova_driver_leave(gpu);
  return result == 0 ? HOVA_OK
                     : hova_gpu_fail(gpu, result, HOVA_FAULT, cannot, error);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// What the driver's compiler says, as the end of a sentence on one line.
static void join_lines(char *log) {
  size_t length = strlen(log);
  while (length && strchr("\n\r \t", log[length - 1])) {
    log[--length] = '\0';
  }
  for (; *log; ++log) {
    *log = *log == '\n' || *log == '\r' || *log == '\t' ? ' ' : *log;
  }
}

static hova_status load_text(hova_gpu *gpu, hova_error *error) {
  char log[512] = "";
  unsigned options[] = {DRIVER_ERROR_LOG, DRIVER_ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  driver_result result =
      gpu->driver.load_module(&gpu->module, gpu->code->ptx, 2, options, values);
  if (result == 0) {
    return HOVA_OK;
  }
  gpu->module = NULL;
  log[sizeof log - 1] = '\0';
  join_lines(log);
  hova_error reason = {HOVA_OK, ""};
  hova_gpu_fail(gpu, result, HOVA_REJECTED, "load the kernels", &reason);
  return hova_fail(error, HOVA_REJECTED, "%s%s%s", reason.text,
                   log[0] ? "; its compiler says: " : "", log);
}

/// Machine code where this device runs it, as those of its major number do that
/// are not older, else the text, which the driver compiles.
static hova_status load_code(hova_gpu *gpu, hova_error *error) {
  const hova_device_code *code = gpu->code;
  if (code->cubin && code->capability / 10 == gpu->capability / 10 &&
      gpu->driver.load_module(&gpu->module, code->cubin, 0, NULL, NULL) == 0) {
    return HOVA_OK;
  }
  gpu->module = NULL;
  return code->ptx ? load_text(gpu, error)
                   : hova_fail(error, HOVA_REJECTED,
                               "program '%s' has no kernels for %s",
                               gpu->program->name, gpu->name);
}

/// Finds one kernel, and asks for what it needs.
static hova_status prepare_kernel(hova_gpu *gpu, uint32_t number,
                                  hova_error *error) {
  const hova_driver *driver = &gpu->driver;
  const hova_device_kernel *kernel = &gpu->code->kernels[number];
  driver_function *function = &gpu->functions[number];
  int threads = 0, fixed = 0, most = gpu->most_shared;
  driver_result result =
      driver->find_function(function, gpu->module, kernel->name);
  if (result == 0) {
    result =
        driver->function_attribute(&threads, DRIVER_MOST_THREADS, *function);
  }
  if (result == 0) {
    result = driver->function_attribute(&fixed, DRIVER_STATIC_SHARED_BYTES,
                                        *function);
  }
  int64_t shared = (int64_t)fixed + kernel->shared_bytes;
  if (result == 0 && ((int64_t)kernel->threads > threads || shared > most)) {
    return hova_fail(error, HOVA_REJECTED,
                     "kernel '%s' needs %u threads and %lld bytes of shared "
                     "memory in a block; %s gives it %d and %d",
                     kernel->name, kernel->threads, (long long)shared,
                     gpu->name, threads, most);
  }
  if (result == 0 && shared > COMMON_SHARED_BYTES) {
    result = driver->set_function_attribute(
        *function, DRIVER_DYNAMIC_SHARED_BYTES, (int)kernel->shared_bytes);
  }
  if (result == 0) {
    // As much for all kernels of a run: a multiprocessor that has to divide its
    // memory anew waits until nothing runs on it.
    result =
        driver->set_function_attribute(*function, DRIVER_SHARED_CARVEOUT, 100);
  }
  if (result == 0) {
    return HOVA_OK;
  }
  hova_error reason = {HOVA_OK, ""};
  hova_gpu_fail(gpu, result, HOVA_REJECTED, "prepare it", &reason);
  return hova_fail(error, HOVA_REJECTED, "kernel '%s': %s", kernel->name,
                   reason.text);
}

hova_status hova_driver_load_module(hova_gpu *gpu, hova_error *error) {
  hova_status status = load_code(gpu, error);
  for (uint32_t i = 0; i < gpu->code->num_kernels && status == HOVA_OK; ++i) {
    status = prepare_kernel(gpu, i, error);
  }
  return status;
}

const char hova_gpu_target[] = "cuda";
const hova_inspection hova_gpu_inspection = HOVA_INSPECTION(NULL, NULL, NULL);
