//===- KernelsTest.cpp - Whole kernels, emulated --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A product with its epilogue, an attention and a norm (Inputs/README.md says
// what made them) against sums in float64, under several orders of warps and
// times of copies; and the same kernels broken on purpose. Only as many blocks
// are launched as a test can wait for.

#include "Device.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace hova::test;

namespace {

uint16_t bf16Of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

double numberOf(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// What a kernel computes: its operands, the result last, and the truth of the
/// rows and columns that the launched blocks write.
struct Work {
  std::string kernel;
  Shape shape;
  std::vector<std::vector<uint8_t>> inputs;
  size_t rows, columns, pitch; ///< of the result, in elements
  std::function<double(size_t row, size_t column)> truth;
};

template <typename T> std::vector<uint8_t> bytesOf(const std::vector<T> &from) {
  std::vector<uint8_t> bytes(from.size() * sizeof(T));
  std::memcpy(bytes.data(), from.data(), bytes.size());
  return bytes;
}

std::vector<uint16_t> narrow(std::mt19937 &random, size_t count, float scale) {
  std::normal_distribution<float> normal;
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values) {
    value = bf16Of(normal(random) * scale);
  }
  return values;
}

std::vector<float> wide(std::mt19937 &random, size_t count, float scale) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values) {
    value = normal(random) * scale;
  }
  return values;
}

/// gelu(x wT + b), 197x768x3072, of which the first 128 columns.
Work makeProduct() {
  std::mt19937 random(1);
  auto x = narrow(random, 197 * 768, 1), w = narrow(random, 3072 * 768, 0.05f);
  auto b = wide(random, 3072, 1);
  Shape shape{{4, 1, 1}, {128, 1, 1}, 74752};
  return {"product",
          shape,
          {bytesOf(x), bytesOf(w), bytesOf(b)},
          197,
          128,
          3072,
          [=](size_t row, size_t column) {
            double sum = b[column];
            for (size_t k = 0; k < 768; ++k) {
              sum += numberOf(x[row * 768 + k]) * numberOf(w[column * 768 + k]);
            }
            return sum * std::erfc(-sum * M_SQRT1_2) / 2;
          }};
}

/// softmax(q kT / 8) v of the first of twelve heads, 197 tokens.
Work makeAttention() {
  std::mt19937 random(2);
  auto qkv = narrow(random, 197 * 2304, 1);
  Shape shape{{4, 1, 1}, {128, 1, 1}, 41984};
  return {"attention",
          shape,
          {bytesOf(qkv)},
          197,
          64,
          768,
          [=](size_t row, size_t column) {
            double sum = 0, total = 0;
            for (size_t key = 0; key < 197; ++key) {
              double score = 0;
              for (size_t k = 0; k < 64; ++k) {
                score += numberOf(qkv[row * 2304 + k]) *
                         numberOf(qkv[key * 2304 + 768 + k]);
              }
              double weight = std::exp(score / 8 - 4);
              total += weight;
              sum += weight * numberOf(qkv[key * 2304 + 1536 + column]);
            }
            return sum / total;
          }};
}

/// A layer norm over 768 columns of 197 rows.
Work makeNorm() {
  std::mt19937 random(3);
  auto x = wide(random, 197 * 768, 3), gain = wide(random, 768, 1),
       bias = wide(random, 768, 1);
  Shape shape{{50, 1, 1}, {128, 1, 1}, 0};
  return {"norm",
          shape,
          {bytesOf(x), bytesOf(gain), bytesOf(bias)},
          197,
          768,
          768,
          [=](size_t row, size_t column) {
            const float *first = &x[row * 768];
            double mean = 0, variance = 0;
            for (size_t k = 0; k < 768; ++k) {
              mean += first[k] / 768.0;
            }
            for (size_t k = 0; k < 768; ++k) {
              variance += (first[k] - mean) * (first[k] - mean) / 768;
            }
            return (first[column] - mean) / std::sqrt(variance + 1e-6) *
                       gain[column] +
                   bias[column];
          }};
}

