//===- GuardedRunTest.cpp - Accesses out of bounds are found --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The programs are written by hand (Inputs/Launches.c), each with one access
// out of bounds that changes no result, or none.

#include "codegen/reference/GuardedRun.h"
#include "gtest/gtest.h"

using namespace hova;

namespace {

using Flush = GuardedMemory::Flush;

TEST(GuardedMemory, is_flush_with_the_pages_around_it) {
  for (Flush flush : {Flush::Front, Flush::Back}) {
    auto memory = GuardedMemory::create(20, 4, flush);
    ASSERT_TRUE(static_cast<bool>(memory));
    volatile char *data = memory->data();
    auto touch = [&](int64_t at) { return catchFault([&] { data[at] = 1; }); };
    EXPECT_FALSE(touch(0));
    EXPECT_FALSE(touch(19));
    EXPECT_FALSE(memory->findOverwritten());
    auto fault = touch(flush == Flush::Front ? -1 : 20);
    ASSERT_TRUE(fault.has_value());
    EXPECT_TRUE(fault->writes);
    EXPECT_TRUE(memory->surrounds(fault->address));
    EXPECT_FALSE(touch(flush == Flush::Front ? 20 : -1));
    EXPECT_EQ(memory->findOverwritten(), flush == Flush::Front ? 20 : -1);
  }
}

TEST(GuardedMemory, tells_reads_from_writes) {
  auto memory = GuardedMemory::create(4, 4, Flush::Back);
  ASSERT_TRUE(static_cast<bool>(memory));
  memory->makeReadOnly();
  volatile char *data = memory->data();
  EXPECT_FALSE(catchFault([&] { (void)data[0]; }));
  EXPECT_TRUE(catchFault([&] { data[0] = 1; })->writes);
  EXPECT_FALSE(catchFault([&] { (void)data[4]; })->writes);
}

/// What is found in the program with a mistake; "" for nothing.
std::string faultOf(int mistake, Flush flush) {
  auto program = CompiledProgram::load(HOVA_TEST_PROGRAMS "/liblaunches_" +
                                           std::to_string(mistake) + ".so",
                                       "launches");
  if (!program) {
    return llvm::toString(program.takeError());
  }
  std::vector<GuardedLaunch> launches = {
      {{{"", 20, 4},
        {"weight 'w'", 20, 4},
        {"value 'sum'", 32, 4},
        {"the thread chunk's value 'h'", 64, 4}},
       20},
      {{{"value 'sum'", 32, 4}, {"weight 'w'", 20, 4}, {"", 20, 4}}, 20}};
  HostTensor x(HostTensor::Element::F32, {5});
  auto result = runGuarded(*program, launches, {x}, 2, flush);
  if (!result) {
    return llvm::toString(result.takeError());
  }
  if (result->fault.empty()) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE((mistake == 6 || mistake == 8) && i == 0
                      ? std::isnan(result->outputs[0].at(i))
                      : result->outputs[0].at(i) == 2);
    }
  }
  return result->fault;
}

TEST(GuardedRun, accepts_kernels_that_keep_to_their_buffers) {
  EXPECT_EQ(faultOf(0, Flush::Back), "");
  EXPECT_EQ(faultOf(0, Flush::Front), "");
}

TEST(GuardedRun, finds_a_read_after_an_input) {
  EXPECT_EQ(faultOf(1, Flush::Back),
            "kernel layer.0.sum (function k0) reads 1 bytes after the end of "
            "input 'x', which has 20");
}

TEST(GuardedRun, finds_a_write_after_an_output) {
  const char *message = "kernel layer.1.twice (function k1) writes 1 bytes "
                        "after the end of output 'y', which has 20";
  EXPECT_EQ(faultOf(2, Flush::Back), message);
  EXPECT_EQ(faultOf(2, Flush::Front), message);
}

TEST(GuardedRun, finds_a_write_before_a_value_of_the_arena) {
  EXPECT_EQ(faultOf(3, Flush::Front),
            "kernel layer.0.sum (function k0) writes 64 bytes before value "
            "'sum'");
}

TEST(GuardedRun, finds_a_write_between_scratch_and_the_next_page) {
  const char *message = "kernel layer.0.sum (function k0) writes 1 bytes "
                        "after the end of scratch, which has 20";
  EXPECT_EQ(faultOf(4, Flush::Back), message);
  EXPECT_EQ(faultOf(4, Flush::Front), message);
}

TEST(GuardedRun, finds_a_write_to_a_weight) {
  EXPECT_EQ(faultOf(5, Flush::Back),
            "kernel layer.1.twice (function k1) writes byte 0 of weight 'w', "
            "which is read-only");
}

TEST(GuardedRun, finds_a_write_after_the_rows_of_a_chunk) {
  const char *message =
      "kernel layer.0.sum (function k0) writes 1 bytes "
      "after the end of the thread chunk's value 'h', which has 64";
  EXPECT_EQ(faultOf(7, Flush::Back), message);
  EXPECT_EQ(faultOf(7, Flush::Front), message);
}

TEST(GuardedRun, makes_what_nothing_wrote_a_nan) {
  EXPECT_EQ(faultOf(6, Flush::Back), "");
  EXPECT_EQ(faultOf(8, Flush::Back), "");
}

} // namespace
