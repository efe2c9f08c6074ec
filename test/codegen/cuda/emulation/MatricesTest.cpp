//===- MatricesTest.cpp - ldmatrix and mma.sync, emulated -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which element lies where is written here from the figures of the PTX ISA,
// lane by lane and register by register, not from the formulas that emulation
// uses.

#include "Device.h"
#include "Halves.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace hova::test;

namespace {

float numberOf(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// Words of each lane, `in` from one buffer and `out` to another.
std::vector<uint32_t> runWarp(llvm::StringRef body, unsigned in, unsigned out,
                              const std::vector<uint32_t> &words,
                              hova_emulation_counts *counts = nullptr) {
  std::string text = llvm::formatv(R"(
llvm.mlir.global external @memory() {{addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.func @kernel(%px: !llvm.ptr<1>, %pr: !llvm.ptr<1>) attributes {{nvvm.kernel} {{
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %in = llvm.mlir.constant({0} : i32) : i32
  %out = llvm.mlir.constant({1} : i32) : i32
  %first = llvm.mul %lane, %in : i32
  %result = llvm.mul %lane, %out : i32
  %x = llvm.getelementptr %px[%first] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %r = llvm.getelementptr %pr[%result] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %memory = llvm.mlir.addressof @memory : !llvm.ptr<3>
  {2}
  llvm.return
})",
                                   in, out, body);
  Device device(text);
  EXPECT_TRUE(device.module) << device.errors;
  std::vector<Buffer> buffers;
  buffers.emplace_back("x", HOVA_EMULATION_INPUT, words);
  buffers.emplace_back("r", HOVA_EMULATION_OUTPUT, size_t{128} * out);
  Shape shape;
  shape.sharedBytes = 4096;
  auto report = device.run("kernel", shape, buffers);
  EXPECT_STREQ(report.message, "");
  if (counts) {
    *counts = report.counts;
  }
  return buffers.back().values<uint32_t>();
}

std::string loadWords(unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    text += llvm::formatv("%p{0} = llvm.getelementptr %x[{0}] : "
                          "(!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
                          "%w{0} = llvm.load %p{0} : !llvm.ptr<1> -> i32\n",
                          i);
  }
  return text;
}

std::string storeWords(unsigned count, llvm::StringRef type,
                       llvm::StringRef element) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    text += llvm::formatv(
        "%v{0} = llvm.extractvalue %result_words[{0}] : {1}\n"
        "%q{0} = llvm.getelementptr %r[{0}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, "
        "i32\nllvm.store %v{0}, %q{0} : {2}, !llvm.ptr<1>\n",
        i, type, element);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

/// Four blocks, whose element (row, column) of block m is 256 m + 16 row +
/// column, rows of 16 bytes one after the other; lane i gives address i.
std::vector<uint32_t> loadBlocks(bool transposed, unsigned count,
                                 unsigned pitch,
                                 hova_emulation_counts *counts) {
  std::vector<uint32_t> words(128);
  for (unsigned i = 0; i < 256; ++i) {
    uint32_t element = i / 64 * 256 + i / 8 % 8 * 16 + i % 8;
    words[i / 2] |= element << 16 * (i % 2);
  }
  std::string type = count == 1 ? "i32" : "!llvm.struct<(i32";
  for (unsigned i = 1; i < count; ++i) {
    type += i + 1 == count ? ", i32)>" : ", i32";
  }
  std::string body = llvm::formatv(
      R"(%pitch = llvm.mlir.constant({0} : i32) : i32
  %offset = llvm.mul %lane, %pitch : i32
  %row = llvm.getelementptr %memory[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %words = llvm.load %x : !llvm.ptr<1> -> vector<4xi32>
  llvm.store %words, %row : vector<4xi32>, !llvm.ptr<3>
  nvvm.barrier0
  %result_words = nvvm.ldmatrix %row {{num = {1} : i32, layout = #nvvm.mma_layout<{2}>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> {3}
)",
      pitch, count, transposed ? "col" : "row", type);
  body += count == 1 ? "llvm.store %result_words, %r : i32, !llvm.ptr<1>"
                     : storeWords(count, type, "i32");
  return runWarp(body, 4, count, words, counts);
}

TEST(LdMatrix, gives_each_lane_two_neighbours_of_a_row_or_of_a_column) {
  for (unsigned count : {1u, 2u, 4u}) {
    for (bool transposed : {false, true}) {
      hova_emulation_counts counts;
      auto words = loadBlocks(transposed, count, 16, &counts);
      // Lane 0 holds (0, 0) and (0, 1), lane 1 (0, 2) and (0, 3), lane 4 (1,
      // 0) and (1, 1); transposed the other way round.
      unsigned row = 0, column = 0;
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned m = 0; m < count; ++m) {
          uint32_t word = words[lane * count + m];
          uint32_t low = transposed ? 16 * column + row : 16 * row + column;
          uint32_t step = transposed ? 16 : 1;
          EXPECT_EQ(word & 0xFFFF, 256 * m + low) << lane;
          EXPECT_EQ(word >> 16, 256 * m + low + step) << lane;
        }
        column += 2;
        row += column / 8;
        column %= 8;
      }
      EXPECT_EQ(counts.matrix_wavefronts, count);
      EXPECT_EQ(counts.matrix_wavefronts_least, count);
    }
  }
}

/// Rows of 128 bytes begin at the same bank: each of eight takes its turn.
TEST(LdMatrix, counts_conflicts_of_banks) {
  hova_emulation_counts counts;
  loadBlocks(false, 4, 128, &counts);
  EXPECT_EQ(counts.matrix_wavefronts, 32u);
  EXPECT_EQ(counts.matrix_wavefronts_least, 4u);
  loadBlocks(false, 4, 80, &counts);
  EXPECT_EQ(counts.matrix_wavefronts, 4u);
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

constexpr const char *kMma = R"(
  %s0 = llvm.bitcast %w6 : i32 to f32
  %s1 = llvm.bitcast %w7 : i32 to f32
  %s2 = llvm.bitcast %w8 : i32 to f32
  %s3 = llvm.bitcast %w9 : i32 to f32
  %result_words = nvvm.mma.sync A[%w0, %w1, %w2, %w3] B[%w4, %w5] C[%s0, %s1, %s2, %s3] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
)";

std::vector<uint32_t> multiply(const std::vector<uint32_t> &words) {
  return runWarp(loadWords(10) + kMma +
                     storeWords(4, "!llvm.struct<(f32, f32, f32, f32)>", "f32"),
                 10, 4, words);
}

struct Place {
  unsigned row, column;
};

/// Figure "MMA .m16n8k16 fragment layout for matrix A": a0 to a7.
Place placeOfA(unsigned lane, unsigned i) {
  const Place first[] = {{0, 0}, {0, 1}, {8, 0}, {8, 1},
                         {0, 8}, {0, 9}, {8, 8}, {8, 9}};
  return {first[i].row + lane / 4, first[i].column + lane % 4 * 2};
}
/// b0 to b3.
Place placeOfB(unsigned lane, unsigned i) {
  const Place first[] = {{0, 0}, {1, 0}, {8, 0}, {9, 0}};
  return {first[i].row + lane % 4 * 2, lane / 4};
}
/// c0 to c3.
Place placeOfC(unsigned lane, unsigned i) {
  const Place first[] = {{0, 0}, {0, 1}, {8, 0}, {8, 1}};
  return {first[i].row + lane / 4, first[i].column + lane % 4 * 2};
}

struct Matrices {
  uint16_t a[16][16] = {}, b[16][8] = {};
  float c[16][8] = {};

  std::vector<uint32_t> words() const {
    std::vector<uint32_t> all(320);
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t *words = &all[10 * lane];
      for (unsigned i = 0; i < 8; ++i) {
        Place at = placeOfA(lane, i);
        words[i / 2] |= static_cast<uint32_t>(a[at.row][at.column])
                        << 16 * (i % 2);
      }
      for (unsigned i = 0; i < 4; ++i) {
        Place at = placeOfB(lane, i);
        words[4 + i / 2] |= static_cast<uint32_t>(b[at.row][at.column])
                            << 16 * (i % 2);
        at = placeOfC(lane, i);
        std::memcpy(&words[6 + i], &c[at.row][at.column], 4);
      }
    }
    return all;
  }
};

void expectProduct(const Matrices &operands) {
  auto words = multiply(operands.words());
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      Place at = placeOfC(lane, i);
      // Each product is exact in float64, and so is its sum with an f32 before
      // it is rounded once.
      float sum = operands.c[at.row][at.column];
      for (unsigned k = 0; k < 16; ++k) {
        long double product =
            static_cast<long double>(numberOf(operands.a[at.row][k])) *
            numberOf(operands.b[k][at.column]);
        sum = static_cast<float>(product + sum);
      }
      float got;
      std::memcpy(&got, &words[4 * lane + i], 4);
      if (std::isnan(sum)) {
        EXPECT_EQ(words[4 * lane + i], 0x7FFFFFFFu);
      } else {
        EXPECT_EQ(got, sum) << "row " << at.row << ", column " << at.column;
      }
    }
  }
}

TEST(Mma, multiplies_bf16_and_adds_in_order_of_k) {
  std::mt19937 random(3);
  for (int round = 0; round < 4; ++round) {
    Matrices operands;
    for (auto &row : operands.a) {
      for (auto &element : row) {
        element = random() % 0x8000 % 0x1000 + 0x3800 + (random() & 0x8000);
      }
    }
    for (auto &row : operands.b) {
      for (auto &element : row) {
        element = random() % 0x1000 + 0x3800 + (random() & 0x8000);
      }
    }
    for (auto &row : operands.c) {
      for (auto &element : row) {
        element = static_cast<float>(random()) / 1e5f - 2e4f;
      }
    }
    expectProduct(operands);
  }
}

/// The same operands read as f16, of which the kernel takes pairs as vectors.
TEST(Mma, multiplies_f16) {
  std::string kernel;
  for (unsigned i = 0; i < 6; ++i) {
    kernel +=
        llvm::formatv("%h{0} = llvm.bitcast %w{0} : i32 to vector<2xf16>\n", i);
  }
  std::string text = kMma;
  for (auto [from, to] :
       {std::pair("A[%w0, %w1, %w2, %w3] B[%w4, %w5]",
                  "A[%h0, %h1, %h2, %h3] B[%h4, %h5]"),
        std::pair("multiplicandAPtxType = #nvvm.mma_type<bf16>, "
                  "multiplicandBPtxType = #nvvm.mma_type<bf16>, ",
                  ""),
        std::pair("(i32, i32, f32)", "(vector<2xf16>, vector<2xf16>, f32)")}) {
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
  }
  // Numbers around 1 times numbers around -1, and the least that f16 has.
  Matrices operands;
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned k = 0; k < 16; ++k) {
      operands.a[i][k] = 0x3C00 + 17 * i + k;
    }
    for (unsigned j = 0; j < 8; ++j) {
      operands.b[i][j] = (i + j) % 3 ? 0x0001 : 0xBC00 + 5 * i + j;
    }
  }
  auto words =
      runWarp(loadWords(10) + kernel + text +
                  storeWords(4, "!llvm.struct<(f32, f32, f32, f32)>", "f32"),
              10, 4, operands.words());
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      Place at = placeOfC(lane, i);
      float sum = 0;
      for (unsigned k = 0; k < 16; ++k) {
        sum =
            static_cast<float>(sum + numberOfF16(operands.a[at.row][k]) *
                                         numberOfF16(operands.b[k][at.column]));
      }
      float got;
      std::memcpy(&got, &words[4 * lane + i], 4);
      EXPECT_EQ(got, sum) << "row " << at.row << ", column " << at.column;
    }
  }
}

/// A permutation of k, of rows or of columns changes this one.
TEST(Mma, takes_each_element_once) {
  Matrices operands;
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned k = 0; k < 16; ++k) {
      operands.a[i][k] = 0x3F80 + 8 * i + k % 8 + (k >= 8 ? 0x80 : 0);
    }
    for (unsigned j = 0; j < 8; ++j) {
      operands.b[i][j] = 0x3F80 + 16 * j + i;
    }
  }
  expectProduct(operands);
}

/// No number, infinities, sums that vanish, and numbers below the normal ones.
TEST(Mma, follows_special_numbers) {
  const uint16_t special[] = {0x0000, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0x0001,
                              0x807F, 0x0080, 0x3F80, 0x7F7F, 0x1A00, 0x9A00};
  std::mt19937 random(5);
  for (int round = 0; round < 4; ++round) {
    Matrices operands;
    for (auto &row : operands.a) {
      for (auto &element : row) {
        element = random() % 4 ? 0x2000 : special[random() % 12];
      }
    }
    for (auto &row : operands.b) {
      for (auto &element : row) {
        element = random() % 4 ? 0x1F00 : special[random() % 12];
      }
    }
    expectProduct(operands);
  }
}

} // namespace
