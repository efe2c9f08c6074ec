//===- Error.c - Status with a message ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Error.h"

#include "runtime/Text.h"

#include <stdarg.h>
#include <stdio.h>

hova_status hova_fail(hova_error *error, hova_status status, const char *format,
                      ...) {
  if (!error) {
    return status;
  }
  error->status = status;
  char raw[sizeof error->text];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(raw, sizeof raw, format, arguments);
  va_end(arguments);
  hova_show(raw, error->text, sizeof error->text);
  return status;
}
