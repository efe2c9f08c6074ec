//===- LaunchOrderTest.cpp - Launches that begin before others have ended -===//
// SPDX-License-Identifier: Apache-2.0
//
// Each case is a kernel of 64 threads in two blocks behind a programmatic edge,
// what is said of it, and the same put right. x is what a launch before wrote,
// and w what none writes.

#include "Device.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include <gtest/gtest.h>

using namespace hova::test;

namespace {

#define AWAIT "hova_cuda.await_launches\n"
#define ALLOW "hova_cuda.allow_launches\n"
#define LOAD_X "%x = llvm.load %atx : !llvm.ptr<1> -> i32\n"
#define LOAD_W "%w = llvm.load %atw : !llvm.ptr<1> -> i32\n"
#define COPY_X                                                                 \
  "nvvm.cp.async.shared.global %slot, %atx, 4, cache = ca : !llvm.ptr<3>, "    \
  "!llvm.ptr<1>\nnvvm.cp.async.commit.group\n"
#define COPY_W                                                                 \
  "nvvm.cp.async.shared.global %slot, %atw, 4, cache = ca : !llvm.ptr<3>, "    \
  "!llvm.ptr<1>\nnvvm.cp.async.commit.group\n"
#define LANDED                                                                 \
  "nvvm.cp.async.wait.group 0\n%x = llvm.load %slot : !llvm.ptr<3> -> i32\n"
#define LANDED_W                                                               \
  "nvvm.cp.async.wait.group 0\n%w = llvm.load %slot : !llvm.ptr<3> -> i32\n"
#define STORE                                                                  \
  "%r = llvm.add %x, %w : i32\nllvm.store %r, %atr : i32, !llvm.ptr<1>\n"
#define IF_FIRST                                                               \
  "%half = llvm.icmp \"ult\" %thread, %n16 : i32\n"                            \
  "llvm.cond_br %half, ^then, ^after\n^then:\n"
#define END_IF "llvm.br ^after\n^after:\n"
#define BEFORE "before it waits for the launches before it, which may still run"

struct Case {
  const char *name, *code, *right;
  std::string expected; ///< a regular expression
};

const Case kCases[] = {
    {"a_read_before_the_wait", LOAD_X AWAIT LOAD_W STORE,
     AWAIT LOAD_X LOAD_W STORE,
     "'llvm.load' at .* reads byte [0-9]+ of 'x' " BEFORE},
    {"a_copy_before_the_wait", COPY_X AWAIT LANDED LOAD_W STORE,
     AWAIT COPY_X LANDED LOAD_W STORE,
     "'nvvm.cp.async.shared.global' at .* reads byte [0-9]+ of 'x' " BEFORE},
    {"a_write_before_the_wait",
     "llvm.store %thread, %atr : i32, !llvm.ptr<1>\n" AWAIT LOAD_X LOAD_W STORE,
     AWAIT LOAD_X LOAD_W STORE,
     "'llvm.store' at .* writes byte [0-9]+ of 'r' " BEFORE},
    {"no_wait", LOAD_W LOAD_X STORE, LOAD_W AWAIT LOAD_X STORE,
     "'llvm.load' at .* reads byte [0-9]+ of 'x' " BEFORE},
    {"leave_is_no_wait", LOAD_W ALLOW LOAD_X STORE,
     LOAD_W AWAIT ALLOW LOAD_X STORE, "reads byte [0-9]+ of 'x' " BEFORE},
    {"some_threads_wait", LOAD_W IF_FIRST AWAIT END_IF LOAD_X STORE,
     LOAD_W AWAIT IF_FIRST END_IF LOAD_X STORE,
     "thread \\((1[6-9]|[2-6][0-9]), 0, 0\\): 'llvm.load' at .* reads byte "
     "[0-9]+ of 'x' " BEFORE},
    {"another_threads_wait",
     LOAD_W IF_FIRST AWAIT END_IF "nvvm.barrier0\n" LOAD_X STORE,
     LOAD_W AWAIT IF_FIRST END_IF "nvvm.barrier0\n" LOAD_X STORE,
     "reads byte [0-9]+ of 'x' " BEFORE}};

/// x and w give r; w is settled.
struct Launch {
  std::vector<Buffer> buffers;
  Shape shape;

