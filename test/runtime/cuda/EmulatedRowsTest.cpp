//===- EmulatedRowsTest.cpp - Buffers whose rows lie apart ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Calls.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

/// An access of 4 bytes, to byte `at` of the first buffer.
struct Access {
  bool writes;
  uint64_t at;
};

/// What the kernel does, thread 0 alone.
thread_local std::vector<Access> accesses;

void entry(hova_emulated_thread *self, const void *const *arguments) {
  uint64_t data = *static_cast<const uint64_t *>(arguments[0]);
  for (const Access &access : accesses) {
    if (access.writes) {
      *static_cast<uint32_t *>(
          hova_emulated_store_global(self, 0, data + access.at, 4, 4)) = 7;
    } else {
      hova_emulated_load_global(self, 0, data + access.at, 4, 4);
    }
  }
}

const uint32_t kOffsets[] = {0, 3};
const uint32_t kPointer[] = {0};
const hova_emulated_kernel kKernel = {
    "rows", entry, "op\0here", kOffsets, kPointer, 1, 0, 0, 4, 4};

alignas(64) uint8_t memory[256];

/// The message of a launch; "" if it has no fault.
std::string run(const std::vector<hova_emulation_buffer> &buffers,
                const std::vector<Access> &made, bool lacksMemory = false) {
  accesses = made;
  void *data = buffers[0].data;
  const void *arguments[] = {&data};
  hova_emulation_launch launch = {};
  launch.kernel = &kKernel;
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = launch.block[i] = 1;
  }
  launch.arguments = arguments;
  launch.buffers = buffers.data();
  launch.buffer_count = buffers.size();
  hova_emulation_report report;
  bool done = hova_emulate(&launch, &report);
  EXPECT_EQ(done, report.message[0] == '\0');
  EXPECT_EQ(report.out_of_memory, lacksMemory);
  return report.message;
}

hova_emulation_buffer rows(const char *name, uint64_t at, size_t count,
                           hova_emulation_use use) {
  return {name, memory + at, (count - 1) * 16 + 8, use, 8, 16};
}

const hova_emulation_buffer kState = rows("a", 0, 3, HOVA_EMULATION_STATE);
const hova_emulation_buffer kOutput = rows("a", 0, 3, HOVA_EMULATION_OUTPUT);

TEST(EmulatedRows, are_read_and_written) {
  EXPECT_EQ(run({kState}, {{false, 0}, {true, 4}, {false, 36}, {true, 32}}),
            "");
}

TEST(EmulatedRows, gaps_are_neither_read_nor_written) {
  for (bool writes : {false, true}) {
    for (uint64_t at : {8, 12, 24, 28}) {
      std::string message = run({kState}, {{writes, at}});
      EXPECT_NE(message.find("from byte " + std::to_string(at) +
                             " of 'a' on, whose rows have 8 bytes every 16"),
                std::string::npos)
          << message;
    }
  }
  EXPECT_NE(run({kState}, {{false, 40}}).find("which has 40 bytes"),
            std::string::npos);
}

TEST(EmulatedRows, gaps_of_an_output_are_not_asked_for) {
  std::vector<Access> all = {{true, 0},  {true, 4},  {true, 16},
                             {true, 20}, {true, 32}, {true, 36}};
  EXPECT_EQ(run({kOutput}, all), "");
  for (size_t missing = 0; missing < all.size(); ++missing) {
    std::vector<Access> most = all;
    most.erase(most.begin() + static_cast<ptrdiff_t>(missing));
    EXPECT_EQ(run({kOutput}, most), "kernel 'rows' leaves byte " +
                                        std::to_string(all[missing].at) +
                                        " of 'a' unwritten");
  }
}

TEST(EmulatedRows, of_two_buffers_may_alternate) {
  hova_emulation_buffer other = rows("b", 8, 3, HOVA_EMULATION_INPUT);
  EXPECT_EQ(run({kState, other}, {{true, 0}, {false, 8}, {true, 16}}), "");
  EXPECT_NE(run({kState, other}, {{true, 8}}).find("writes 'b', which is an"),
            std::string::npos);
}

TEST(EmulatedRows, that_overlap_are_refused_if_one_is_written) {
  const char *expected = "kernel 'rows': buffers 'a' and 'b' overlap, and one "
                         "of them is written";
  for (uint64_t at : {0, 4, 12, 16, 36}) {
    hova_emulation_buffer other = rows("b", at, 3, HOVA_EMULATION_INPUT);
    EXPECT_EQ(run({kState, other}, {}), expected) << at;
  }
  // After each other, and of another stride.
  EXPECT_EQ(run({kState, rows("b", 40, 2, HOVA_EMULATION_STATE)}, {}), "");
  hova_emulation_buffer dense = {"b", memory + 8, 8, HOVA_EMULATION_STATE,
                                 0,   0};
  EXPECT_EQ(run({kState, dense}, {}), "");
  dense.bytes = 9;
  EXPECT_EQ(run({kState, dense}, {}), expected);
  EXPECT_EQ(run({dense, kState}, {}).find("kernel 'rows': buffers 'b' and 'a'"),
            0u);
  hova_emulation_buffer wide = {"b", memory + 24, 40, HOVA_EMULATION_INPUT,
                                8,   32};
  EXPECT_EQ(run({kState, wide}, {}), "");
  wide.data = memory + 16;
  EXPECT_EQ(run({kState, wide}, {}), expected);
}

TEST(EmulatedRows, that_overlap_may_both_be_read_or_be_the_same_state) {
  hova_emulation_buffer input = rows("a", 0, 3, HOVA_EMULATION_INPUT);
  EXPECT_EQ(run({input, rows("b", 4, 3, HOVA_EMULATION_INPUT)}, {}), "");
  EXPECT_EQ(run({kState, kState}, {{true, 0}}), "");
  EXPECT_NE(run({kState, rows("b", 0, 2, HOVA_EMULATION_STATE)}, {}), "");
}

TEST(EmulatedRows, too_many_for_the_host_are_no_fault_of_the_kernel) {
  hova_emulation_buffer huge = {
      "a", memory, size_t{1} << 45, HOVA_EMULATION_STATE, 0, 0};
  EXPECT_EQ(run({huge}, {}, /*lacksMemory=*/true),
            "kernel 'rows': out of memory to emulate it");
}

TEST(EmulatedRows, are_no_longer_than_their_stride) {
  hova_emulation_buffer wrong = kState;
  wrong.row_bytes = 17;
  EXPECT_NE(run({wrong}, {}), "");
  wrong.row_bytes = 0;
  EXPECT_NE(run({wrong}, {}), "");
}

} // namespace
