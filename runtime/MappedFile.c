//===- MappedFile.c - Files as bytes in memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/MappedFile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
