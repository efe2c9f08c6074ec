//===- Output.c - Files that appear whole or not at all -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Output.h"
#include "runtime/Text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/// A stream leaves nothing behind, and who waits for the reader of a FIFO may
/// lose patience: only a file holds signals back.
static void hold_signals(hova_output *output) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGHUP);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGTERM);
  sigaddset(&held, SIGPIPE);
  if (!output->place.stream) {
    pthread_sigmask(SIG_BLOCK, &held, &output->signals);
  }
}

static void release_signals(hova_output *output) {
  if (!output->place.stream) {
    pthread_sigmask(SIG_SETMASK, &output->signals, NULL);
  }
}

hova_status hova_output_open(hova_output *output, const char *path,
                             hova_error *error) {
  output->held = 0;
  hova_status status = hova_place_find(path, &output->place, error);
  if (status != HOVA_OK) {
    return status;
  }
  hold_signals(output);
  status = hova_place_open(&output->place, 0666, error);
  if (status != HOVA_OK) {
    release_signals(output);
  }
  return status;
}

/// Hands everything to the kernel; a short write is continued.
static hova_status write_all(hova_output *output, const unsigned char *data,
                             uint64_t size, hova_error *error) {
  while (size > 0) {
    ssize_t written = write(output->place.descriptor, data, (size_t)size);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return hova_place_fail(&output->place, written < 0 ? errno : EIO, error);
    }
    data += written;
    size -= (uint64_t)written;
  }
  return HOVA_OK;
}

static hova_status flush(hova_output *output, hova_error *error) {
  uint64_t held = output->held;
  output->held = 0;
  return write_all(output, output->buffer, held, error);
}

hova_status hova_output_write(hova_output *output, const void *data,
                              uint64_t size, hova_error *error) {
  if (size > sizeof output->buffer - output->held) {
    hova_status status = flush(output, error);
    if (status != HOVA_OK) {
      return status;
    }
  }
  if (size > sizeof output->buffer) {
    return write_all(output, data, size, error);
  }
  memcpy(output->buffer + output->held, data, (size_t)size);
  output->held += (size_t)size;
  return HOVA_OK;
}

hova_status hova_output_print(hova_output *output, hova_error *error,
                              const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text) {
    return hova_place_fail(&output->place, EOVERFLOW, error);
  }
  return hova_output_write(output, text, (uint64_t)length, error);
}

hova_status hova_output_print_string(hova_output *output, hova_error *error,
                                     const char *text) {
  hova_status status = hova_output_write(output, "\"", 1, error);
  hova_cursor cursor = {{(const uint8_t *)text, text ? strlen(text) : 0}, 0};
  while (cursor.at < cursor.span.size && status == HOVA_OK) {
    uint64_t begin = cursor.at;
    uint32_t code;
    bool plain = hova_take_shown(&cursor, &code) && code != '"' && code != '\\';
    if (plain) {
      status =
          hova_output_write(output, text + begin, cursor.at - begin, error);
    } else if (code <= 0xffff) {
      status = hova_output_print(output, error, "\\u%04x", (unsigned)code);
    } else {
      status = hova_output_print(output, error, "\\u%04x\\u%04x",
                                 (unsigned)(0xd7c0 + (code >> 10)),
                                 (unsigned)(0xdc00 + (code & 0x3ff)));
    }
  }
  return status == HOVA_OK ? hova_output_write(output, "\"", 1, error) : status;
}

hova_status hova_output_close(hova_output *output, hova_status status,
                              hova_error *error) {
  hova_place *place = &output->place;
  if (place->descriptor < 0) {
    return status;
  }
  if (status == HOVA_OK) {
    status = flush(output, error);
  }
  if (status == HOVA_OK) {
    status = hova_places_keep(&place, 1, error);
  } else {
    hova_place_discard(place);
  }
  release_signals(output);
  return status;
}
