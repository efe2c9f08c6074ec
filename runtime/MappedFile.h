//===- MappedFile.h - Files as bytes in memory ------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAPPEDFILE_H
#define HOVA_RUNTIME_MAPPEDFILE_H

#include "runtime/Bytes.h"
#include "runtime/Error.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Maps a regular file read-only. A file that shrinks while it is mapped ends
/// in SIGBUS on access: programs handle the signal, embedders who cannot rule
/// this out pass an image in memory. An empty file is a span of size 0.
/// `*others_may_write`, unless it is null, says whether its mode or its owner
/// lets a user write to it who is neither the caller nor root.
hova_status hova_map_file(const char *path, hova_span *file,
                          bool *others_may_write, hova_error *error);
/// The same of what can be read from an open descriptor, at most `limit` bytes;
/// `name` is for messages.
hova_status hova_map_stream(int descriptor, const char *name, uint64_t limit,
                            hova_span *file, hova_error *error);
void hova_unmap_file(hova_span file);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_MAPPEDFILE_H
