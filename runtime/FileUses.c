//===- FileUses.c - What a command reads and writes -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/FileUses.h"

static hova_status identify(hova_file_use *use, hova_error *error) {
  hova_place place;
  if (!use->written) {
    use->identity = hova_identify(use->path);
    // What is not there yet may be what this command writes.
    if (!use->identity.known &&
        hova_place_find(use->path, &place, NULL) == HOVA_OK) {
      use->identity = place.identity;
    }
    return HOVA_OK;
  }
  hova_status status = hova_place_find(use->path, &place, error);
  use->identity = place.identity;
  return status;
}

hova_status hova_check_files(hova_file_use *uses, size_t count,
                             hova_error *error) {
  hova_status found = HOVA_OK;
  for (size_t i = 0; i < count; ++i) {
    hova_status status = identify(&uses[i], found == HOVA_OK ? error : NULL);
    found = found == HOVA_OK ? status : found;
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count && uses[i].written; ++j) {
      bool other = uses[j].written ? j < i : true;
      if (other && hova_is_same_file(&uses[i].identity, &uses[j].identity)) {
        return hova_fail(error, HOVA_REJECTED,
                         "cannot write '%s' (%s): it is the same file as '%s' "
                         "(%s); choose another",
                         uses[i].path, uses[i].what, uses[j].path,
                         uses[j].what);
      }
    }
  }
  return found;
}
