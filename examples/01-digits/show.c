/*===- show.c - Print the digits demo's result ----------------------------===*\
|* SPDX-License-Identifier: Apache-2.0
|*
|* usage: show IMAGES.npy LABELS.npy LOGITS.npy FRAMEWORK.npy
|*
|* IMAGES [n, 1, 8, 8] f32 in 0..1, LABELS [n] i32, LOGITS [n, 10] f32 of the
|* compiled program and FRAMEWORK [n, 10] f32 of the framework that trained it.
|* Prints some images with their predictions, the accuracy, and how far the two
|* sets of logits are apart. Exit status: 0 when every prediction is the
|* framework's, 3 when one differs, 1 for an unreadable file.
\*===----------------------------------------------------------------------===*/
#include "examples/show.h"

enum { SIDE = 8, CLASSES = 10, SHOWN = 8, PER_ROW = 4 };

int main(int argc, char **argv) {
  struct samples all = read_samples(argc, argv, "<f4", SIDE * SIDE, CLASSES);
  size_t which[SHOWN], shown = choose(&all, which, SHOWN);
  for (size_t first = 0; first < shown; first += PER_ROW) {
    size_t count = shown - first < PER_ROW ? shown - first : PER_ROW;
    print_images(&all, SIDE, which + first, count);
    for (size_t i = first; i < first + count; ++i) {
      int guess = answer(&all, all.logits, which[i]);
      char text[32];
      snprintf(text, sizeof text, "%d (%2.0f %%)%s", guess,
               100 * confidence(&all, which[i], guess),
               guess == all.labels[which[i]] ? "" : " wrong");
      printf("  %-16s", text);
    }
    printf("\n\n");
  }
  int status = compare(&all, "images");
  free_samples(&all);
  return status;
}
