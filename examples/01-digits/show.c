/*===- show.c - Print the digits demo's result
------------------------------===*\
|* SPDX-License-Identifier: Apache-2.0
|*
|* usage: show IMAGES.npy LABELS.npy LOGITS.npy FRAMEWORK.npy
|*
|* IMAGES [n, 1, 8, 8] f32 in 0..1, LABELS [n] i32, LOGITS [n, 10] f32 of the
|* compiled program and FRAMEWORK [n, 10] f32 of the framework that trained it.
|* Prints some images with their predictions, the accuracy, and how far the two
|* sets of logits are apart. Exit status: 0 when every prediction is the
|* framework's, 3 when one differs, 1 for an unreadable file.
\*===------------------------------------------------------------------------===*/
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, CLASSES = 10, SHOWN = 8, PER_ROW = 4 };

/* Reads the payload of a version 1 npy file of four-byte elements in C order
 * whose header names `type`. Stores the number of elements in *count. */
static void *read_npy(const char *path, const char *type, size_t *count) {
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

static int best(const float *logits) {
  int at = 0;
  for (int i = 1; i < CLASSES; ++i) {
    if (logits[i] > logits[at]) {
      at = i;
    }
  }
  return at;
}

/* The softmax probability of class `at`. */
static double confidence(const float *logits, int at) {
  double sum = 0;
  for (int i = 0; i < CLASSES; ++i) {
    sum += exp((double)logits[i] - logits[at]);
  }
  return 1 / sum;
}

/* Prints up to PER_ROW images side by side, two columns a pixel. */
static void print_row(const float *images, const int32_t *labels,
                      const float *logits, const size_t *which, size_t count) {
  static const char shades[] = " .:-=+*#%@";
  for (int y = 0; y < SIDE; ++y) {
    for (size_t i = 0; i < count; ++i) {
      const float *line = images + (which[i] * SIDE + y) * SIDE;
      printf("  ");
      for (int x = 0; x < SIDE; ++x) {
        char shade = shades[(int)(line[x] * 9 + 0.5f)];
        printf("%c%c", shade, shade);
      }
    }
    printf("\n");
  }
  for (size_t i = 0; i < count; ++i) {
    const float *row = logits + which[i] * CLASSES;
    int guess = best(row);
    char text[32];
    snprintf(text, sizeof text, "%d (%2.0f %%)%s", guess,
             100 * confidence(row, guess),
             guess == labels[which[i]] ? "" : " wrong");
    printf("  %-16s", text);
  }
  printf("\n\n");
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr,
            "usage: show IMAGES.npy LABELS.npy LOGITS.npy FRAMEWORK.npy\n");
    return 2;
  }
  size_t pixels, n, outputs, expected;
  float *images = read_npy(argv[1], "<f4", &pixels);
  int32_t *labels = read_npy(argv[2], "<i4", &n);
  float *logits = read_npy(argv[3], "<f4", &outputs);
  float *framework = read_npy(argv[4], "<f4", &expected);
  if (pixels != n * SIDE * SIDE || outputs != n * CLASSES ||
      expected != outputs) {
    fprintf(stderr, "show: the files hold different numbers of images\n");
    return 1;
  }

  size_t right = 0, right_there = 0, equal = 0, shown = 0, which[SHOWN];
  double apart = 0;
  for (size_t i = 0; i < n; ++i) {
    int here = best(logits + i * CLASSES),
        there = best(framework + i * CLASSES);
    right += here == labels[i];
    right_there += there == labels[i];
    equal += here == there;
    for (int c = 0; c < CLASSES; ++c) {
      double difference =
          fabs((double)logits[i * CLASSES + c] - framework[i * CLASSES + c]);
      apart = difference > apart || isnan(difference) ? difference : apart;
    }
    /* The first images, and whatever the model gets wrong. */
    if (shown < SHOWN - 1 || (shown < SHOWN && here != labels[i])) {
      which[shown++] = i;
    }
  }
  for (size_t i = 0; i < shown; i += PER_ROW) {
    print_row(images, labels, logits, which + i,
              shown - i < PER_ROW ? shown - i : PER_ROW);
  }
  printf("accuracy            %zu of %zu held-out images (%.2f %%)\n", right, n,
         100.0 * right / n);
  printf("training framework  %zu of %zu; the same prediction for %zu of %zu "
         "images,\n"
         "                    logits at most %.1e apart\n",
         right_there, n, equal, n, apart);
  free(images);
  free(labels);
  free(logits);
  free(framework);
  return equal == n ? 0 : 3;
}
