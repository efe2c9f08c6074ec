//===- HovaFault.h - Which planted fault is on ------------------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by the planted copies of sources only (test/full/nets/plant.py): the
// environment names one fault for a process, and both sides of each line are in
// the program. In C and in C++, and without a library, because the runtime of
// compiled programs has planted lines too.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TEST_FULL_NETS_HOVAFAULT_H
#define HOVA_TEST_FULL_NETS_HOVAFAULT_H

#include <stdlib.h>

#ifdef __cplusplus
#include <cstdio>

/// Leaves a file of that number in the folder HOVA_FAULTS_REACHED, where there
/// is one: a line that a compilation does not reach cannot change its program.
static inline void hovaReached(int number) {
  static const char *folder = getenv("HOVA_FAULTS_REACHED");
  static bool known[256];
  if (!folder || number >= 256 || known[number]) {
    return;
  }
  known[number] = true;
  char path[4096];
  snprintf(path, sizeof(path), "%s/%d", folder, number);
  if (FILE *file = fopen(path, "w")) {
    fclose(file);
  }
}
#endif

/// Whether the environment's HOVA_FAULT is `number`. hova reads it once.
/// Programs read it every time: the linker has no place for data of the runtime
/// before the image of the weights.
static inline int hovaFault(int number) {
#ifdef __cplusplus
  hovaReached(number);
  static
#endif
      const char *text = getenv("HOVA_FAULT");
  return text && atoi(text) == number;
}

#endif // HOVA_TEST_FULL_NETS_HOVAFAULT_H
