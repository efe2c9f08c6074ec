//===- FileUses.h - What a command reads and writes -------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A command that writes where it reads, or two files in one place, loses one of
// them. Files are compared by what they are: `a.npy`, `./a.npy` and a link to
// it are one. Devices and FIFOs may be used as often as one likes.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_FILEUSES_H
#define HOVA_RUNTIME_FILEUSES_H

#include "runtime/Place.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hova_file_use {
  const char *path;
  const char *what; ///< for messages: "--output", "the description"
  bool written;
  hova_identity identity; ///< filled by hova_check_files
} hova_file_use;

/// HOVA_REJECTED if a file that is written is read too, or written twice;
/// HOVA_IO_ERROR if one cannot be written. Changes no file.
hova_status hova_check_files(hova_file_use *uses, size_t count,
                             hova_error *error);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_FILEUSES_H
