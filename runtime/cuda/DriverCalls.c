//===- DriverCalls.c - What is used of the CUDA driver --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/DriverCalls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/// The driver that has all the calls, as cuDriverGetVersion tells it.
enum { LEAST_MAJOR = 12 };

hova_status hova_driver_fail(const hova_driver *driver, driver_result result,
                             hova_status failure, const char *cannot,
                             const char *name, hova_error *error) {
  const char *text = NULL, *code = NULL;
  char number[32];
  snprintf(number, sizeof number, "error %u", result);
  if (driver->error_text(result, &text) != 0 || !text) {
    text = "the driver has no words for it";
  }
  if (driver->error_name(result, &code) != 0 || !code) {
    code = number;
  }
  return hova_fail(error, failure, "cannot %s on %s: %s (%s)", cannot, name,
                   text, code);
}

static hova_status lacks_call(void *library, const char *symbol,
                              hova_error *error) {
  driver_result (*version)(int *) =
      (driver_result (*)(int *))dlsym(library, "cuDriverGetVersion");
  int number = 0;
  if (!version || version(&number) != 0) {
    return hova_fail(error, HOVA_REJECTED,
                     "libcuda.so.1 is not the driver of an NVIDIA GPU: it has "
                     "no '%s'",
                     symbol);
  }
  return hova_fail(error, HOVA_REJECTED,
                   "expects a driver of an NVIDIA GPU for CUDA %d.0 or later, "
                   "got one for CUDA %d.%d, which has no '%s'",
                   LEAST_MAJOR, number / 1000, number % 1000 / 10, symbol);
}

hova_status hova_driver_open(hova_driver *driver, hova_error *error) {
  memset(driver, 0, sizeof *driver);
  // The driver has threads of its own: its code stays when all have closed it.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  driver->library = library;
  if (!library) {
    const char *why = dlerror();
    return hova_fail(error, HOVA_REJECTED,
                     "found no driver of an NVIDIA GPU, which kernels for a "
                     "GPU need: %s",
                     why ? why : "libcuda.so.1 is missing");
  }
  // POSIX has functions that dlsym returns as objects.
#define HOVA_FIND_CALL(NAME, SYMBOL, PARAMETERS)                               \
  *(void **)(void *)&driver->NAME = dlsym(library, #SYMBOL);                   \
  if (!driver->NAME) {                                                         \
    return lacks_call(library, #SYMBOL, error);                                \
  }
  HOVA_DRIVER_CALLS(HOVA_FIND_CALL)
#undef HOVA_FIND_CALL
#define HOVA_FIND_LATER_CALL(NAME, SYMBOL, PARAMETERS)                         \
  *(void **)(void *)&driver->NAME = dlsym(library, #SYMBOL);
  HOVA_LATER_DRIVER_CALLS(HOVA_FIND_LATER_CALL)
#undef HOVA_FIND_LATER_CALL
  driver_result result = driver->initialize(0);
  if (result == DRIVER_NO_DEVICE) {
    return hova_fail(error, HOVA_REJECTED,
                     "found no NVIDIA GPU, which kernels for a GPU need");
  }
  return result == 0 ? HOVA_OK
                     : hova_driver_fail(driver, result, HOVA_REJECTED,
                                        "start the driver of NVIDIA GPUs",
                                        "this machine", error);
}

void hova_driver_close(hova_driver *driver) {
  if (driver->library) {
    dlclose(driver->library);
    driver->library = NULL;
  }
}
