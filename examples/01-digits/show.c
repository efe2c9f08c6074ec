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

static const char *const names[CLASSES] = {"0", "1", "2", "3", "4",
                                           "5", "6", "7", "8", "9"};

int main(int argc, char **argv) {
  struct samples all = read_samples(argc, argv, "<f4", SIDE * SIDE, CLASSES);
  print_predictions(&all, SIDE, names, SHOWN, PER_ROW);
  int status = compare(&all, "images");
  free_samples(&all);
  return status;
}
