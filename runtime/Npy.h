//===- Npy.h - One tensor in a NumPy file -----------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// Format versions 1 to 3 are read, 1 is written. Accepted: little-endian
// numbers and booleans in row-major order. Rejected: pickles, structures, big
// endian, column-major matrices, a header above 10,000 bytes, and a file that
// is longer or shorter than its shape says.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_NPY_H
#define HOVA_RUNTIME_NPY_H

#include "runtime/Bytes.h"
#include "runtime/Elements.h"
#include "runtime/Error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hova_npy {
  hova_element element;
  int32_t rank;
  int64_t dims[HOVA_MAX_RANK];
  uint64_t count; ///< elements
  hova_span data; ///< may be unaligned
  hova_span file; ///< what hova_npy_close unmaps
} hova_npy;

/// Reads the tensor of a mapped file; `npy->file` is left empty.
hova_status hova_npy_parse(hova_span file, const char *path, hova_npy *npy,
                           hova_error *error);

/// Maps and reads a file.
hova_status hova_npy_open(const char *path, hova_npy *npy, hova_error *error);
/// The same from standard input, of at most `limit` bytes.
hova_status hova_npy_read(uint64_t limit, hova_npy *npy, hova_error *error);
void hova_npy_close(hova_npy *npy);

/// Writes a file, whole or not at all. A type that npy lacks (BF16) is written
/// as F32, which holds its values.
hova_status hova_npy_write(const char *path, hova_element element, int32_t rank,
                           const int64_t *dims, const void *data,
                           hova_error *error);

/// The number of elements of a shape, or false where 64 bits or 2^31 - 1 per
/// dim do not hold it.
bool hova_count_elements(int32_t rank, const int64_t *dims, uint64_t *count);

/// Writes a shape as "[1, 3]"; cut to `size`.
void hova_format_shape(char *text, size_t size, int32_t rank,
                       const int64_t *dims);

/// What to do where two shapes of a rank differ in the first axis alone, which
/// is the batch of nearly every model: "; --set batch=8 compiles the model for
/// as many". Otherwise empty.
void hova_format_batch_hint(char *text, size_t size, int32_t rank,
                            const int64_t *expected, const int64_t *found);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_NPY_H
