//===- Error.c - Status with a message ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Error.h"

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

  static const char digits[] = "0123456789abcdef";
  size_t length = 0;
  for (const char *c = raw; *c && length + 5 < sizeof error->text; ++c) {
    unsigned char byte = (unsigned char)*c;
    if (byte >= 0x20 && byte < 0x7f) {
      error->text[length++] = *c;
      continue;
    }
    error->text[length++] = '\\';
    error->text[length++] = 'x';
    error->text[length++] = digits[byte >> 4];
    error->text[length++] = digits[byte & 15];
  }
  error->text[length] = '\0';
  return status;
}
