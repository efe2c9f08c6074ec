//===- FaultsTest.cpp - What emulation refuses ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each case is a kernel of 64 threads that is wrong in one way, and what is
// said of it under every seed. The same kernel put right runs.

#include "Device.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include <gtest/gtest.h>

using namespace hova::test;

namespace {

struct Case {
  const char *name;
  const char *code;     ///< wrong
  const char *right;    ///< the same put right
  const char *expected; ///< a regular expression
  uint32_t blocks = 1;
};

#define STORE "llvm.store %thread, %slot : i32, !llvm.ptr<3>\n"
#define LOAD_OTHER "%other = llvm.load %mirrored : !llvm.ptr<3> -> i32\n"
#define COPY                                                                   \
  "nvvm.cp.async.shared.global %slot, %at, 4, cache = ca : !llvm.ptr<3>, "     \
  "!llvm.ptr<1>\n"
#define COMMIT "nvvm.cp.async.commit.group\n"
#define WAIT(N) "nvvm.cp.async.wait.group " #N "\n"
#define LOAD_MINE "%mine = llvm.load %slot : !llvm.ptr<3> -> i32\n"
#define BARRIER "nvvm.barrier0\n"
#define IF_FIRST_LANES                                                         \
  "%half = llvm.icmp \"ult\" %thread, %n16 : i32\n"                            \
  "llvm.cond_br %half, ^then, ^after\n^then:\n"
#define END_IF "llvm.br ^after\n^after:\n"

const Case kCases[] = {
    {"load_after_a_buffer",
     "%p = llvm.getelementptr %at[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
     "%v = llvm.load %p : !llvm.ptr<1> -> i32",
     "%v = llvm.load %at : !llvm.ptr<1> -> i32",
     "thread \\(63, 0, 0\\): 'llvm.load' at .*kernels.* reads 4 bytes from "
     "byte "
     "256 of 'x' on, which has 256 bytes"},
    {"store_to_an_input", "llvm.store %thread, %at : i32, !llvm.ptr<1>", "",
     "'llvm.store' .* writes 'x', which is an input"},
    {"load_after_shared_memory",
     "%p = llvm.getelementptr %dynamic[1024] : (!llvm.ptr<3>) -> "
     "!llvm.ptr<3>, i8\nllvm.store %thread, %p : i32, !llvm.ptr<3>",
     "", "writes 4 bytes from byte 1024 of shared memory on, which has 1024"},
    {"misaligned_vector",
     "%p = llvm.getelementptr %px[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n"
     "%v = llvm.load %p : !llvm.ptr<1> -> vector<2xi32>",
     "%p = llvm.getelementptr %px[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n"
     "%v = llvm.load %p : !llvm.ptr<1> -> vector<2xi32>",
     "reads 8 bytes at an address that is 4 more than a multiple of 8"},
    {"misaligned_shared",
     "%p = llvm.getelementptr %dynamic[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, "
     "i8\n%v = llvm.load %p : !llvm.ptr<3> -> i32",
     "", "from byte 2 of shared memory on, which is no multiple of 4"},
    {"uninitialised_shared", LOAD_MINE, STORE LOAD_MINE,
     "reads byte [0-9]+ of shared memory, where nothing has been written"},
    {"uninitialised_output", "%v = llvm.load %atr : !llvm.ptr<1> -> i32", "",
     "reads byte [0-9]+ of 'r', where nothing has been written"},
    {"race_of_threads", STORE LOAD_OTHER, STORE BARRIER LOAD_OTHER,
     "no barrier orders|where nothing has been written"},
    {"race_within_a_warp", STORE "%n = llvm.load %next : !llvm.ptr<3> -> i32",
     STORE "%all = llvm.mlir.constant(-1 : i32) : i32\n"
           "nvvm.bar.warp.sync %all : i32\n"
           "%n = llvm.load %next : !llvm.ptr<3> -> i32",
     "no barrier orders|where nothing has been written"},
    {"write_after_read",
     STORE BARRIER LOAD_OTHER "llvm.store %other, %slot : i32, !llvm.ptr<3>",
     STORE BARRIER LOAD_OTHER BARRIER
     "llvm.store %other, %slot : i32, !llvm.ptr<3>",
     "(writes|reads) byte [0-9]+ of shared memory, which thread [0-9]+ has "
     "(read|written)"},
    {"race_of_blocks", "llvm.store %thread, %atr : i32, !llvm.ptr<1>", "",
     "'r', which another block has written: blocks are not ordered", 2},
    {"copy_not_waited_for", COPY COMMIT LOAD_MINE,
     COPY COMMIT WAIT(0) LOAD_MINE,
     "its own asynchronous copy, issued at .*nothing has waited"},
    {"copy_waited_for_one_too_few", COPY COMMIT WAIT(1) LOAD_MINE,
     COPY COMMIT COMMIT WAIT(1) LOAD_MINE, "nothing has waited for that copy"},
    {"copy_not_committed", COPY WAIT(0) LOAD_MINE,
     COPY COMMIT WAIT(0) LOAD_MINE, "nothing has waited for that copy"},
    {"copy_of_another_thread", COPY COMMIT WAIT(0) LOAD_OTHER,
     COPY COMMIT WAIT(0) BARRIER LOAD_OTHER,
     "an asynchronous copy of thread [0-9]+ has written at .*no barrier|where "
     "nothing has been written"},
    // The wait alone is the owner's: a barrier before it tells others nothing.
    {"wait_after_the_barrier", COPY COMMIT BARRIER WAIT(0) LOAD_OTHER,
     COPY COMMIT WAIT(0) BARRIER LOAD_OTHER,
     "an asynchronous copy of thread [0-9]+ has written"},
    {"slot_overwritten_while_read", STORE BARRIER LOAD_OTHER COPY,
     STORE BARRIER LOAD_OTHER BARRIER COPY,
     "(writes|reads) byte [0-9]+ of shared memory, which"},
    {"slot_overwritten_while_copied", COPY COPY COMMIT WAIT(0),
     COPY COMMIT WAIT(0) COPY COMMIT WAIT(0), "its own asynchronous copy"},
    {"divergent_barrier", IF_FIRST_LANES BARRIER END_IF, BARRIER,
     "'nvvm.barrier0' at .* waits for all threads of its block for ever: "
     "thread [0-9]+ has ended"},
    {"two_barriers",
     IF_FIRST_LANES BARRIER "llvm.br ^end\n^after:\n" BARRIER
                            "llvm.br ^end\n^end:\n",
     BARRIER, "is not the barrier that thread [0-9]+ waits at"},
    {"divergent_warp_instruction",
     "%all = llvm.mlir.constant(-1 : i32) : i32\n" IF_FIRST_LANES
     "nvvm.bar.warp.sync %all : i32\n" END_IF,
     "%all = llvm.mlir.constant(-1 : i32) : i32\n"
     "nvvm.bar.warp.sync %all : i32",
     "waits for the lanes of its warp that it names for ever: thread [0-9]+ "
     "has "
     "ended|needs lane [0-9]+ of its warp, which has ended"},
    {"lane_outside_of_its_mask",
     "%low = llvm.mlir.constant(65535 : i32) : i32\n"
     "nvvm.bar.warp.sync %low : i32",
     "", "names lanes 0xffff, of which it is none"},
    {"shuffle_from_outside",
     "%low = llvm.mlir.constant(65535 : i32) : i32\n"
     "%clamp = llvm.mlir.constant(31 : i32) : i32\n" IF_FIRST_LANES
     "%s = nvvm.shfl.sync bfly %low, %thread, %n16, %clamp : i32 -> "
     "i32\n" END_IF,
     "%low = llvm.mlir.constant(65535 : i32) : i32\n"
     "%clamp = llvm.mlir.constant(31 : i32) : i32\n"
     "%d = llvm.mlir.constant(8 : i32) : i32\n" IF_FIRST_LANES
     "%s = nvvm.shfl.sync bfly %low, %thread, %d, %clamp : i32 -> i32\n" END_IF,
     "takes a value from lane 16, which takes no part"},
    {"division_by_zero",
     "%zero = llvm.mlir.zero : i32\n%q = llvm.udiv %thread, %zero : i32",
     "%q = llvm.udiv %thread, %n16 : i32", "divides by 0"},
    {"misaligned_ldmatrix",
     STORE BARRIER
     "%p = llvm.getelementptr %dynamic[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, "
     "i8\n"
     "%w = nvvm.ldmatrix %p {num = 1 : i32, layout = #nvvm.mma_layout<row>, "
     "shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
     "#nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32",
     STORE BARRIER
     "%p = llvm.getelementptr %dynamic[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, "
     "i8\n"
     "%w = nvvm.ldmatrix %p {num = 1 : i32, layout = #nvvm.mma_layout<row>, "
     "shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = "
     "#nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32",
     "'nvvm.ldmatrix' at .*from byte 8 of shared memory on, which is no "
     "multiple of 16"},
};

std::string kernelOf(llvm::StringRef code) {
  return llvm::formatv(R"(
llvm.mlir.global external @dynamic() {{addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.func @kernel(%px: !llvm.ptr<1>, %pr: !llvm.ptr<1>) attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 64>} {{
  %one = llvm.mlir.constant(1 : i32) : i32
  %n16 = llvm.mlir.constant(16 : i32) : i32
  %n63 = llvm.mlir.constant(63 : i32) : i32
  %n64 = llvm.mlir.constant(64 : i32) : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %at = llvm.getelementptr %px[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %atr = llvm.getelementptr %pr[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %dynamic = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
  %slot = llvm.getelementptr %dynamic[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %m = llvm.sub %n63, %thread : i32
  %mirrored = llvm.getelementptr %dynamic[%m] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %nx = llvm.xor %thread, %one : i32
  %next = llvm.getelementptr %dynamic[%nx] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  {0}
  llvm.store %thread, %atr : i32, !llvm.ptr<1>
  llvm.return
})",
                       code);
}

std::string run(const Device &device, const Shape &shape) {
  if (!device.module) {
    return device.errors;
  }
  std::vector<Buffer> buffers;
  buffers.emplace_back("x", HOVA_EMULATION_INPUT, std::vector<uint32_t>(64, 3));
  buffers.emplace_back("r", HOVA_EMULATION_OUTPUT, 256);
  return device.run("kernel", shape, buffers).message;
}

class Faults : public testing::TestWithParam<Case> {};

TEST_P(Faults, are_named) {
  const Case &tested = GetParam();
  Device wrong(kernelOf(tested.code)), right(kernelOf(tested.right));
  for (uint64_t seed : {0, 3}) {
    for (auto copies : {HOVA_EMULATION_EARLY, HOVA_EMULATION_LATE}) {
      Shape shape{{tested.blocks, 1, 1}, {64, 1, 1}, 1024, seed, copies};
      std::string message = run(wrong, shape);
      EXPECT_TRUE(llvm::Regex(tested.expected).match(message)) << message;
      EXPECT_EQ(message.rfind("kernel 'kernel', block (", 0), 0u) << message;
      shape.grid[0] = 1;
      EXPECT_EQ(run(right, shape), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Faults, testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST(Launches, leave_no_output_unwritten) {
  Device device(kernelOf(""));
  std::vector<Buffer> buffers;
  buffers.emplace_back("x", HOVA_EMULATION_INPUT, 256);
  buffers.emplace_back("r", HOVA_EMULATION_OUTPUT, 512);
  Shape shape{{1, 1, 1}, {64, 1, 1}, 1024};
  EXPECT_STREQ(device.run("kernel", shape, buffers).message,
               "kernel 'kernel' leaves byte 256 of 'r' unwritten");
}

TEST(Launches, have_the_threads_that_the_kernel_was_made_for) {
  Device device(kernelOf(""));
  std::vector<Buffer> buffers;
  buffers.emplace_back("x", HOVA_EMULATION_INPUT, 256);
  buffers.emplace_back("r", HOVA_EMULATION_OUTPUT, 256);
  Shape shape{{1, 1, 1}, {32, 1, 1}, 1024};
  EXPECT_STREQ(device.run("kernel", shape, buffers).message,
               "kernel 'kernel': expects 64 threads in a block, got 32");
  shape = {{1, 65536, 1}, {64, 1, 1}, 1024};
  EXPECT_TRUE(llvm::StringRef(device.run("kernel", shape, buffers).message)
                  .contains("1 to 65535 blocks"));
}

/// Whether a launch may give so much shared memory to a block.
std::string runWithShared(const Device &device, uint32_t bytes) {
  std::vector<Buffer> buffers;
  buffers.emplace_back("x", HOVA_EMULATION_INPUT, 256);
  buffers.emplace_back("r", HOVA_EMULATION_OUTPUT, 256);
  return device.run("kernel", {{1, 1, 1}, {64, 1, 1}, bytes}, buffers).message;
}

TEST(Launches, have_the_shared_memory_of_the_gpu_that_the_module_names) {
  Device first(kernelOf(""));
  EXPECT_EQ(runWithShared(first, 163 << 10), "");
  EXPECT_NE(runWithShared(first, (163 << 10) + 1)
                .find("a block has at most 166912 bytes of shared memory"),
            std::string::npos);
  Device small("module attributes {hova_cuda.gpu = \"sm_89\"} {" +
               kernelOf("") + "}");
  EXPECT_EQ(runWithShared(small, 99 << 10), "");
  EXPECT_NE(runWithShared(small, (99 << 10) + 1)
                .find("a block has at most 101376 bytes of shared memory"),
            std::string::npos);
}

/// A launch on x and r in one piece of memory, r before x.
std::string runOnNeighbours(llvm::StringRef code) {
  Device device(kernelOf(code));
  if (!device.module) {
    return device.errors;
  }
  Buffer memory("memory", HOVA_EMULATION_STATE, 512);
  char *r = static_cast<char *>(memory.data), *x = r + 256;
  const hova_emulation_buffer buffers[] = {
      {"x", x, 256, HOVA_EMULATION_INPUT, 0, 0, false},
      {"r", r, 256, HOVA_EMULATION_OUTPUT, 0, 0, false}};
  const void *arguments[] = {&x, &r};
  hova_emulation_launch launch = {};
  launch.kernel = llvm::cantFail(device.module->find("kernel"));
  launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
  launch.block[0] = 64;
  launch.block[1] = launch.block[2] = 1;
  launch.dynamic_shared_bytes = 1024;
  launch.arguments = arguments;
  launch.buffers = buffers;
  launch.buffer_count = 2;
  return hova::emulate(launch).message;
}

#define AFTER(NAME, POINTER, BY)                                               \
  "%" NAME " = llvm.getelementptr %" POINTER "[" #BY                           \
  "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
#define LANDS(DOES, BYTE, OF, OTHER)                                           \
  "thread \\(0, 0, 0\\): '" DOES "' at .*s 4 bytes from byte " BYTE " of '" OF \
  "' on, which has 256 bytes: '" OTHER "' lies there$"

/// An access past the end of one value is not one of the value that is there.
TEST(Launches, name_both_values_of_an_access_that_leaves_one) {
  struct {
    const char *code, *expected;
  } cases[] = {
      {AFTER("p", "atr", 64) "%v = llvm.load %p : !llvm.ptr<1> -> i32",
       LANDS("llvm.load", "256", "r", "x")},
      {AFTER("p", "atr", 64) "llvm.store %thread, %p : i32, !llvm.ptr<1>",
       LANDS("llvm.store", "256", "r", "x")},
      {AFTER("p", "at", -64) "llvm.store %thread, %p : i32, !llvm.ptr<1>",
       LANDS("llvm.store", "-256", "x", "r")},
      {AFTER("p", "atr",
             64) "nvvm.cp.async.shared.global %slot, %p, 4, cache = "
                 "ca : !llvm.ptr<3>, !llvm.ptr<1>\n" COMMIT WAIT(0),
       LANDS("nvvm.cp.async.shared.global", "256", "r", "x")},
      // Of one of two pointers, and on the way back.
      {"%first = llvm.icmp \"ult\" %thread, %n16 : i32\n"
       "%s = llvm.select %first, %atr, %at : i1, !llvm.ptr<1>\n" AFTER(
           "p", "s", 64) "%v = llvm.load %p : !llvm.ptr<1> -> i32",
       LANDS("llvm.load", "256", "r", "x")},
      {AFTER("a", "at", 4096)
           AFTER("p", "a", -4096) "%v = llvm.load %p : !llvm.ptr<1> -> i32",
       "^$"}};
  for (const auto &[code, expected] : cases) {
    std::string message = runOnNeighbours(code);
    EXPECT_TRUE(llvm::Regex(expected).match(message)) << message;
  }
}

/// A loop of so many turns; of 0: without an end.
std::string loopOf(unsigned turns, llvm::StringRef body) {
  return llvm::formatv(R"(
  %zero = llvm.mlir.constant(0 : i32) : i32
  %turns = llvm.mlir.constant({0} : i32) : i32
  llvm.br ^loop(%zero : i32)
^loop(%i: i32):
  {1}
  %next_i = llvm.add %i, %one : i32
  %more = llvm.icmp "ne" %next_i, %turns : i32
  llvm.cond_br %more, ^loop(%next_i : i32), ^out
^out:)",
                       turns, body);
}

TEST(Launches, report_a_loop_that_meets_nobody) {
  Shape shape{{1, 1, 1}, {64, 1, 1}, 1024};
  shape.mostTurns = 1000;
  // Without a call in it, and with loads alone.
  for (const char *body : {"", "%v = llvm.load %at : !llvm.ptr<1> -> i32"}) {
    Device endless(kernelOf(loopOf(0, body))),
        long_(kernelOf(loopOf(1000, body)));
    EXPECT_TRUE(llvm::Regex("thread \\(0, 0, 0\\): 'llvm.cond_br' at "
                            ".*kernels.* has taken 1000 turns of loops without "
                            "meeting another thread")
                    .match(run(endless, shape)));
    EXPECT_EQ(run(long_, shape), "");
  }
  // Whoever meets others begins to count anew.
  for (const char *body :
       {"nvvm.barrier0",
        "%all = llvm.mlir.constant(-1 : i32) : i32\nnvvm.bar.warp.sync %all : "
        "i32"}) {
    EXPECT_EQ(run(Device(kernelOf(loopOf(5000, body))), shape), "");
  }
}

/// Two loops in one another: both branches back count.
TEST(Launches, report_nested_loops_that_meet_nobody) {
  Shape shape{{1, 1, 1}, {64, 1, 1}, 1024};
  shape.mostTurns = 10;
  std::string text = kernelOf(R"(
  %zero = llvm.mlir.constant(0 : i32) : i32
  llvm.br ^outer(%zero : i32)
^outer(%i: i32):
  llvm.br ^inner(%zero : i32)
^inner(%j: i32):
  %next_j = llvm.add %j, %one : i32
  %inner_more = llvm.icmp "ult" %next_j, %one : i32
  llvm.cond_br %inner_more, ^inner(%next_j : i32), ^after
^after:
  %next_i = llvm.add %i, %one : i32
  %outer_more = llvm.icmp "ult" %next_i, %zero : i32
  llvm.cond_br %outer_more, ^out, ^outer(%next_i : i32)
^out:)");
  EXPECT_TRUE(
      llvm::Regex("has taken 10 turns").match(run(Device(text), shape)));
}

} // namespace
