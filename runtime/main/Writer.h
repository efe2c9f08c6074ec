//===- Writer.h - Text into a file, up to the first failure -----*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_WRITER_H
#define HOVA_RUNTIME_MAIN_WRITER_H

#include "runtime/Output.h"

/// An open file and what came of writing so far.
typedef struct writer {
  hova_output output;
  hova_error *error;
  hova_status status;
} writer;

/// Writes formatted text of at most 1023 bytes, unless something has failed.
#define PUT(writer, ...)                                                       \
  ((writer)->status = (writer)->status == HOVA_OK                              \
                          ? hova_output_print(&(writer)->output,               \
                                              (writer)->error, __VA_ARGS__)    \
                          : (writer)->status)

/// Writes a JSON string, unless something has failed.
#define PUT_STRING(writer, text)                                               \
  ((writer)->status = (writer)->status == HOVA_OK                              \
                          ? hova_output_print_string(&(writer)->output,        \
                                                     (writer)->error, (text))  \
                          : (writer)->status)

#endif // HOVA_RUNTIME_MAIN_WRITER_H
