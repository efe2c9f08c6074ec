//===- ArgumentsTest.cpp - Tensors in another memory than the processor's -===//
// SPDX-License-Identifier: Apache-2.0
//
// What hova_run makes of these checks is in ContextTest.cpp.

#include "FixtureCall.h"

#include <string>
#include <sys/mman.h>

extern "C" {
#include "runtime/Arguments.h"
}

using namespace hova::test;

namespace {

const hova_sizes fixed = {};

/// Memory that the processor cannot read, as that of another device: to look
/// at one byte of it ends the test.
class DeviceMemory : public ::testing::Test {
protected:
  void SetUp() override {
    memory =
        mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    size_t place = 0;
    auto move = [&](hova_tensor &tensor) {
      tensor.device.device_type = 2;
      tensor.data = static_cast<char *>(memory) + 4096 * place++;
    };
    for (hova_tensor &tensor : call.inputs) {
      move(tensor);
    }
    for (hova_tensor &tensor : call.outputs) {
      move(tensor);
    }
  }
  void TearDown() override { munmap(memory, kBytes); }

  hova_status check(enum hova_memory_kind kind) {
    return hova_check_arguments(&hova_program_fixture, &fixed, kind,
                                call.inputs, call.outputs, inputs, outputs,
                                &error);
  }

  static constexpr size_t kBytes = 5 * 4096;
  void *memory = nullptr;
  Call call;
  void *inputs[3] = {}, *outputs[2] = {};
  hova_error error = {};
};

TEST_F(DeviceMemory, is_taken_without_a_look_at_it) {
  ASSERT_EQ(check(HOVA_CUDA_MEMORY), HOVA_OK) << error.text;
  EXPECT_EQ(inputs[1], call.inputs[1].data);
  EXPECT_EQ(outputs[1], call.outputs[1].data);
}

TEST_F(DeviceMemory, is_not_the_processors) {
  EXPECT_EQ(check(HOVA_CPU_MEMORY), HOVA_REJECTED);
  EXPECT_EQ(std::string(error.text),
            "input 'x' expects CPU memory (device type 1), got 2");
}

TEST_F(DeviceMemory, is_not_where_another_output_is) {
  call.outputs[1].data = static_cast<char *>(call.outputs[0].data) + 16;
  EXPECT_EQ(check(HOVA_CUDA_MEMORY), HOVA_REJECTED);
  EXPECT_EQ(std::string(error.text),
            "output 'kept' overlaps output 'y' in memory");
}

TEST_F(DeviceMemory, is_aligned_to_what_kernels_read_at_once) {
  call.inputs[0].byte_offset = 8;
  EXPECT_EQ(check(HOVA_CUDA_MEMORY), HOVA_REJECTED);
  EXPECT_EQ(std::string(error.text),
            "input 'x' expects data aligned to 16 bytes");
  call.inputs[0].byte_offset = 16;
  EXPECT_EQ(check(HOVA_CUDA_MEMORY), HOVA_OK);
}

TEST_F(DeviceMemory, may_stand_beside_that_of_the_processor) {
  Call here;
  call.inputs[1] = here.inputs[1];
  EXPECT_EQ(check(HOVA_CPU_OR_CUDA_MEMORY), HOVA_OK) << error.text;
  EXPECT_EQ(check(HOVA_CUDA_MEMORY), HOVA_REJECTED);
  for (int32_t other : {0, 3, -1}) {
    call.inputs[1].device.device_type = other;
    EXPECT_EQ(check(HOVA_CPU_OR_CUDA_MEMORY), HOVA_REJECTED);
    EXPECT_EQ(std::string(error.text),
              "input 'ids' expects CPU or CUDA memory (device type 1 or 2), "
              "got " +
                  std::to_string(other));
  }
}

TEST(Arguments, of_the_processor_are_not_in_device_memory) {
  Call call;
  void *inputs[3], *outputs[2];
  hova_error error = {};
  EXPECT_EQ(hova_check_arguments(&hova_program_fixture, &fixed,
                                 HOVA_CUDA_MEMORY, call.inputs, call.outputs,
                                 inputs, outputs, &error),
            HOVA_REJECTED);
  EXPECT_EQ(std::string(error.text),
            "input 'x' expects CUDA memory (device type 2), got 1");
}

TEST(Arguments, have_contents_that_are_a_question_of_their_own) {
  Call call;
  call.ids[2] = 10;
  void *inputs[3], *outputs[2];
  hova_error error = {};
  ASSERT_EQ(hova_check_arguments(&hova_program_fixture, &fixed, HOVA_CPU_MEMORY,
                                 call.inputs, call.outputs, inputs, outputs,
                                 &error),
            HOVA_OK);
  EXPECT_EQ(hova_check_contents(&hova_program_fixture, &fixed, inputs, &error),
            HOVA_REJECTED);
  EXPECT_NE(std::string(error.text).find("got 10 at element 2"),
            std::string::npos)
      << error.text;
}

} // namespace
