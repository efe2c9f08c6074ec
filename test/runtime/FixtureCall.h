//===- FixtureCall.h - Arguments and contexts of the fixture ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_RUNTIME_FIXTURECALL_H
#define HOVA_TEST_RUNTIME_FIXTURECALL_H

#include "Fixture.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace hova::test {

/// Arguments of the fixture that are right until a test changes them.
struct Call {
  alignas(64) float x[FIXTURE_SIZE];
  alignas(64) int64_t ids[FIXTURE_ROWS] = {0, 1, 2, 9};
  alignas(64) uint8_t mask[FIXTURE_ROWS] = {1, 0, 1, 1};
  alignas(64) float y[FIXTURE_SIZE];
  alignas(64) int32_t kept = -1;
  int64_t matrix[2] = {FIXTURE_ROWS, FIXTURE_COLUMNS};
  int64_t rows[1] = {FIXTURE_ROWS};
  int64_t strides[2] = {FIXTURE_COLUMNS, 1};
  hova_tensor inputs[3];
  hova_tensor outputs[2];

  Call() {
    for (int i = 0; i < FIXTURE_SIZE; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = -1;
    }
    inputs[0] = hova_make_tensor("x", HOVA_F32, 2, matrix, x);
    inputs[1] = hova_make_tensor("ids", HOVA_I64, 1, rows, ids);
    inputs[2] = hova_make_tensor("mask", HOVA_BOOL, 1, rows, mask);
    outputs[0] = hova_make_tensor("y", HOVA_F32, 2, matrix, y);
    outputs[1] = hova_make_tensor("kept", HOVA_I32, 0, nullptr, &kept);
  }

  bool isRight() const {
    for (int i = 0; i < FIXTURE_SIZE; ++i) {
      float expected = x[FIXTURE_SIZE - 1 - i] +
                       static_cast<float>(ids[i / FIXTURE_COLUMNS]);
      if (y[i] != expected) {
        return false;
      }
    }
    return kept == 3;
  }

  bool isUntouched() const {
    for (float value : y) {
      if (value != -1) {
        return false;
      }
    }
    return kept == -1;
  }
};

/// A context of the program without weights.
struct Context {
  hova_context *context = nullptr;

  explicit Context(int32_t threads = 1) {
    hova_options options = {};
    options.threads = threads;
    EXPECT_EQ(hova_create(&hova_program_weightless, &options, &context),
              HOVA_OK);
  }
  ~Context() { hova_destroy(context); }
};

/// Longer than workers watch for the next run.
inline void sleepUntilWorkersSleep() {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

} // namespace hova::test

#endif // HOVA_TEST_RUNTIME_FIXTURECALL_H
