//===- TrafficTest.cpp - What a warp asks of memory at once ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One warp of 32 lanes, or part of it, stores to shared memory at `stride`
// bytes a lane, or loads from global memory. What it takes is counted by hand.

#include "Device.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace hova::test;

namespace {

struct Case {
  const char *name;
  const char *code;
  hova_emulation_access access;
  uint64_t requests, used, least;
  uint32_t threads = 32;
};

#define STRIDE(BYTES)                                                          \
  "%stride = llvm.mlir.constant(" #BYTES " : i32) : i32\n"                     \
  "%byte = llvm.mul %thread, %stride : i32\n"                                  \
  "%to = llvm.getelementptr %memory[%byte] : (!llvm.ptr<3>, i32) -> "          \
  "!llvm.ptr<3>, i8\n"                                                         \
  "%from = llvm.getelementptr %px[%byte] : (!llvm.ptr<1>, i32) -> "            \
  "!llvm.ptr<1>, i8\n"
#define STORE_WORD "llvm.store %thread, %to : i32, !llvm.ptr<3>\n"
#define STORE(TYPE)                                                            \
  "%value = llvm.mlir.zero : " TYPE "\nllvm.store %value, %to : " TYPE         \
  ", !llvm.ptr<3>\n"
#define LOAD(TYPE) "%loaded = llvm.load %from : !llvm.ptr<1> -> " TYPE "\n"
#define IF_BELOW(LANES)                                                        \
  "%few = llvm.mlir.constant(" #LANES " : i32) : i32\n"                        \
  "%here = llvm.icmp \"ult\" %thread, %few : i32\n"                            \
  "llvm.cond_br %here, ^then, ^after\n^then:\n"
#define END_IF "llvm.br ^after\n^after:\n"
#define LOOP(TURNS, CODE)                                                      \
  "%zero = llvm.mlir.constant(0 : i32) : i32\n"                                \
  "%one = llvm.mlir.constant(1 : i32) : i32\n"                                 \
  "llvm.br ^loop(%zero : i32)\n^loop(%i: i32):\n" CODE                         \
  "%next = llvm.add %i, %one : i32\n"                                          \
  "%more = llvm.icmp \"ult\" %next, " TURNS " : i32\n"                         \
  "llvm.cond_br %more, ^loop(%next : i32), ^out\n^out:\n"
#define COPY(READ)                                                             \
  "%read = llvm.mlir.constant(" #READ " : i32) : i32\n"                        \
  "nvvm.cp.async.shared.global %to, %from, 16, cache = cg, %read : "           \
  "!llvm.ptr<3>, !llvm.ptr<1>, i32\nnvvm.cp.async.commit.group\n"              \
  "nvvm.cp.async.wait.group 0\n"

constexpr auto kShared = HOVA_EMULATION_SHARED, kLoads = HOVA_EMULATION_LOADS;

const Case kCases[] = {
    {"words_side_by_side", STRIDE(4) STORE_WORD, kShared, 1, 1, 1},
    {"words_of_each_second_bank", STRIDE(8) STORE_WORD, kShared, 1, 2, 1},
    {"words_of_one_bank", STRIDE(128) STORE_WORD, kShared, 1, 32, 1},
    {"words_at_odd_strides", STRIDE(12) STORE_WORD, kShared, 1, 1, 1},
    {"eight_bytes_each", STRIDE(8) STORE("vector<2xi32>"), kShared, 1, 2, 2},
    {"eight_bytes_each_of_the_same_banks", STRIDE(128) STORE("vector<2xi32>"),
     kShared, 1, 32, 2},
    {"sixteen_bytes_each", STRIDE(16) STORE("vector<4xi32>"), kShared, 1, 4, 4},
    {"sixteen_bytes_each_of_the_same_banks", STRIDE(128) STORE("vector<4xi32>"),
     kShared, 1, 32, 4},
    {"halves_of_words", STRIDE(2) STORE("i16"), kShared, 1, 1, 1},
    {"a_few_lanes", STRIDE(128) IF_BELOW(3) STORE_WORD END_IF, kShared, 1, 3,
     1},
    // Lanes 0, 9, 18 and 27, whose words are in different banks: a turn serves
    // eight lanes beside each other.
    {"a_lane_of_each_quarter",
     STRIDE(16) "%n9 = llvm.mlir.constant(9 : i32) : i32\n"
                "%none = llvm.mlir.zero : i32\n"
                "%rest = llvm.urem %thread, %n9 : i32\n"
                "%here = llvm.icmp \"eq\" %rest, %none : i32\n"
                "llvm.cond_br %here, ^then, ^after\n^then:\n" STORE(
                    "vector<4xi32>") END_IF,
     kShared, 1, 4, 4},
    {"nobody", STRIDE(4) IF_BELOW(0) STORE_WORD END_IF, kShared, 0, 0, 0},
    {"half_a_warp", STRIDE(4) STORE_WORD, kShared, 1, 1, 1, 16},
    {"a_warp_and_a_half", STRIDE(4) STORE_WORD, kShared, 2, 2, 2, 48},
    // Each turn is a request of its own, also where lanes take more or fewer.
    {"turns",
     STRIDE(128) "%n5 = llvm.mlir.constant(5 : i32) : i32\n" LOOP("%n5",
                                                                  STORE_WORD),
     kShared, 5, 160, 5},
    {"turns_by_lane", STRIDE(4) LOOP("%thread", STORE_WORD), kShared, 31, 31,
     31},
    {"words_of_global_memory", STRIDE(4) LOAD("i32"), kLoads, 1, 4, 4},
    {"words_of_each_second_place", STRIDE(8) LOAD("i32"), kLoads, 1, 8, 4},
    {"words_far_apart", STRIDE(64) LOAD("i32"), kLoads, 1, 32, 4},
    {"one_word_of_all", STRIDE(0) LOAD("i32"), kLoads, 1, 1, 1},
    {"sixteen_bytes_of_global_memory", STRIDE(16) LOAD("vector<4xi32>"), kLoads,
     1, 16, 16},
    {"sixteen_bytes_of_each_sector", STRIDE(32) LOAD("vector<4xi32>"), kLoads,
     1, 32, 16},
    {"a_copy_reads_sectors", STRIDE(16) COPY(16), HOVA_EMULATION_COPIED_FROM, 1,
     16, 16},
    {"a_copy_writes_wavefronts", STRIDE(16) COPY(16), HOVA_EMULATION_COPIED_TO,
     1, 4, 4},
    {"a_copy_of_nothing_reads_none", STRIDE(16) COPY(0),
     HOVA_EMULATION_COPIED_FROM, 0, 0, 0},
    {"a_copy_of_nothing_writes_zeros", STRIDE(16) COPY(0),
     HOVA_EMULATION_COPIED_TO, 1, 4, 4},
};

hova_emulation_counts countsOf(const Case &tested, bool counts) {
  Device device(llvm::formatv(R"(
llvm.mlir.global external @memory() {{addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.func @kernel(%px: !llvm.ptr<1>) attributes {{nvvm.kernel} {{
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %memory = llvm.mlir.addressof @memory : !llvm.ptr<3>
  {0}
  llvm.return
})",
                              tested.code)
                    .str());
  EXPECT_TRUE(device.module) << device.errors;
  std::vector<Buffer> buffers;
  buffers.emplace_back("x", HOVA_EMULATION_INPUT, 4096);
  Shape shape{{1, 1, 1}, {tested.threads, 1, 1}, 8192};
  shape.countsAccesses = counts;
  auto report = device.run("kernel", shape, buffers);
  EXPECT_STREQ(report.message, "");
  return report.counts;
}

class Traffic : public testing::TestWithParam<Case> {};

TEST_P(Traffic, is_counted_by_requests_of_warps) {
  const Case &tested = GetParam();
  auto got = countsOf(tested, true).accesses[tested.access];
  EXPECT_EQ(got.requests, tested.requests);
  EXPECT_EQ(got.used, tested.used);
  EXPECT_EQ(got.least, tested.least);
  EXPECT_EQ(countsOf(tested, false).accesses[tested.access].requests, 0u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Traffic, testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
