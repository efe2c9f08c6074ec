//===- EmulatedRowsTest.cpp - Buffers whose rows lie apart ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Calls.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

enum class Does { Load, Store, Copy };

/// An access of 4 bytes by a block, to byte `at` of a buffer.
struct Access {
  Does does;
  int64_t at;
  uint32_t buffer = 0, block = 0;
};

/// What the kernel does; each block has one thread.
thread_local std::vector<Access> accesses;

void entry(hova_emulated_thread *self, const void *const *arguments) {
  for (const Access &access : accesses) {
    if (access.block != hova_emulated_register(self, 6)) {
      continue;
    }
    uint64_t address =
        *static_cast<const uint64_t *>(arguments[access.buffer]) +
        static_cast<uint64_t>(access.at);
    switch (access.does) {
    case Does::Load:
      hova_emulated_load_global(self, 0, address, 4, 4);
      break;
    case Does::Store:
      *static_cast<uint32_t *>(
          hova_emulated_store_global(self, 0, address, 4, 4)) = 7;
      break;
    case Does::Copy:
      hova_emulated_copy(self, 0, 0, address, 4, 4);
      hova_emulated_commit(self, 0);
      hova_emulated_wait(self, 0, 0);
    }
  }
}

const uint32_t kOffsets[] = {0, 3};
const uint32_t kPointers[] = {0, 0, 0};

alignas(64) uint8_t memory[256];

/// The message of a launch; "" if it has no fault.
std::string run(const std::vector<hova_emulation_buffer> &buffers,
                const std::vector<Access> &made, bool lacksMemory = false) {
  accesses = made;
  const hova_emulated_kernel kernel = {
      "rows",   entry,     "op\0here",
      kOffsets, kPointers, static_cast<uint32_t>(buffers.size()),
      0,        4,         4,
      4,        1};
  std::vector<const void *> arguments;
  for (const hova_emulation_buffer &buffer : buffers) {
    arguments.push_back(&buffer.data);
  }
  hova_emulation_launch launch = {};
  launch.kernel = &kernel;
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = launch.block[i] = 1;
  }
  for (const Access &access : made) {
    launch.grid[0] = std::max(launch.grid[0], access.block + 1);
  }
  launch.arguments = arguments.data();
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
  return {name, memory + at, (count - 1) * 16 + 8, use, 8, 16, false};
}

const hova_emulation_buffer kState = rows("a", 0, 3, HOVA_EMULATION_STATE);
const hova_emulation_buffer kOutput = rows("a", 0, 3, HOVA_EMULATION_OUTPUT);

TEST(EmulatedRows, are_read_and_written) {
  EXPECT_EQ(run({kState}, {{Does::Load, 0},
                           {Does::Store, 4},
                           {Does::Load, 36},
                           {Does::Store, 32}}),
            "");
}

TEST(EmulatedRows, gaps_are_neither_read_nor_written) {
  for (Does does : {Does::Load, Does::Store, Does::Copy}) {
    for (int64_t at : {8, 12, 24, 28}) {
      std::string message = run({kState}, {{does, at}});
      EXPECT_NE(message.find("from byte " + std::to_string(at) +
                             " of 'a' on, whose rows have 8 bytes every 16"),
                std::string::npos)
          << message;
    }
  }
  EXPECT_NE(run({kState}, {{Does::Load, 40}}).find("which has 40 bytes"),
            std::string::npos);
}

TEST(EmulatedRows, gaps_of_an_output_are_not_asked_for) {
  std::vector<Access> all = {{Does::Store, 0},  {Does::Store, 4},
                             {Does::Store, 16}, {Does::Store, 20},
                             {Does::Store, 32}, {Does::Store, 36}};
  EXPECT_EQ(run({kOutput}, all), "");
  for (size_t missing = 0; missing < all.size(); ++missing) {
    std::vector<Access> most = all;
    most.erase(most.begin() + static_cast<ptrdiff_t>(missing));
    EXPECT_EQ(run({kOutput}, most), "kernel 'rows' leaves byte " +
                                        std::to_string(all[missing].at) +
                                        " of 'a' unwritten");
  }
}

