//===- Output.h - Files that appear whole or not at all ---------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A buffer before a place (Place.h). Signals that would end the process are
// held back while a temporary file exists, so that none is left behind.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_OUTPUT_H
#define HOVA_RUNTIME_OUTPUT_H

#include "runtime/Place.h"

#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hova_output {
  hova_place place;
  size_t held;      ///< bytes in `buffer`
  sigset_t signals; ///< the mask to restore
  unsigned char buffer[16384];
} hova_output;

/// Starts a file; `path` must outlive the output.
hova_status hova_output_open(hova_output *output, const char *path,
                             hova_error *error);
hova_status hova_output_write(hova_output *output, const void *data,
                              uint64_t size, hova_error *error);
/// Writes formatted text of at most 1023 bytes.
__attribute__((format(printf, 3, 4))) hova_status hova_output_print(
    hova_output *output, hova_error *error, const char *format, ...);
/// Writes a JSON string of `text`, which is UTF-8. Null is the empty string.
hova_status hova_output_print_string(hova_output *output, hova_error *error,
                                     const char *text);
/// Gives the file its final name if `status` is HOVA_OK, else removes what was
/// written; in either case the output is closed (if it was ever opened).
/// Returns the first failure.
hova_status hova_output_close(hova_output *output, hova_status status,
                              hova_error *error);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_OUTPUT_H
