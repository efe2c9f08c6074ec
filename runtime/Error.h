//===- Error.h - Status with a message --------------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// Every function that can fail returns a `hova_status` and, where the caller
// gave room, leaves one sentence that names the file or argument, what was
// expected and what was found.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_ERROR_H
#define HOVA_RUNTIME_ERROR_H

#include "runtime/hova_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hova_error {
  hova_status status;
  char text[1280];
} hova_error;

/// Writes the message, unless `error` is null, and returns `status`. Text of
/// any script stays; what must not reach a terminal is escaped
/// (runtime/Text.h).
__attribute__((format(printf, 3, 4))) hova_status hova_fail(hova_error *error,
                                                            hova_status status,
                                                            const char *format,
                                                            ...);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_ERROR_H