/// Whatever is there: an address stays one of the buffer that it began in.
TEST(EmulatedRows, of_another_buffer_are_named_with_their_own) {
  for (auto use : {HOVA_EMULATION_INPUT, HOVA_EMULATION_STATE}) {
    hova_emulation_buffer other = rows("b", 8, 3, use);
    EXPECT_EQ(run({kState, other}, {{Does::Store, 0}, {Does::Load, 16}}), "");
    for (Does does : {Does::Load, Does::Store, Does::Copy}) {
      std::string message = run({kState, other}, {{does, 8}});
      EXPECT_NE(message.find("4 bytes from byte 8 of 'a' on, whose rows have "
                             "8 bytes every 16: 'b' lies there"),
                std::string::npos)
          << message;
      // After the last of its own, and before the first.
      message = run({kState, other}, {{does, 40}});
      EXPECT_NE(message.find("of 'a' on, which has 40 bytes: 'b' lies there"),
                std::string::npos)
          << message;
      message = run({other, kState}, {{does, -8}});
      EXPECT_NE(message.find("4 bytes from byte -8 of 'b' on, which has 40 "
                             "bytes: 'a' lies there"),
                std::string::npos)
          << message;
    }
  }
}

/// Both pointers are a way to the same memory.
TEST(EmulatedRows, of_the_same_state_have_one_history) {
  const Access write = {Does::Store, 0}, read = {Does::Load, 0, 1, 1};
  EXPECT_NE(run({kState, kState}, {write, read})
                .find("reads byte 0 of 'a', which another block has written"),
            std::string::npos);
  hova_emulation_buffer other = rows("b", 64, 3, HOVA_EMULATION_STATE);
  EXPECT_EQ(run({kState, other}, {write, read}), "");
}

TEST(EmulatedRows, belong_to_the_pointer_at_their_place) {
  hova_emulation_buffer other = rows("b", 8, 3, HOVA_EMULATION_STATE);
  const hova_emulated_kernel kernel = {
      "rows", entry, "op\0here", kOffsets, kPointers, 1, 0, 4, 4, 4, 1};
  const void *arguments[] = {&other.data};
  hova_emulation_launch launch = {};
  launch.kernel = &kernel;
  std::fill(launch.grid, launch.grid + 3, 1);
  std::fill(launch.block, launch.block + 3, 1);
  launch.arguments = arguments;
  launch.buffers = &kState;
  launch.buffer_count = 1;
  hova_emulation_report report;
  EXPECT_FALSE(hova_emulate(&launch, &report));
  EXPECT_STREQ(report.message, "kernel 'rows': argument 0 expects the address "
                               "of 'a', which is buffer 0");
  launch.buffer_count = 0;
  EXPECT_FALSE(hova_emulate(&launch, &report));
  EXPECT_STREQ(report.message, "kernel 'rows': expects 1 buffers, got 0");
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
  hova_emulation_buffer dense = {"b", memory + 8, 8,    HOVA_EMULATION_STATE,
                                 0,   0,          false};
  EXPECT_EQ(run({kState, dense}, {}), "");
  dense.bytes = 9;
  EXPECT_EQ(run({kState, dense}, {}), expected);
  EXPECT_EQ(run({dense, kState}, {}).find("kernel 'rows': buffers 'b' and 'a'"),
            0u);
  hova_emulation_buffer wide = {"b", memory + 24, 40,   HOVA_EMULATION_INPUT,
                                8,   32,          false};
  EXPECT_EQ(run({kState, wide}, {}), "");
  wide.data = memory + 16;
  EXPECT_EQ(run({kState, wide}, {}), expected);
}

TEST(EmulatedRows, that_overlap_may_both_be_read_or_be_the_same_state) {
  hova_emulation_buffer input = rows("a", 0, 3, HOVA_EMULATION_INPUT);
  EXPECT_EQ(run({input, rows("b", 4, 3, HOVA_EMULATION_INPUT)}, {}), "");
  EXPECT_EQ(run({kState, kState}, {{Does::Store, 0}}), "");
  EXPECT_NE(run({kState, rows("b", 0, 2, HOVA_EMULATION_STATE)}, {}), "");
}

TEST(EmulatedRows, too_many_for_the_host_are_no_fault_of_the_kernel) {
  hova_emulation_buffer huge = {
      "a", memory, size_t{1} << 45, HOVA_EMULATION_STATE, 0, 0, false};
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
