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

/// Whether the environment's HOVA_FAULT is `number`. hova reads it once.
/// Programs read it every time: the linker has no place for data of the runtime
/// before the image of the weights.
static inline int hovaFault(int number) {
#ifdef __cplusplus
  static
#endif
      const char *text = getenv("HOVA_FAULT");
  return text && atoi(text) == number;
}

#endif // HOVA_TEST_FULL_NETS_HOVAFAULT_H
