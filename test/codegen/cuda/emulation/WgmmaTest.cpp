//===- WgmmaTest.cpp - Asynchronous products, emulated --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group of warps multiplies what it has stored in shared memory. Where an
// element lies, and which thread has which sum, is written here from the
// figures of the PTX ISA. Small whole numbers have exact sums in any order.

#include "Device.h"
#include "Halves.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include <gtest/gtest.h>
#include <random>

using namespace hova::test;

namespace {

constexpr unsigned kThreads = 128, kSums = 8, kColumns = 16, kRows = 64;
/// Chunks of rows of 64 bytes, as the figure of their pattern has them.
constexpr unsigned kNarrow[8][4] = {{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 3, 2},
                                    {1, 0, 3, 2}, {2, 3, 0, 1}, {2, 3, 0, 1},
                                    {3, 2, 1, 0}, {3, 2, 1, 0}};
constexpr unsigned kWide[8][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6},
    {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
    {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
    {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};

std::string listOf(const char *name, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    text += llvm::formatv("{0}%{1}{2}", i ? ", " : "", name, i);
  }
  return text;
}

/// Copies `bytes` of x to shared memory, 16 a thread at once, by `how`: @T and
/// @F are the places there and in x, @V is a value.
std::string fill(unsigned bytes, llvm::StringRef how) {
  std::string text;
  for (unsigned i = 0; i < bytes / (16 * kThreads); ++i) {
    text += llvm::formatv(
        "%to{0} = llvm.getelementptr %slot[{1}] : (!llvm.ptr<3>) -> "
        "!llvm.ptr<3>, i8\n"
        "%from{0} = llvm.getelementptr %mine[{1}] : (!llvm.ptr<1>) -> "
        "!llvm.ptr<1>, i8\n",
        i, 16 * kThreads * i);
    std::string name = std::to_string(i);
    std::string piece = how.str();
    for (auto [place, c] : {std::pair<const char *, const char *>("@T", "%to"),
                            {"@F", "%from"},
                            {"@V", "%v"}}) {
      for (size_t at; (at = piece.find(place)) != std::string::npos;) {
        piece.replace(at, 2, c + name);
      }
    }
    text += piece;
  }
  return text;
}

const char kStored[] = "@V = llvm.load @F : !llvm.ptr<1> -> vector<4xi32>\n"
                       "llvm.store @V, @T : vector<4xi32>, !llvm.ptr<3>\n";
const char kCopied[] =
    "nvvm.cp.async.shared.global @T, @F, 16, cache = cg : !llvm.ptr<3>, "
    "!llvm.ptr<1>\n";

#define FENCE                                                                  \
  "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = "          \
  "#nvvm.shared_space<cta>}\n"
#define BARRIER "nvvm.barrier0\n"
#define ENDED                                                                  \
  "%r:8 = hova_cuda.wgmma_wait 0, (%u#0, %u#1, %u#2, %u#3, %u#4, "             \
  "%u#5, %u#6, %u#7)\n"

std::string kernelOf(llvm::StringRef body, unsigned threads = kThreads) {
  std::string text = llvm::formatv(R"(
llvm.mlir.global external @memory() {{addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.func @kernel(%px: !llvm.ptr<1>, %pr: !llvm.ptr<1>) attributes {{nvvm.kernel, nvvm.reqntid = array<i32: {0}>} {{
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %n16 = llvm.mlir.constant(16 : i32) : i32
  %n32 = llvm.mlir.constant(32 : i32) : i32
  %bytes = llvm.mul %thread, %n16 : i32
  %results = llvm.mul %thread, %n32 : i32
  %memory = llvm.mlir.addressof @memory : !llvm.ptr<3>
  %slot = llvm.getelementptr %memory[%bytes] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %mine = llvm.getelementptr %px[%bytes] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
  %out = llvm.getelementptr %pr[%results] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
  %s0 = llvm.mlir.constant(1.0 : f32) : f32
)",
                                   threads);
  for (unsigned i = 1; i < kSums; ++i) {
    text += llvm::formatv("%s{0} = llvm.mlir.constant({0}.0 : f32) : f32\n", i);
  }
  text += body;
  for (unsigned i = 0; i < kSums; ++i) {
    text += llvm::formatv("%q{0} = llvm.getelementptr %out[{0}] : "
                          "(!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
                          "llvm.store %r#{0}, %q{0} : f32, !llvm.ptr<1>\n",
                          i);
  }
  return text + "llvm.return\n}\n";
}

/// The product of the first 64 rows of shared memory with 16 from `right` on,
/// as %u, of bf16 in rows of 128 bytes.
std::string productOf(llvm::StringRef left = "%memory", unsigned right = 8192) {
  return llvm::formatv(
      "%w = llvm.getelementptr %memory[{0}] : (!llvm.ptr<3>) -> "
      "!llvm.ptr<3>, i8\n"
      "%u:8 = hova_cuda.wgmma bf16, ({1}), %w to ({2}) : !llvm.ptr<3>\n",
      right, left, listOf("s", kSums));
}

struct Operands {
  std::vector<int> left, right; ///< rows of `depth`
  std::vector<char> memory;     ///< as shared memory has both, one by one
  unsigned depth;
};

uint16_t bitsOf(int value, bool isF16) {
  return isF16 ? roundToF16(value) : roundToBf16(value);
}

Operands makeOperands(unsigned depth, bool isF16) {
  std::mt19937 random(depth);
  Operands made = {
      {}, {}, std::vector<char>((kRows + kColumns) * 2 * depth), depth};
  for (unsigned row = 0; row < kRows + kColumns; ++row) {
    // Both begin where a pattern does.
    for (unsigned k = 0; k < depth; ++k) {
      int value = int(random() % 15) - 7;
      (row < kRows ? made.left : made.right).push_back(value);
      unsigned chunk =
          depth == 64 ? kWide[row % 8][k / 8] : kNarrow[row % 8][k / 8];
      uint16_t bits = bitsOf(value, isF16);
      std::memcpy(&made.memory[(row * depth + 8 * chunk + k % 8) * 2], &bits,
                  2);
    }
  }
  return made;
}

float sumOf(const Operands &of, unsigned thread, unsigned i) {
  unsigned row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
  unsigned column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
  int sum = i ? i : 1;
  for (unsigned k = 0; k < of.depth; ++k) {
    sum += of.left[row * of.depth + k] * of.right[column * of.depth + k];
  }
  return sum;
}

std::string run(const Device &device, const std::vector<char> &x,
                hova_emulation_copies copies, uint64_t seed,
                std::vector<float> *sums = nullptr,
                unsigned threads = kThreads) {
  std::vector<Buffer> buffers;
  buffers.emplace_back("x", HOVA_EMULATION_INPUT, x);
  buffers.emplace_back("r", HOVA_EMULATION_OUTPUT, size_t{threads} * kSums * 4);
  Shape shape;
  shape.block = {threads, 1, 1};
  shape.sharedBytes = 10240;
  shape.copies = copies;
  shape.seed = seed;
  std::string message = device.run("kernel", shape, buffers).message;
  if (sums) {
    *sums = buffers.back().values<float>();
  }
  return message;
}

constexpr hova_emulation_copies kTimes[] = {
    HOVA_EMULATION_EARLY, HOVA_EMULATION_LATE, HOVA_EMULATION_MIXED};

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void check(const std::string &body, const Operands &of) {
  Device device(kernelOf(body));
  ASSERT_TRUE(device.module) << device.errors;
  for (hova_emulation_copies copies : kTimes) {
    for (uint64_t seed : {0, 1, 2}) {
      std::vector<float> sums;
      ASSERT_EQ(run(device, of.memory, copies, seed, &sums), "");
      for (unsigned thread = 0; thread < kThreads; ++thread) {
        for (unsigned i = 0; i < kSums; ++i) {
          ASSERT_EQ(sums[thread * kSums + i], sumOf(of, thread, i))
              << "thread " << thread << ", sum " << i;
        }
      }
    }
  }
}

TEST(Wgmma, multiplies_rows_of_128_bytes) {
  Operands of = makeOperands(64, false);
  check(fill(of.memory.size(), kStored) + FENCE BARRIER + productOf() + ENDED,
        of);
}

TEST(Wgmma, multiplies_rows_of_64_bytes_of_f16) {
  Operands of = makeOperands(32, true);
  std::string product = llvm::formatv(
      "%w = llvm.getelementptr %memory[4096] : (!llvm.ptr<3>) -> "
      "!llvm.ptr<3>, i8\n%u:8 = hova_cuda.wgmma f16, (%memory), %w to ({0}) "
      "{{row_bytes = 64 : i64} : !llvm.ptr<3>\n",
      listOf("s", kSums));
  // Whole rounds of all threads.
  of.memory.resize(6144);
  check(fill(6144, kStored) + FENCE BARRIER + product + ENDED, of);
}

/// The same words as those of mma.sync, which each thread has in a row of x.
TEST(Wgmma, multiplies_registers) {
  Operands of = makeOperands(64, false);
  std::vector<char> right(of.memory.begin() + kRows * 128, of.memory.end());
  of.memory = right;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    for (unsigned word = 0; word < 16; ++word) {
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (word % 2);
        unsigned k = 16 * (word / 4) + 8 * (word / 2 % 2) + 2 * (thread % 4);
        uint16_t bits = bitsOf(of.left[row * 64 + k + half], false);
        of.memory.insert(of.memory.end(), reinterpret_cast<char *>(&bits),
                         reinterpret_cast<char *>(&bits) + 2);
      }
    }
  }
  std::string loads = "%n64 = llvm.mlir.constant(64 : i32) : i32\n"
                      "%row = llvm.mul %thread, %n64 : i32\n"
                      "%words = llvm.getelementptr %px[%row] : "
                      "(!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8\n";
  std::string types;
  for (unsigned i = 0; i < 16; ++i) {
    loads += llvm::formatv("%p{0} = llvm.getelementptr %words[{1}] : "
                           "(!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n"
                           "%a{0} = llvm.load %p{0} : !llvm.ptr<1> -> i32\n",
                           i, 2048 + 4 * i);
    types += i ? ", i32" : "i32";
  }
  std::string product =
      llvm::formatv("%u:8 = hova_cuda.wgmma bf16, ({0}), %memory to ({1}) : "
                    "{2}\n",
                    listOf("a", 16), listOf("s", kSums), types);
  check(fill(2048, kStored) + loads + FENCE BARRIER + product + ENDED, of);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

#define OVERWRITE "llvm.store %thread, %slot : i32, !llvm.ptr<3>\n"

struct Case {
  const char *name;
  std::string wrong, right;
  const char *expected; ///< a regular expression
};

std::vector<Case> cases() {
  std::string stored = fill(10240, kStored), copied = fill(10240, kCopied);
  std::string committed = copied + "nvvm.cp.async.commit.group\n"
                                   "nvvm.cp.async.wait.group 0\n";
  std::string ready = stored + FENCE BARRIER;
  std::string right = ready + productOf() + ENDED;
  const char *unfenced = "multiplies byte [0-9]+ of shared memory, which was "
                         "written at .*: no fence of proxies stands between";
  const char *racing =
      "writes byte [0-9]+ of shared memory, which products of "
      "warp [0-3] under way read, begun at .*: nothing has waited";
  std::string lane = "%lane = nvvm.read.ptx.sreg.laneid : i32\n"
                     "%n1024 = llvm.mlir.constant(1024 : i32) : i32\n";
  return {
      {"no_fence_behind_stores", stored + BARRIER + productOf() + ENDED, right,
       unfenced},
      {"no_fence_behind_copies", committed + BARRIER + productOf() + ENDED,
       committed + FENCE BARRIER + productOf() + ENDED, unfenced},
      {"fence_before_the_wait",
       copied +
           "nvvm.cp.async.commit.group\n" FENCE
           "nvvm.cp.async.wait.group 0\n" BARRIER +
           productOf() + ENDED,
       committed + BARRIER FENCE + productOf() + ENDED, unfenced},
      {"fence_before_the_store", FENCE + stored + BARRIER + productOf() + ENDED,
       stored + BARRIER FENCE + productOf() + ENDED, unfenced},
      {"no_barrier", stored + FENCE + productOf() + ENDED, right,
       "reads byte [0-9]+ of shared memory, which thread [0-9]+ has written"},
      {"overwritten_under_way", ready + productOf() + BARRIER OVERWRITE ENDED,
       ready + productOf() + ENDED BARRIER OVERWRITE, racing},
      {"overwritten_where_one_warp_has_waited",
       ready + productOf() +
           BARRIER ENDED "%other = llvm.icmp \"eq\" %thread, %n32 : i32\n"
                         "llvm.cond_br %other, ^then, ^after\n^then:\n"
                         "llvm.store %thread, %memory : i32, !llvm.ptr<3>\n"
                         "llvm.br ^after\n^after:\n",
       right, "writes byte 0 of shared memory, which products of warp 0 under"},
      {"misaligned", ready + productOf("%memory", 8192 + 128) + ENDED, right,
       "takes an operand from byte 8320 of shared memory on, which is no "
       "multiple of the 1024 of eight rows"},
      {"outside", ready + productOf("%memory", 9216) + ENDED, right,
       "reads 128 bytes from byte 10240 of shared memory on, which has 10240"},
      {"another_operand_in_a_lane",
       ready + lane +
           "%by = llvm.mul %lane, %n1024 : i32\n"
           "%x = llvm.getelementptr %memory[%by] : (!llvm.ptr<3>, i32) -> "
           "!llvm.ptr<3>, i8\n" +
           productOf("%x") + ENDED,
       right, "takes another operand than lane 0 of its warp"},
      {"another_operand_in_a_warp",
       ready + lane +
           "%warp = llvm.udiv %thread, %n32 : i32\n"
           "%by = llvm.mul %warp, %n1024 : i32\n"
           "%x = llvm.getelementptr %memory[%by] : (!llvm.ptr<3>, i32) -> "
           "!llvm.ptr<3>, i8\n" +
           productOf("%x") + ENDED,
       right,
       "is not executed alike by the four warps of a group|of shared "
       "memory"},
      {"half_a_warp",
       ready + lane +
           "%half = llvm.icmp \"ult\" %lane, %n16 : i32\n"
           "llvm.cond_br %half, ^then, ^after(" +
           listOf("s", kSums) + " : f32, f32, f32, f32, f32, f32, f32, f32)\n" +
           "^then:\n" + productOf() +
           "llvm.br ^after(%u#0, %u#1, %u#2, %u#3, %u#4, %u#5, %u#6, %u#7 : "
           "f32, f32, f32, f32, f32, f32, f32, f32)\n^after(%a0: f32, %a1: "
           "f32, %a2: f32, %a3: f32, %a4: f32, %a5: f32, %a6: f32, %a7: f32):\n"
           "%r:8 = hova_cuda.wgmma_wait 0, (" +
           listOf("a", kSums) + ")\n",
       right, "waits for the lanes of its warp that it names for ever"},
  };
}

TEST(Wgmma, faults_are_refused) {
  std::vector<char> x = makeOperands(64, false).memory;
  for (const Case &each : cases()) {
    Device wrong(kernelOf(each.wrong));
    ASSERT_TRUE(wrong.module) << each.name << ": " << wrong.errors;
    Device right(kernelOf(each.right));
    ASSERT_TRUE(right.module) << each.name << ": " << right.errors;
    for (hova_emulation_copies copies : kTimes) {
      for (uint64_t seed : {0, 1, 7}) {
        std::string message = run(wrong, x, copies, seed);
        EXPECT_TRUE(llvm::Regex(each.expected).match(message))
            << each.name << ": " << message;
        EXPECT_EQ(run(right, x, copies, seed), "") << each.name;
      }
    }
  }
}

/// Sums that nobody waits for are no numbers, and the warp is told.
TEST(Wgmma, products_end_before_the_warp_does) {
  std::vector<char> x = makeOperands(64, false).memory;
  std::string body = fill(10240, kStored) + FENCE BARRIER + productOf();
  Device device(kernelOf(
      body + "%r:8 = hova_cuda.wgmma_wait 0, (%s0, %s1, %s2, %s3, %s4, %s5, "
             "%s6, %s7)\n%more:8 = hova_cuda.wgmma bf16, (%memory), %w to "
             "(%s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7) : !llvm.ptr<3>\n"));
  ASSERT_TRUE(device.module) << device.errors;
  EXPECT_TRUE(llvm::Regex("'hova_cuda.wgmma' at .* is never waited for by its "
                          "warp, which has ended")
                  .match(run(device, x, HOVA_EMULATION_LATE, 1)));
}

TEST(Wgmma, needs_four_warps) {
  std::vector<char> x(16 * 96);
  Device device(
      kernelOf("llvm.store %s0, %slot : f32, !llvm.ptr<3>\n" FENCE BARRIER +
                   productOf() + ENDED,
               96));
  ASSERT_TRUE(device.module) << device.errors;
  EXPECT_TRUE(llvm::Regex("needs four warps of a group, which the block does "
                          "not have from warp 0 on")
                  .match(run(device, x, HOVA_EMULATION_EARLY, 0, nullptr, 96)));
}

TEST(Wgmma, a_sum_under_way_is_refused_elsewhere) {
  Device device(kernelOf(fill(10240, kStored) + FENCE BARRIER + productOf() +
                         ENDED +
                         "llvm.store %u#0, %slot : f32, !llvm.ptr<3>\n"));
  EXPECT_FALSE(device.module);
  EXPECT_TRUE(llvm::StringRef(device.errors)
                  .contains("has a result under way, which may reach the sums "
                            "of a product, a wait and loops alone, and reaches "
                            "'llvm.store'"))
      << device.errors;
}

} // namespace
