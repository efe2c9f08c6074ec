/*===- show.h - What the examples' programs show.c share ------------------===*\
|* SPDX-License-Identifier: Apache-2.0
|*
|* Reads npy files, and compares what a compiled program computed for held-out
|* samples with their classes and with what the framework computed that trained
|* the model.
\*===----------------------------------------------------------------------===*/
#ifndef EXAMPLES_SHOW_H
#define EXAMPLES_SHOW_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Held-out samples: `size` inputs of four bytes and one row of logits each. */
struct samples {
  size_t count, size, classes;
  void *inputs;     /* [count, size] */
  int32_t *labels;  /* [count] */
  float *logits;    /* [count, classes], of the compiled program */
  float *framework; /* the same of the framework */
};

/* Reads the payload of a version 1 npy file of four-byte elements in C order
 * whose header names `type`. Stores the number of elements in *count. */
static inline void *read_npy(const char *path, const char *type,
                             size_t *count) {
  FILE *file = fopen(path, "rb");
  unsigned char start[10];
  char header[1024];
  long end = 0;
  void *data = NULL;
  if (file && fread(start, 1, 10, file) == 10 &&
      memcmp(start, "\x93NUMPY\x01", 7) == 0) {
    size_t length = start[8] + 256u * start[9];
    if (length < sizeof header && fread(header, 1, length, file) == length) {
      header[length] = '\0';
      long begin = ftell(file);
      if (strstr(header, type) && strstr(header, "'fortran_order': False") &&
          fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > begin &&
          fseek(file, begin, SEEK_SET) == 0) {
        *count = (size_t)(end - begin) / 4;
        data = malloc(*count * 4);
        if (data && fread(data, 4, *count, file) != *count) {
          free(data);
          data = NULL;
        }
      }
    }
  }
  if (file) {
    fclose(file);
  }
  if (!data) {
    fprintf(stderr, "show: %s is not a readable npy file of type %s\n", path,
            type);
    exit(1);
  }
  return data;
}

/* Reads the four files named on the command line: inputs of type `type`, int32
 * classes, and float32 logits of the program and of the framework. */
static inline struct samples read_samples(int argc, char **argv,
                                          const char *type, size_t size,
                                          size_t classes) {
  struct samples all = {0, size, classes, NULL, NULL, NULL, NULL};
  size_t inputs, outputs, expected;
  if (argc != 5) {
    fprintf(stderr,
            "usage: show INPUTS.npy LABELS.npy LOGITS.npy FRAMEWORK.npy\n");
    exit(2);
  }
  all.inputs = read_npy(argv[1], type, &inputs);
  all.labels = read_npy(argv[2], "<i4", &all.count);
  all.logits = read_npy(argv[3], "<f4", &outputs);
  all.framework = read_npy(argv[4], "<f4", &expected);
  if (inputs != all.count * size || outputs != all.count * classes ||
      expected != outputs) {
    fprintf(stderr, "show: the files hold different numbers of samples\n");
    exit(1);
  }
  return all;
}

static inline void free_samples(struct samples *all) {
  free(all->inputs);
  free(all->labels);
  free(all->logits);
  free(all->framework);
}

/* The class of sample i that the program finds most likely. */
static inline int answer(const struct samples *all, const float *logits,
                         size_t i) {
  const float *row = logits + i * all->classes;
  int best = 0;
  for (int c = 1; c < (int)all->classes; ++c) {
    if (row[c] > row[best]) {
      best = c;
    }
  }
  return best;
}

/* The softmax probability that the program gives class `at` of sample i. */
static inline double confidence(const struct samples *all, size_t i, int at) {
  const float *row = all->logits + i * all->classes;
  double sum = 0;
  for (size_t c = 0; c < all->classes; ++c) {
    sum += exp((double)row[c] - row[at]);
  }
  return 1 / sum;
}

/* The first samples, and whatever the model gets wrong: fills `which` with up
 * to `room` of them and returns how many. */
static inline size_t choose(const struct samples *all, size_t *which,
                            size_t room) {
  size_t chosen = 0;
  for (size_t i = 0; i < all->count && chosen < room; ++i) {
    int wrong = answer(all, all->logits, i) != all->labels[i];
    if (wrong || chosen + 1 < room) {
      which[chosen++] = i;
    }
  }
  return chosen;
}

/* Prints the accuracy of both and how far their logits are apart. Returns the
 * exit status: 0 if they give every sample the same class, else 3. */
static inline int compare(const struct samples *all, const char *noun) {
  size_t right = 0, right_there = 0, equal = 0;
  double apart = 0;
  for (size_t i = 0; i < all->count; ++i) {
    int here = answer(all, all->logits, i);
    int there = answer(all, all->framework, i);
    right += here == all->labels[i];
    right_there += there == all->labels[i];
    equal += here == there;
  }
  for (size_t i = 0; i < all->count * all->classes; ++i) {
    double difference = fabs((double)all->logits[i] - all->framework[i]);
    apart = difference > apart || isnan(difference) ? difference : apart;
  }
  printf("accuracy            %zu of %zu held-out %s (%.2f %%)\n", right,
         all->count, noun, 100.0 * right / all->count);
  printf("training framework  %zu of %zu; the same prediction for %zu of %zu "
         "%s,\n"
         "                    logits at most %.1e apart\n",
         right_there, all->count, equal, all->count, noun, apart);
  return equal == all->count ? 0 : 3;
}

/* Prints grey values [side, side] of images side by side, two columns a pixel.
 */
static inline void print_images(const struct samples *all, size_t side,
                                const size_t *which, size_t count) {
  static const char shades[] = " .:-=+*#%@";
  const float *images = all->inputs;
  for (size_t y = 0; y < side; ++y) {
    for (size_t i = 0; i < count; ++i) {
      const float *line = images + (which[i] * side + y) * side;
      printf("  ");
      for (size_t x = 0; x < side; ++x) {
        char shade = shades[(int)(line[x] * 9 + 0.5f)];
        printf("%c%c", shade, shade);
      }
    }
    printf("\n");
  }
}

/* Prints what choose() finds, up to `shown` images of [side, side] in rows of
 * `per_row`, each with the name of the class that the program gives it. */
static inline void print_predictions(const struct samples *all, size_t side,
                                     const char *const *names, size_t shown,
                                     size_t per_row) {
  size_t which[16];
  shown = choose(all, which, shown < 16 ? shown : 16);
  for (size_t first = 0; first < shown; first += per_row) {
    size_t count = shown - first < per_row ? shown - first : per_row;
    print_images(all, side, which + first, count);
    for (size_t i = first; i < first + count; ++i) {
      int guess = answer(all, all->logits, which[i]);
      char text[64];
      snprintf(text, sizeof text, "%s (%2.0f %%)%s", names[guess],
               100 * confidence(all, which[i], guess),
               guess == all->labels[which[i]] ? "" : " wrong");
      printf("  %-*s", (int)(2 * side), text);
    }
    printf("\n\n");
  }
}

#endif
