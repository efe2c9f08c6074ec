//===- Safetensors.h - Named tensors in one file ----------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A strict reader: the header is JSON of exactly the format's shape; tensors,
// taken in the order of their offsets, fill the rest of the file without hole
// or overlap; each is as long as its shape and type say; names are UTF-8 of at
// most 256 bytes without control characters, each once; there are 262,144 of
// them at most. One bad entry rejects the file. Shards are single files to this
// reader.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_SAFETENSORS_H
#define HOVA_RUNTIME_SAFETENSORS_H

#include "runtime/Bytes.h"
#include "runtime/Elements.h"
#include "runtime/Error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hova_safetensors_entry {
  const char *name; ///< UTF-8, terminated
  hova_element element;
  int32_t rank;
  int64_t dims[HOVA_MAX_RANK];
  uint64_t begin; ///< of its bytes, from the start of the file
  uint64_t bytes;
} hova_safetensors_entry;

typedef struct hova_safetensors {
  uint64_t count;
  hova_safetensors_entry *entries; ///< sorted by name (bytewise)
  char *names;
  hova_span file;
  bool mapped; ///< by hova_safetensors_open
} hova_safetensors;

/// Reads a mapped file, which must outlive `tensors`.
hova_status hova_safetensors_parse(hova_span file, const char *path,
                                   hova_safetensors *tensors,
                                   hova_error *error);

/// Maps and reads a file.
hova_status hova_safetensors_open(const char *path, hova_safetensors *tensors,
                                  hova_error *error);

/// Unmaps and frees; for both ways of reading, but it unmaps only what
/// hova_safetensors_open mapped. Safe on a zeroed struct.
void hova_safetensors_close(hova_safetensors *tensors);

/// The entry of that name, or null.
const hova_safetensors_entry *
hova_safetensors_find(const hova_safetensors *tensors, const char *name);

/// The bytes of an entry, little endian; may be unaligned.
hova_span hova_safetensors_data(const hova_safetensors *tensors,
                                const hova_safetensors_entry *entry);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_SAFETENSORS_H
