/*===- show.c - Print what the brackets model says ------------------------===*\
|* SPDX-License-Identifier: Apache-2.0
|*
|* usage: show TOKENS.npy LABELS.npy LOGITS.npy FRAMEWORK.npy
|*
|* TOKENS [n, 48] i32, LABELS [n] i32, LOGITS [n, 6] f32 of the compiled program
|* and FRAMEWORK [n, 6] f32 of the framework that trained it. Exit status: 0
|* when every prediction is the framework's, 3 when one differs, 1 for an
|* unreadable file.
\*===----------------------------------------------------------------------===*/
#include "examples/show.h"

enum { LENGTH = 48, CLASSES = 6, SHOWN = 8 };

int main(int argc, char **argv) {
  struct samples all = read_samples(argc, argv, "<i4", LENGTH, CLASSES);
  size_t which[SHOWN], shown = choose(&all, which, SHOWN);
  for (size_t i = 0; i < shown; ++i) {
    const int32_t *row = (const int32_t *)all.inputs + which[i] * LENGTH;
    int guess = answer(&all, all.logits, which[i]);
    for (int place = 0; place < LENGTH; ++place) {
      putchar("abcdef()"[row[place]]);
    }
    printf("  %c (%2.0f %%)%s\n", 'a' + guess,
           100 * confidence(&all, which[i], guess),
           guess == all.labels[which[i]] ? "" : " wrong");
  }
  printf("\n");
  int status = compare(&all, "rows");
  free_samples(&all);
  return status;
}
