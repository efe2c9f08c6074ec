//===- Bytes.c - Checked access to the bytes of a file --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool hova_take(hova_cursor *cursor, uint64_t size, hova_span *taken) {
  if (size > cursor->span.size - cursor->at) {
    return false;
  }
  taken->data = cursor->span.data + cursor->at;
  taken->size = size;
  cursor->at += size;
  return true;
}

bool hova_take_integer(hova_cursor *cursor, unsigned size, uint64_t *value) {
  hova_span bytes;
  if (size > 8 || !hova_take(cursor, size, &bytes)) {
    return false;
  }
  *value = 0;
  for (unsigned i = 0; i < size; ++i) {
    *value |= (uint64_t)bytes.data[i] << (8 * i);
  }
  return true;
}

int hova_peek(const hova_cursor *cursor) {
  return cursor->at < cursor->span.size ? cursor->span.data[cursor->at] : -1;
}

bool hova_take_byte(hova_cursor *cursor, char byte) {
  if (hova_peek(cursor) != (unsigned char)byte) {
    return false;
  }
  ++cursor->at;
  return true;
}

bool hova_take_text(hova_cursor *cursor, const char *text) {
  uint64_t size = strlen(text);
  if (size > cursor->span.size - cursor->at ||
      memcmp(cursor->span.data + cursor->at, text, size) != 0) {
    return false;
  }
  cursor->at += size;
  return true;
}

void hova_skip_blanks(hova_cursor *cursor) {
  for (int next = hova_peek(cursor);
       next == ' ' || next == '\t' || next == '\n' || next == '\r';
       next = hova_peek(cursor)) {
    ++cursor->at;
  }
}

bool hova_part(hova_span span, uint64_t begin, uint64_t end, hova_span *part) {
  if (begin > end || end > span.size) {
    return false;
  }
  part->data = span.data + begin;
  part->size = end - begin;
  return true;
}

bool hova_span_is(hova_span span, const char *text) {
  return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

bool hova_copy(hova_span span, void *to, uint64_t size) {
  if (size > span.size) {
    return false;
  }
  memcpy(to, span.data, size);
  return true;
}

bool hova_multiply(uint64_t a, uint64_t b, uint64_t *product) {
  return !__builtin_mul_overflow(a, b, product);
}

bool hova_add(uint64_t a, uint64_t b, uint64_t *sum) {
  return !__builtin_add_overflow(a, b, sum);
}

bool hova_take_decimal(hova_cursor *cursor, uint64_t limit, uint64_t *value) {
  hova_cursor start = *cursor;
  *value = 0;
  int next = hova_peek(cursor);
  if (next < '0' || next > '9') {
    return false;
  }
  for (; next >= '0' && next <= '9'; next = hova_peek(cursor)) {
    uint64_t digit = (uint64_t)(next - '0');
    bool leading_zero = cursor->at == start.at + 1 && *value == 0;
    if (leading_zero || !hova_multiply(*value, 10, value) ||
        !hova_add(*value, digit, value) || *value > limit) {
      *cursor = start;
      return false;
    }
    ++cursor->at;
  }
  return true;
}

/// Maps an open file whose size must not change meanwhile.
static hova_status map_descriptor(int descriptor, const char *path,
                                  hova_span *file, hova_error *error) {
  struct stat before, after;
  if (fstat(descriptor, &before) != 0) {
    return hova_fail(error, HOVA_IO_ERROR, "cannot read '%s': %s", path,
                     strerror(errno));
  }
  if (!S_ISREG(before.st_mode)) {
    return hova_fail(error, HOVA_REJECTED, "'%s' is not a regular file", path);
  }
  file->size = (uint64_t)before.st_size;
  if (file->size == 0) {
    return HOVA_OK;
  }
  void *data =
      mmap(NULL, (size_t)file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) {
    hova_status status = errno == ENOMEM ? HOVA_OUT_OF_MEMORY : HOVA_IO_ERROR;
    return hova_fail(error, status, "cannot map the %llu bytes of '%s': %s",
                     (unsigned long long)file->size, path, strerror(errno));
  }
  file->data = data;
  if (fstat(descriptor, &after) != 0 || after.st_size != before.st_size) {
    hova_unmap_file(*file);
    return hova_fail(error, HOVA_IO_ERROR, "'%s' changed while it was opened",
                     path);
  }
  return HOVA_OK;
}

/// Whether another user than the caller and root may write to the file: one
/// that owns it, or that its mode lets.
static bool may_others_write(int descriptor) {
  struct stat info;
  return fstat(descriptor, &info) != 0 ||
         (info.st_uid != 0 && info.st_uid != geteuid()) ||
         (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

hova_status hova_map_file(const char *path, hova_span *file,
                          bool *others_may_write, hova_error *error) {
  file->data = NULL;
  file->size = 0;
  // A pipe must fail at once, not wait for a writer.
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return hova_fail(error, HOVA_IO_ERROR, "cannot open '%s': %s", path,
                     strerror(errno));
  }
  hova_status status = map_descriptor(descriptor, path, file, error);
  if (others_may_write) {
    *others_may_write = may_others_write(descriptor);
  }
  close(descriptor);
  if (status != HOVA_OK) {
    file->data = NULL;
    file->size = 0;
  }
  return status;
}

/// Copies a stream into a file in memory, which then has a size.
static hova_status copy_stream(int from, int to, const char *name,
                               uint64_t limit, hova_error *error) {
  char buffer[1 << 16];
  uint64_t size = 0;
  for (;;) {
    ssize_t got = read(from, buffer, sizeof buffer);
    if (got == 0) {
      return HOVA_OK;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return hova_fail(error, HOVA_IO_ERROR, "cannot read %s: %s", name,
                       strerror(errno));
    }
    size += (uint64_t)got;
    if (size > limit) {
      return hova_fail(error, HOVA_REJECTED, "%s holds more than %llu bytes",
                       name, (unsigned long long)limit);
    }
    if (write(to, buffer, (size_t)got) != got) {
      return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for %s", name);
    }
  }
}

hova_status hova_map_stream(int descriptor, const char *name, uint64_t limit,
                            hova_span *file, hova_error *error) {
  *file = (hova_span){NULL, 0};
  int copy = memfd_create("stream", MFD_CLOEXEC);
  if (copy < 0) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for %s", name);
  }
  hova_status status = copy_stream(descriptor, copy, name, limit, error);
  if (status == HOVA_OK) {
    status = map_descriptor(copy, name, file, error);
  }
  close(copy);
  return status;
}

void hova_unmap_file(hova_span file) {
  if (file.size != 0) {
    munmap((void *)file.data, (size_t)file.size);
  }
}
