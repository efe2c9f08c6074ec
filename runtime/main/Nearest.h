//===- Nearest.h - The name that was probably meant -------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_NEAREST_H
#define HOVA_RUNTIME_MAIN_NEAREST_H

#include <stddef.h>

/// Keeps the nearest of the names that are offered one by one.
typedef struct nearest_name {
  const char *word;
  size_t length;
  const char *name; ///< null: none is near
  size_t distance;
} nearest_name;

/// Starts with the first `length` bytes of `word`.
nearest_name hova_start_nearest(const char *word, size_t length);

/// Keeps `name` if it is nearer than what is kept, and near enough to be a slip
/// of the keyboard: a third of the word at most.
void hova_offer_nearest(nearest_name *nearest, const char *name);

#endif // HOVA_RUNTIME_MAIN_NEAREST_H