Work makeWork(llvm::StringRef name) {
  return name == "product"     ? makeProduct()
         : name == "attention" ? makeAttention()
                               : makeNorm();
}

std::string textOf(llvm::StringRef name) {
  auto file =
      llvm::MemoryBuffer::getFile(HOVA_TEST_INPUTS "/" + name + ".lowered");
  EXPECT_TRUE(bool(file)) << "no " << name.str() << ".lowered";
  return file ? (*file)->getBuffer().str() : "";
}

/// The bits that a launch leaves, or the fault.
struct Outcome {
  hova_emulation_report report;
  std::vector<uint16_t> result;
};

Outcome launch(const Device &device, const Work &work, uint64_t seed,
               hova_emulation_copies copies) {
  std::vector<Buffer> buffers;
  for (const auto &input : work.inputs) {
    buffers.emplace_back("operand " + std::to_string(buffers.size()),
                         HOVA_EMULATION_INPUT, input);
  }
  // Blocks that are not launched leave their part as it is.
  bool isWhole = work.columns == work.pitch;
  buffers.emplace_back("result",
                       isWhole ? HOVA_EMULATION_OUTPUT : HOVA_EMULATION_STATE,
                       work.rows * work.pitch * 2);
  Shape shape = work.shape;
  shape.seed = seed;
  shape.copies = copies;
  auto report = device.run(work.kernel, shape, buffers);
  return {report, buffers.back().values<uint16_t>()};
}

/// The largest difference from the truth in parts of the largest number.
double errorOf(const Work &work, const std::vector<uint16_t> &result) {
  double worst = 0, largest = 0;
  for (size_t row = 0; row < work.rows; row += 5) {
    for (size_t column = row % 3; column < work.columns; column += 3) {
      double truth = work.truth(row, column);
      double error =
          std::abs(truth - numberOf(result[row * work.pitch + column]));
      largest = std::max(largest, std::abs(truth));
      worst = error <= worst ? worst : error;
    }
  }
  return worst / largest;
}

/// One rounding of the largest number to bf16.
constexpr double kLimit = 0x1p-8;

class Kernels : public testing::TestWithParam<const char *> {};

