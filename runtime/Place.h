//===- Place.h - Where an output goes ---------------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A regular file appears whole or not at all: it is written under a temporary
// name in the folder of its own, then renamed. What is no regular file must
// never be replaced so: a device would be lost, and who reads a FIFO would
// wait for ever. Such an output is a stream that is written through. Links are
// followed to their target, which is replaced; the links stay.
//
// A place is found before any work is done, so that an output that cannot be
// written is told at once, and so that outputs and inputs can be compared by
// what they are instead of by name (FileUses.h).
//
// Whoever writes a temporary file holds a lock on it. One without an owner is
// what a killed process has left: the next output of that name removes it.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_PLACE_H
#define HOVA_RUNTIME_PLACE_H

#include "runtime/Error.h"

#include <limits.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a regular file is, whatever it is called.
typedef struct hova_identity {
  bool known;      ///< false: no regular file, which is the same as no other
  uint64_t device; ///< of the file, or of the folder of one to be made
  uint64_t number; ///< of the inode, likewise
  char name[NAME_MAX + 1]; ///< of a file to be made; empty where it exists
} hova_identity;

typedef struct hova_place {
  const char *path;      ///< as it was given; must outlive the place
  char target[PATH_MAX]; ///< after all links
  hova_identity identity;
  bool stream;
  int descriptor; ///< -1: not open
  bool exchanged; ///< the temporary file holds what the target was
  char temporary[PATH_MAX];
} hova_place;

/// The identity of a file that is read.
hova_identity hova_identify(const char *path);
bool hova_is_same_file(const hova_identity *a, const hova_identity *b);

/// Finds where `path` leads, and whether it can be written there; changes
/// nothing. "-" is standard output.
hova_status hova_place_find(const char *path, hova_place *place,
                            hova_error *error);

/// Opens a place that was found, for writing to `descriptor`. A new file gets
/// `mode`, reduced by the umask; one that is replaced keeps the mode it has,
/// but becomes executable where `mode` is.
hova_status hova_place_open(hova_place *place, unsigned mode,
                            hova_error *error);

/// What a failed system call says of the place.
hova_status hova_place_fail(const hova_place *place, int number,
                            hova_error *error);

/// Ends several open places: each gets its final name, or none does and what
/// was there before stays. Closes them in either case.
hova_status hova_places_keep(hova_place **places, size_t count,
                             hova_error *error);

/// Closes a place, open or not, and removes what was written.
void hova_place_discard(hova_place *place);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_PLACE_H
