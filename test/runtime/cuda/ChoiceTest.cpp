//===- ChoiceTest.cpp - On which kind of machine a context runs -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A program for a GPU with an alternative for the processor, on a stand-in for
// the driver.
//
//===----------------------------------------------------------------------===//

#include "DeviceCall.h"
#include "StandInDriver.h"

namespace hova::test {

/// The stand-in as it is at the start, before and after each test.
struct Choice : ::testing::Test {
  DeviceCall call;

  Choice() { stand_in_set_device(80, 1 << 20, 1); }
  ~Choice() override {
    stand_in_set_device(80, 1 << 20, 1);
    EXPECT_EQ(stand_in_live(), 0);
  }
  /// What a context that runs says of itself, and its machine.
  std::string choice(hova_options options, const char *target) {
    DeviceContext made(hova_program_both, options);
    EXPECT_EQ(made.status, HOVA_OK) << made.message;
    if (!made.context) {
      return made.message;
    }
    EXPECT_STREQ(hova_target(made.context), target);
    std::string message = made.message;
    EXPECT_EQ(made.run(call), HOVA_OK) << made.message;
    EXPECT_TRUE(call.isRight());
    call.clear();
    return message;
  }
  std::string refusal(hova_options options) {
    DeviceContext made(hova_program_both, options);
    EXPECT_EQ(made.status, HOVA_REJECTED);
    EXPECT_EQ(made.context, nullptr);
    return made.message;
  }
};

TEST_F(Choice, a_gpu_is_taken_where_there_is_one) {
  EXPECT_EQ(choice({}, "cuda"), "runs on Stand-in GPU");
}

TEST_F(Choice, the_processor_is_taken_where_there_is_no_gpu) {
  stand_in_set_device(80, 1 << 20, 0);
  EXPECT_EQ(choice({}, "cpu"),
            "runs on the processor: found no NVIDIA GPU, which kernels for a "
            "GPU need");
}

TEST_F(Choice, a_gpu_that_is_too_old_is_none) {
  stand_in_set_device(75, 1 << 20, 1);
  EXPECT_EQ(choice({}, "cpu"),
            "runs on the processor: program 'device' needs a GPU of compute "
            "capability 8.0; Stand-in GPU has 7.5");
}

TEST_F(Choice, a_gpu_with_too_little_shared_memory_is_none) {
  hova_program both = hova_program_both;
  hova_device_code code = *both.levels->device;
  std::vector<hova_device_kernel> kernels{code.kernels, code.kernels + 3};
  kernels[2].shared_bytes = 100 << 10;
  code.kernels = kernels.data();
  hova_level level = {"sm_80", 0, nullptr, nullptr, &code};
  both.levels = &level;
  stand_in_set_device(86, 1 << 20, 1);
  DeviceContext made(both);
  EXPECT_EQ(made.message,
            "runs on the processor: program 'device' needs a GPU with 102400 "
            "bytes of shared memory in a block, for kernel 'gather'; Stand-in "
            "GPU has 101376");
}

TEST_F(Choice, what_the_caller_says_is_taken_without_a_word) {
  hova_options options = {};
  options.target = "cpu";
  EXPECT_EQ(choice(options, "cpu"), "");
  options.target = "cuda";
  EXPECT_EQ(choice(options, "cuda"), "");
  stand_in_set_device(80, 1 << 20, 0);
  EXPECT_EQ(refusal(options), "found no NVIDIA GPU, which kernels for a GPU "
                              "need");
  options.target = "gpu";
  EXPECT_EQ(refusal(options),
            "program 'device' is for cuda, cpu; it expects no target 'gpu'");
}

TEST_F(Choice, threads_are_of_the_processor) {
  hova_options options = {};
  options.threads = 2;
  EXPECT_EQ(choice(options, "cuda"), "runs on Stand-in GPU");
  options.target = "cuda";
  EXPECT_EQ(refusal(options), "expects 0 or 1 threads, got 2: the kernels of "
                              "this program are for a GPU");
  options.target = nullptr;
  stand_in_set_device(80, 1 << 20, 0);
  DeviceContext made(hova_program_both, options);
  EXPECT_EQ(hova_threads_of(made.context), 2);
}

TEST_F(Choice, a_number_or_a_stream_asks_for_a_gpu) {
  hova_options options = {};
  options.device = 1;
  EXPECT_EQ(refusal(options), "expects a device from 0 to 0, got 1");
  char stream[1];
  options = {};
  options.stream = stream;
  stand_in_set_device(80, 1 << 20, 0);
  EXPECT_EQ(refusal(options), "found no NVIDIA GPU, which kernels for a GPU "
                              "need");
  options.target = "cpu";
  EXPECT_EQ(refusal(options), "a device other than 0, or a stream, asks for a "
                              "GPU, and the program is to run on cpu");
}

TEST_F(Choice, a_gpu_that_is_there_and_fails_is_an_error) {
  stand_in_set_device(80, 1000, 1);
  EXPECT_EQ(refusal({}), "Stand-in GPU has too little memory: the program "
                         "takes 1792 bytes, and 1000 of 1000 are free");
}

TEST_F(Choice, two_refusals_are_both_told) {
  stand_in_set_device(80, 1 << 20, 0);
  hova_program processor = *hova_program_both.alternative;
  hova_level level = processor.levels[0];
  level.features = HOVA_CPU(AVX512F) | UINT64_C(1) << 63;
  level.name = "future";
  processor.levels = &level;
  hova_program both = hova_program_both;
  both.alternative = &processor;
  DeviceContext made(both);
  EXPECT_EQ(made.status, HOVA_REJECTED);
  EXPECT_EQ(made.message.find("found no NVIDIA GPU, which kernels for a GPU "
                              "need; program 'device' needs a processor of "
                              "level future"),
            0u)
      << made.message;
}

TEST_F(Choice, tensors_of_a_device_are_refused_by_the_processor) {
  stand_in_set_device(80, 1 << 20, 0);
  DeviceContext made(hova_program_both);
  call.inputs[0].device.device_type = 2;
  EXPECT_EQ(made.run(call), HOVA_REJECTED);
  EXPECT_EQ(made.message,
            "input 'x' expects CPU memory (device type 1), got 2");
}

} // namespace hova::test
