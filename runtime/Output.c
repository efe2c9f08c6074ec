//===- Output.c - Files that appear whole or not at all -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hova_status fail(const hova_output *output, int number,
                        hova_error *error) {
  return hova_fail(error, HOVA_IO_ERROR, "cannot write '%s': %s", output->path,
                   strerror(number));
}

static void hold_signals(hova_output *output) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGHUP);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGTERM);
  sigaddset(&held, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &held, &output->signals);
}

hova_status hova_output_open(hova_output *output, const char *path,
                             hova_error *error) {
  output->path = path;
  output->descriptor = -1;
  output->held = 0;
  // A name of this process only: two programs writing one file both succeed,
  // and the last rename wins.
  for (unsigned attempt = 0; attempt < 100; ++attempt) {
    int length = snprintf(output->temporary, sizeof output->temporary,
                          "%s.%ld-%u.tmp", path, (long)getpid(), attempt);
    if (length < 0 || (size_t)length >= sizeof output->temporary) {
      return fail(output, ENAMETOOLONG, error);
    }
    hold_signals(output);
    output->descriptor =
        open(output->temporary,
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (output->descriptor >= 0) {
      return HOVA_OK;
    }
    int number = errno;
    pthread_sigmask(SIG_SETMASK, &output->signals, NULL);
    if (number != EEXIST) {
      return fail(output, number, error);
    }
  }
  return fail(output, EEXIST, error);
}

/// Hands everything to the kernel; a short write is continued.
static hova_status write_all(hova_output *output, const unsigned char *data,
                             uint64_t size, hova_error *error) {
  while (size > 0) {
    ssize_t written = write(output->descriptor, data, (size_t)size);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return fail(output, written < 0 ? errno : EIO, error);
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
    return fail(output, EOVERFLOW, error);
  }
  return hova_output_write(output, text, (uint64_t)length, error);
}

hova_status hova_output_print_string(hova_output *output, hova_error *error,
                                     const char *text) {
  hova_status status = hova_output_write(output, "\"", 1, error);
  for (; text && *text && status == HOVA_OK; ++text) {
    unsigned char byte = (unsigned char)*text;
    bool plain = byte >= 0x20 && byte != 0x7f && byte != '"' && byte != '\\';
    status = plain ? hova_output_write(output, text, 1, error)
                   : hova_output_print(output, error, "\\u%04x", byte);
  }
  return status == HOVA_OK ? hova_output_write(output, "\"", 1, error) : status;
}

hova_status hova_output_close(hova_output *output, hova_status status,
                              hova_error *error) {
  if (output->descriptor < 0) {
    return status;
  }
  if (status == HOVA_OK) {
    status = flush(output, error);
  }
  if (status == HOVA_OK && fsync(output->descriptor) != 0) {
    status = fail(output, errno, error);
  }
  if (close(output->descriptor) != 0 && status == HOVA_OK) {
    status = fail(output, errno, error);
  }
  if (status == HOVA_OK && rename(output->temporary, output->path) != 0) {
    status = fail(output, errno, error);
  }
  if (status != HOVA_OK) {
    unlink(output->temporary);
  }
  output->descriptor = -1;
  pthread_sigmask(SIG_SETMASK, &output->signals, NULL);
  return status;
}
