//===- LevelsTest.cpp - Which code of a program a GPU takes ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DeviceCall.h"
#include "StandInDriver.h"

#include <algorithm>

using namespace hova::test;

namespace {

class Levels : public testing::Test {
protected:
  void TearDown() override {
    stand_in_set_device(80, 1 << 20, 1);
    EXPECT_EQ(stand_in_live(), 0);
  }
};

/// Three levels, the best first: 163 KiB, 99 KiB, and one of 8.9 alone.
struct Program {
  hova_program program = hova_program_device;
  hova_device_code large = *hova_program_device.levels->device;
  hova_device_code small = large, exact = large;
  hova_level levels[3] = {{"large", 0, nullptr, nullptr, &large},
                          {"exact", 0, nullptr, nullptr, &exact},
                          {"small", 0, nullptr, nullptr, &small}};
  hova_device_kernel wide[3];

  Program() {
    std::copy(large.kernels, large.kernels + 3, wide);
    wide[2].shared_bytes = 120 << 10;
    large.kernels = wide;
    small.shared_bytes = exact.shared_bytes = 99 << 10;
    exact.capability = exact.last_capability = 89;
    program.levels = levels;
    program.num_levels = 3;
  }
  /// The level that a device takes, or why none.
  std::string take(int capability) {
    stand_in_set_device(capability, 1 << 20, 1);
    DeviceContext made(program);
    return made.context ? hova_level_of(made.context)->name : made.message;
  }
};

TEST_F(Levels, are_picked_by_shared_memory_and_capability) {
  Program made;
  EXPECT_EQ(made.take(80), "large");
  EXPECT_EQ(made.take(90), "large");
  EXPECT_EQ(made.take(86), "small");
  EXPECT_EQ(made.take(89), "exact");
  EXPECT_EQ(made.take(120), "small");
  EXPECT_EQ(made.take(75), "program 'device' needs a GPU of compute capability "
                           "8.0; Stand-in GPU has 7.5");
}

TEST_F(Levels, for_more_shared_memory_are_taken_if_kernels_need_less) {
  Program made;
  made.program.num_levels = 1;
  EXPECT_EQ(made.take(86),
            "program 'device' needs a GPU with 122880 bytes of shared memory "
            "in a block, for kernel 'gather'; Stand-in GPU has 101376");
  made.wide[2].shared_bytes = 99 << 10;
  EXPECT_EQ(made.take(86), "large");
}

TEST_F(Levels, of_one_capability_run_on_no_later_one) {
  Program made;
  made.program.levels = made.levels + 1;
  made.program.num_levels = 1;
  EXPECT_EQ(made.take(89), "exact");
  EXPECT_EQ(made.take(120),
            "program 'device' needs a GPU of compute capability 8.9 and no "
            "later one; Stand-in GPU has 12.0");
}

} // namespace
