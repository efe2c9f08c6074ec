//===- Nearest.c - The name that was probably meant -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/Nearest.h"

#include <string.h>

#define LONGEST_NAME 64

nearest_name hova_start_nearest(const char *word, size_t length) {
  size_t limit = length / 3 > 0 ? length / 3 : 1;
  return (nearest_name){word, length, NULL, limit + 1};
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/// Insertions, deletions, replacements and swaps of neighbours that turn one
/// into the other.
static size_t edit_distance(const char *a, size_t a_length, const char *b,
                            size_t b_length) {
  // Three rows: a swap looks two rows back.
  size_t rows[3][LONGEST_NAME + 1];
  for (size_t j = 0; j <= b_length; ++j) {
    rows[0][j] = j;
  }
  for (size_t i = 1; i <= a_length; ++i) {
    size_t *row = rows[i % 3];
    const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; ++j) {
      row[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
                     least(last[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = least(row[j], before[j - 2] + 1);
      }
    }
  }
  return rows[a_length % 3][b_length];
}

void hova_offer_nearest(nearest_name *nearest, const char *name) {
  size_t length = strlen(name);
  // One letter is near to every other one.
  if (nearest->length < 2 || nearest->length > LONGEST_NAME ||
      length > LONGEST_NAME) {
    return;
  }
  size_t distance = edit_distance(nearest->word, nearest->length, name, length);
  if (distance < nearest->distance) {
    nearest->distance = distance;
    nearest->name = name;
  }
}
