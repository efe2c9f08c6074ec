//===- classify.c - A compiled model inside a C program -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Classifies a picture that is drawn below. The model is a shared library made
// with `hova compile --emit=lib`; digits.h came with it and is all that is
// needed to use it.
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <stdio.h>
#include <string.h>

static const char picture[8][9] = {"  -@#.  ", //
                                   "  :*@*  ", //
                                   "    %*  ", //
                                   "  .:%%. ", //
                                   "  #@@*: ", //
                                   "  :*%   ", //
                                   "   %-   ", //
                                   "  -*    "};

int main(void) {
  // Darker characters are larger values, from 0 to 1.
  static const char shades[] = " .:-=+*#%@";
  float image[8 * 8];
  for (int i = 0; i < 8 * 8; ++i) {
    char shade = picture[i / 8][i % 8];
    image[i] = (float)(strchr(shades, shade) - shades) / 9;
  }
  float logits[10];
  int64_t image_shape[] = {1, 1, 8, 8};
  int64_t logits_shape[] = {1, 10};
  hova_tensor input =
      hova_make_tensor("image", HOVA_F32, 4, image_shape, image);
  hova_tensor output =
      hova_make_tensor("logits", HOVA_F32, 2, logits_shape, logits);

  char message[512];
  hova_options options = {0};
  options.message = message;
  options.message_bytes = sizeof message;
  hova_context *context;
  if (digits_create(&options, &context) != HOVA_OK) {
    fprintf(stderr, "classify: %s\n", message);
    return 1;
  }
  // Everything is allocated; from here on runs cost what they compute.
  if (digits_run(context, &input, &output) != HOVA_OK) {
    fprintf(stderr, "classify: %s\n", digits_message(context));
    digits_destroy(context);
    return 1;
  }
  digits_destroy(context);

  int best = 0;
  for (int i = 0; i < 10; ++i) {
    if (logits[i] > logits[best]) {
      best = i;
    }
  }
  printf("the picture shows a %d\n", best);
  return 0;
}
