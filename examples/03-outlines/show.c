/*===- show.c - Print what the outlines model says ------------------------===*\
|* SPDX-License-Identifier: Apache-2.0
|*
|* usage: show PICTURES.npy LABELS.npy LOGITS.npy FRAMEWORK.npy
|*
|* PICTURES [n, 1, 24, 24] f32 in 0..1, LABELS [n] i32, LOGITS [n, 6] f32 of
|* the compiled program and FRAMEWORK [n, 6] f32 of the framework that trained
|* it. Exit status: 0 when every prediction is the framework's, 3 when one
|* differs, 1 for an unreadable file.
\*===----------------------------------------------------------------------===*/
#include "examples/show.h"

enum { SIDE = 24, CLASSES = 6, SHOWN = 4, PER_ROW = 2 };

static const char *const names[CLASSES] = {"circle",   "circle with a gap",
                                           "square",   "square with a gap",
                                           "triangle", "triangle with a gap"};

int main(int argc, char **argv) {
  struct samples all = read_samples(argc, argv, "<f4", SIDE * SIDE, CLASSES);
  print_predictions(&all, SIDE, names, SHOWN, PER_ROW);
  int status = compare(&all, "pictures");
  free_samples(&all);
  return status;
}
