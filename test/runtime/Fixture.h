//===- Fixture.h - A small program for tests --------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_RUNTIME_FIXTURE_H
#define HOVA_TEST_RUNTIME_FIXTURE_H

#include "runtime/hova_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FIXTURE_ROWS = 4,
  FIXTURE_COLUMNS = 8,
  FIXTURE_SIZE = 32,
  FIXTURE_VOCABULARY = 10
};

#ifndef FIXTURE_WEIGHT_BYTES
#define FIXTURE_WEIGHT_BYTES 64
#endif

extern const hova_program hova_program_fixture;
/// Without weights: w = 1.
extern const hova_program hova_program_weightless;
/// Needs a machine that does not exist.
extern const hova_program hova_program_future;
/// One input x, one output y = 2 x.
extern const hova_program hova_program_scale;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_TEST_RUNTIME_FIXTURE_H