TEST_P(Kernels, are_right_and_the_same_bits_in_every_order) {
  Work work = makeWork(GetParam());
  Device device(textOf(GetParam()));
  ASSERT_TRUE(device.module) << device.errors;
  Outcome first = launch(device, work, 0, HOVA_EMULATION_EARLY);
  ASSERT_STREQ(first.report.message, "");
  EXPECT_LE(errorOf(work, first.result), kLimit);
  EXPECT_EQ(first.report.counts.matrix_wavefronts,
            first.report.counts.matrix_wavefronts_least);
  for (uint64_t seed : {1, 2}) {
    auto copies = seed == 1 ? HOVA_EMULATION_LATE : HOVA_EMULATION_MIXED;
    Outcome other = launch(device, work, seed, copies);
    EXPECT_STREQ(other.report.message, "");
    EXPECT_EQ(other.result, first.result) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, Kernels,
                         testing::Values("product", "attention", "norm"),
                         [](const auto &info) { return info.param; });

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// The occurrence of a pattern in a kernel's text that is replaced, counted
/// from 0.
struct Mutant {
  const char *name, *kernel, *pattern, *by;
  unsigned occurrence;
  /// What the fault says; null: wrong numbers will do.
  const char *fault;
};

#define FIRST_LANES_ONLY(OP)                                                   \
  "%mutant_lane = nvvm.read.ptx.sreg.laneid : i32\n"                           \
  "%mutant_half = llvm.mlir.constant(16 : i32) : i32\n"                        \
  "%mutant_if = llvm.icmp \"ult\" %mutant_lane, %mutant_half : i32\n"          \
  "llvm.cond_br %mutant_if, ^mutant_then, ^mutant_after\n"                     \
  "^mutant_then:\n" OP "\nllvm.br ^mutant_after\n^mutant_after:\n"

const Mutant kMutants[] = {
    {"product_without_the_barrier_of_a_turn", "product", "nvvm.barrier", "", 0,
     "no barrier orders"},
    {"product_waits_for_one_copy_less", "product", "wait.group 2",
     "wait.group 3", 0, "asynchronous copy"},
    {"product_commits_nothing", "product", "nvvm.cp.async.commit.group", "", 1,
     "asynchronous copy"},
    {"product_reads_without_the_swizzle", "product", "llvm.xor %385, %332",
     "llvm.or %385, %332", 0, nullptr},
    {"product_with_a_fragment_transposed", "product", "mma_layout<row>, num",
     "mma_layout<col>, num", 5, nullptr},
    {"product_of_half_a_warp", "product", "nvvm.barrier",
     FIRST_LANES_ONLY("nvvm.barrier"), 0, "for ever|is not the barrier"},
    {"product_with_operands_exchanged", "product", "%arg0: !llvm.ptr<1>, %arg1",
     "%arg1: !llvm.ptr<1>, %arg0", 0, nullptr},
    {"product_with_two_blocks_for_a_row", "product",
     "nvvm.read.ptx.sreg.ctaid.x : i32", "llvm.mlir.zero : i32", 0,
     "another block has written"},
    {"product_with_misaligned_copies", "product",
     "nvvm.cp.async.shared.global %([0-9]+)",
     "%mutant = llvm.getelementptr %\\1[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, "
     "i8\nnvvm.cp.async.shared.global %mutant",
     3, "multiple of 16"},
    {"product_beyond_its_result", "product", "nvvm.read.ptx.sreg.ctaid.x : i32",
     "llvm.mlir.constant(9 : i32) : i32", 0, nullptr},
    {"attention_without_a_barrier", "attention", "nvvm.barrier", "", 1,
     "no barrier orders"},
    {"attention_without_the_last_barrier_of_a_turn", "attention",
     "nvvm.barrier", "", 2, "no barrier orders"},
    {"attention_waits_for_one_copy_less", "attention", "wait.group 1",
     "wait.group 2", 0, "asynchronous copy"},
    {"attention_without_the_tail_of_keys", "attention",
     "constant\\(197 : index\\)", "constant(208 : index)", 0, nullptr},
    {"attention_with_values_transposed", "attention", "mma_layout<col>, num",
     "mma_layout<row>, num", 0, nullptr},
    {"attention_with_sums_of_other_lanes", "attention", "nvvm.shfl.sync +bfly",
     "nvvm.shfl.sync up", 0, nullptr},
    {"norm_with_half_the_lanes", "norm", "nvvm.shfl.sync +bfly",
     "nvvm.shfl.sync down", 2, nullptr},
};

/// `text` with an occurrence replaced; "\1" in `by` is the first group.
std::string replaceIn(std::string text, const Mutant &mutant) {
  llvm::Regex pattern(mutant.pattern);
  size_t from = 0;
  for (unsigned i = 0;; ++i) {
    llvm::SmallVector<llvm::StringRef> groups;
    if (!pattern.match(llvm::StringRef(text).drop_front(from), &groups)) {
      return "";
    }
    size_t at = groups[0].data() - text.data(), size = groups[0].size();
    if (i == mutant.occurrence) {
      std::string by = pattern.sub(mutant.by, groups[0]);
      return text.replace(at, size, by);
    }
    from = at + size;
  }
}

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, are_refused_or_give_wrong_numbers) {
  const Mutant &mutant = GetParam();
  std::string text = replaceIn(textOf(mutant.kernel), mutant);
  ASSERT_NE(text, "") << "the pattern is nowhere";
  Device device(text);
  ASSERT_TRUE(device.module) << device.errors;
  Work work = makeWork(mutant.kernel);
  Outcome outcome = launch(device, work, 1, HOVA_EMULATION_MIXED);
  if (mutant.fault) {
    EXPECT_TRUE(llvm::Regex(mutant.fault).match(outcome.report.message))
        << "it says: " << outcome.report.message;
  } else if (!outcome.report.message[0]) {
    EXPECT_FALSE(errorOf(work, outcome.result) <= kLimit);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Mutants, testing::ValuesIn(kMutants),
                         [](const auto &info) { return info.param.name; });

} // namespace