  Launch() {
    std::vector<uint32_t> x, w;
    for (uint32_t i = 0; i < 128; ++i) {
      x.push_back(1000 * i);
      w.push_back(i * i);
    }
    buffers.emplace_back("x", HOVA_EMULATION_INPUT, x);
    buffers.emplace_back("w", HOVA_EMULATION_INPUT, w);
    buffers.emplace_back("r", HOVA_EMULATION_OUTPUT, 512);
    buffers[1].settled = true;
    shape.grid = {2, 1, 1};
    shape.block = {64, 1, 1};
    shape.sharedBytes = 256;
    shape.overlaps = true;
  }
  bool isRight() const {
    std::vector<uint32_t> r = buffers[2].values<uint32_t>();
    for (uint32_t i = 0; i < 128; ++i) {
      if (r[i] != 1000 * i + i * i) {
        return false;
      }
    }
    return true;
  }
};

Device deviceOf(const char *code) {
  return Device(llvm::formatv(R"(
module attributes {{hova_cuda.gpu = "sm_90a"} {{
llvm.mlir.global external @memory() {{addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
llvm.func @kernel(%px: !llvm.ptr<1>, %pw: !llvm.ptr<1>, %pr: !llvm.ptr<1>) attributes {{hova_cuda.settled = array<i64: 1>, nvvm.kernel, nvvm.reqntid = array<i32: 64>} {{
  %n16 = llvm.mlir.constant(16 : i32) : i32
  %n64 = llvm.mlir.constant(64 : i32) : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = llvm.mul %block, %n64 : i32
  %i = llvm.add %first, %thread : i32
  %atx = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %atw = llvm.getelementptr %pw[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %atr = llvm.getelementptr %pr[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %memory = llvm.mlir.addressof @memory : !llvm.ptr<3>
  %slot = llvm.getelementptr %memory[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  {0}
  llvm.return
}
})",
                              code)
                    .str());
}

class Order : public testing::TestWithParam<Case> {};

TEST_P(Order, is_asked_for) {
  Device wrong = deviceOf(GetParam().code), right = deviceOf(GetParam().right);
  ASSERT_EQ(wrong.errors + right.errors, "");
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Launch launch, other;
    launch.shape.seed = other.shape.seed = seed;
    std::string said =
        wrong.run("kernel", launch.shape, launch.buffers).message;
    EXPECT_TRUE(llvm::Regex(GetParam().expected).match(said)) << said;
    EXPECT_STREQ(right.run("kernel", other.shape, other.buffers).message, "");
    EXPECT_TRUE(other.isRight());
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Order, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case> &tested) {
                           return std::string(tested.param.name);
                         });

/// What is settled may be read, or be copied, before the wait.
TEST(Order, lets_settled_buffers_be_read) {
  for (const char *code :
       {LOAD_W AWAIT ALLOW LOAD_X STORE, COPY_W AWAIT LOAD_X LANDED_W STORE}) {
    Device device = deviceOf(code);
    ASSERT_EQ(device.errors, "");
    Launch launch;
    EXPECT_STREQ(device.run("kernel", launch.shape, launch.buffers).message,
                 "");
    EXPECT_TRUE(launch.isRight());
    // The same buffer of a launch that some other one writes.
    Launch other;
    other.buffers[1].settled = false;
    std::string said = device.run("kernel", other.shape, other.buffers).message;
    EXPECT_TRUE(llvm::Regex("reads byte [0-9]+ of 'w' " BEFORE).match(said))
        << said;
  }
}

/// A thread that touches nothing waits all the same.
TEST(Order, asks_every_thread_to_wait) {
  const char *code =
      LOAD_W IF_FIRST AWAIT LOAD_X STORE "llvm.return\n^after:\n";
  Device device = deviceOf(code);
  ASSERT_EQ(device.errors, "");
  Launch launch;
  std::string said = device.run("kernel", launch.shape, launch.buffers).message;
  EXPECT_NE(said.find("ends and has not waited for the launches before it"),
            std::string::npos)
      << said;
}

/// Where a launch begins after those before have ended, all is allowed.
TEST(Order, asks_nothing_of_a_launch_that_comes_after) {
  Device device = deviceOf(LOAD_W LOAD_X STORE);
  Launch launch;
  launch.shape.overlaps = false;
  EXPECT_STREQ(device.run("kernel", launch.shape, launch.buffers).message, "");
  EXPECT_TRUE(launch.isRight());
}

TEST(Order, takes_inputs_alone_as_settled) {
  Device device = deviceOf(AWAIT LOAD_W LOAD_X STORE);
  Launch launch;
  launch.buffers[2].settled = true;
  std::string said = device.run("kernel", launch.shape, launch.buffers).message;
  EXPECT_NE(said.find("buffer 'r' is settled"), std::string::npos) << said;
}

} // namespace
