//===- VerifyTest.cpp - Verification finds planted mistakes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The compiled programs are written by hand (Inputs/Program.c), each with one
// mistake or none; verification must accept and reject the right ones and name
// the layer.

#include "codegen/reference/Inputs.h"
#include "codegen/reference/VerifyReport.h"
#include "codegen/targets/Targets.h"
#include "dialect/dense/DenseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hova;

namespace {

constexpr const char *kProgram = R"mlir(
  func.func @imported(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %one = arith.constant dense<1.0> : tensor<5xf32>
    %r = hova.activation relu %x : tensor<3x5xf32>
    %s = hova.scale %r {factor = 2.0 : f64} : tensor<3x5xf32>
    %y = hova.add %s, %one : tensor<3x5xf32>, tensor<5xf32>
    return %y : tensor<3x5xf32>
  }
  func.func @kernels(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %h = hova.kernel "first" (%x) {
    ^bb0(%a: tensor<3x5xf32>):
      %r = hova.activation relu %a : tensor<3x5xf32> loc("layer.0.relu")
      hova.yield %r : tensor<3x5xf32>
    } : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %y = hova.kernel "second" (%h) {
    ^bb0(%a: tensor<3x5xf32>):
      %one = arith.constant dense<1.0> : tensor<5xf32>
      %s = hova.scale %a {factor = FACTOR : f64} : tensor<3x5xf32>
      %t = hova.add %s, %one : tensor<3x5xf32>, tensor<5xf32> loc("layer.1.sum")
      hova.yield %t : tensor<3x5xf32>
    } : (tensor<3x5xf32>) -> tensor<3x5xf32>
    return %y : tensor<3x5xf32>
  })mlir";

class VerifyTest : public testing::Test {
protected:
  VerifyTest() {
    context.loadDialect<HovaDialect, func::FuncDialect, arith::ArithDialect>();
  }

  /// Verifies the program with a mistake against kernels that scale by
  /// `factor`.
  bool verify(int mistake, int64_t cases = 3, llvm::StringRef factor = "2.0") {
    std::string text = kProgram;
    text.replace(text.find("FACTOR"), 6, factor.str());
    module = parseSourceString<ModuleOp>(text, &context);
    auto imported = module->lookupSymbol<func::FuncOp>("imported");
    VerifiedProgram reference{imported, imported,
                              module->lookupSymbol<func::FuncOp>("kernels"),
                              nullptr, nullptr};
    auto compiled = CompiledProgram::load(HOVA_TEST_PROGRAMS "/libby_hand_" +
                                              std::to_string(mistake) + ".so",
                                          "by_hand");
    if (!compiled) {
      ADD_FAILURE() << llvm::toString(compiled.takeError());
      return false;
    }
    options.cases = cases;
    llvm::raw_string_ostream os(report);
    auto table = makeVerifyTable(getDefaultFacts(), os);
    auto verdict =
        verifyProgram(reference, *compiled, options,
                      [&](const VerifiedCase &tried) { table->add(tried); });
    EXPECT_TRUE(static_cast<bool>(verdict));
    table->end(*verdict, Fault());
    return verdict->passed();
  }

  bool reports(llvm::StringRef line) const {
    return llvm::StringRef(report).contains(line);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  VerifyOptions options;
  std::string report;
};

TEST_F(VerifyTest, accepts_a_right_program) {
  EXPECT_TRUE(verify(0)) << report;
  EXPECT_TRUE(reports("worst of 1 values between kernels")) << report;
  EXPECT_TRUE(reports("verified: 3 cases")) << report;
}

TEST_F(VerifyTest, names_the_layer_where_a_difference_enters) {
  EXPECT_FALSE(verify(1));
  EXPECT_TRUE(reports("differs: layer.0.relu\n")) << report;
  EXPECT_TRUE(reports("[1, 2]")) << report;
}

TEST_F(VerifyTest, finds_a_nan_that_only_edge_inputs_show) {
  EXPECT_TRUE(verify(2, /*cases=*/1)) << report;
  report.clear();
  EXPECT_FALSE(verify(2));
  EXPECT_TRUE(reports("differs: output y\n")) << report;
  EXPECT_TRUE(reports("NaN or infinite on one side only")) << report;
}

TEST_F(VerifyTest, finds_a_result_that_depends_on_the_threads) {
  EXPECT_FALSE(verify(3));
  EXPECT_TRUE(reports("differs: threads of y\n")) << report;
}

TEST_F(VerifyTest, finds_a_chunk_that_only_three_threads_have) {
  EXPECT_FALSE(verify(5));
  EXPECT_TRUE(reports("differs: threads of y\n")) << report;
}

TEST_F(VerifyTest, accepts_what_rounding_explains) {
  EXPECT_TRUE(verify(4)) << report;
}

TEST_F(VerifyTest, finds_kernels_that_mean_something_else) {
  EXPECT_FALSE(verify(0, 3, "2.001"));
  EXPECT_TRUE(reports("differs: kernels of y\n")) << report;
}

TEST_F(VerifyTest, judges_a_program_of_any_size_by_the_same_evaluation) {
  auto load = [](const char *file) {
    auto program = CompiledProgram::load(file, "by_hand");
    EXPECT_TRUE(static_cast<bool>(program));
    return program;
  };
  auto right = load(HOVA_TEST_PROGRAMS "/libby_hand_4.so");
  options.ranged = &*right;
  EXPECT_TRUE(verify(0)) << report;
  auto wrong = load(HOVA_TEST_PROGRAMS "/libby_hand_1.so");
  options.ranged = &*wrong;
  report.clear();
  EXPECT_FALSE(verify(0));
  EXPECT_TRUE(reports("differs: output y\n")) << report;
}

TEST(CompiledProgram, says_which_function_is_missing) {
  auto compiled =
      CompiledProgram::load(HOVA_TEST_PROGRAMS "/libby_hand_0.so", "other");
  ASSERT_FALSE(static_cast<bool>(compiled));
  EXPECT_EQ(llvm::toString(compiled.takeError()),
            "the compiled library has no function 'other_program'");
}

TEST(ReadStored, keeps_the_type_of_every_value) {
  using Element = HostTensor::Element;
  // Two rows of two elements, three elements apart.
  const int32_t ids[] = {-7, 8, 99, 1 << 30, 4};
  HostTensor read =
      readStored(reinterpret_cast<const char *>(ids), HOVA_I32, {2, 2}, 3);
  ASSERT_EQ(read.getElement(), Element::I64);
  EXPECT_EQ(read.as<int64_t>()[0], -7);
  EXPECT_EQ(read.as<int64_t>()[1], 8);
  EXPECT_EQ(read.as<int64_t>()[2], 1 << 30);
  const char flags[] = {1, 0, '\xff'};
  read = readStored(flags, HOVA_BOOL, {3}, 3);
  ASSERT_EQ(read.getElement(), Element::I1);
  EXPECT_EQ(read.at(0), 1);
  EXPECT_EQ(read.at(2), 255); // nothing wrote it
  const uint16_t halves[] = {0x3fc0, 0xc000};
  read = readStored(reinterpret_cast<const char *>(halves), HOVA_BF16, {2}, 2);
  ASSERT_EQ(read.getElement(), Element::F32);
  EXPECT_EQ(read.at(0), 1.5);
  EXPECT_EQ(read.at(1), -2);
}

TEST(Inputs, differ_by_case_and_stay_in_range) {
  int64_t dims[] = {50, 40};
  hova_tensor_info info[] = {{"ids", HOVA_I32, 2, dims, 3, 9, HOVA_FIXED},
                             {"valid", HOVA_BOOL, 2, dims, 0, 0, HOVA_FIXED}};
  hova_program program = {};
  program.num_inputs = 2;
  program.inputs = info;
  for (int64_t index : {0, 1, 2, 3, 4}) {
    auto inputs = makeInputs(program, 7, index);
    for (int64_t i = 0; i < inputs[0].size(); ++i) {
      int64_t id = inputs[0].as<int64_t>()[i];
      EXPECT_TRUE(id >= 3 && id < 9) << id;
      EXPECT_TRUE(index != 1 || id == 3 || id == 8) << id;
      EXPECT_LE(inputs[1].as<uint8_t>()[i], 1);
    }
  }
  // The edge masks hold whole rows without a key.
  auto edges = makeInputs(program, 7, 1);
  EXPECT_EQ(std::count(edges[1].as<uint8_t>(), edges[1].as<uint8_t>() + 40, 1),
            0);
  auto first = makeInputs(program, 7, 0), fourth = makeInputs(program, 7, 4);
  EXPECT_NE(std::memcmp(first[0].data(), fourth[0].data(), 8 * 2000), 0);
}

TEST(Inputs, have_masks_with_whole_and_empty_tiles) {
  int64_t whole = 0, empty = 0, mixed = 0;
  HostTensor mask = makeMask({8, 128}, InputKind::Random, 3);
  for (int64_t tile = 0; tile < mask.size() / 16; ++tile) {
    int64_t kept = 0;
    for (int64_t i = 0; i < 16; ++i) {
      kept += mask.as<uint8_t>()[tile * 16 + i];
    }
    ++(kept == 16 ? whole : kept == 0 ? empty : mixed);
  }
  EXPECT_GT(whole, 4);
  EXPECT_GT(empty, 4);
  EXPECT_GT(mixed, 4);
}

TEST(Inputs, of_neighbours_are_within_four_units) {
  HostTensor x = makeNumbers({64}, InputKind::Random, 3);
  for (Moves moves : {Moves::Each, Moves::Alike}) {
    HostTensor moved = moveByUnits(x, 5, Storage::F32, moves);
    int64_t others = 0;
    for (int64_t i = 0; i < 64; ++i) {
      EXPECT_LE(std::abs(moved.at(i) - x.at(i)),
                4.5 * 0x1p-23 * std::abs(x.at(i)));
      others += moved.at(i) != x.at(i);
    }
    EXPECT_GT(others, 32);
  }
}

TEST(Inputs, of_every_second_neighbour_are_equal_where_they_were) {
  HostTensor x(HostTensor::Element::F32, {64});
  for (int64_t i = 0; i < 64; ++i) {
    x.mutableAs<float>()[i] = i % 2 ? 22.5f : -22.5f;
  }
  HostTensor each = moveByUnits(x, 5, Storage::F32);
  HostTensor alike = moveByUnits(x, 5, Storage::F32, Moves::Alike);
  EXPECT_NE(each.at(0), each.at(2));
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(std::abs(alike.at(i)), alike.at(1));
  }
  EXPECT_NE(moveByUnits(x, 7, Storage::F32, Moves::Alike).at(1), alike.at(1));
}

TEST(Inputs, have_rows_of_ids_that_end_in_padding) {
  HostTensor ids = makeIds({8, 100}, 2, 500, InputKind::Random, 3);
  int64_t rows = 0;
  for (int64_t row = 0; row < 8; ++row) {
    const int64_t *ofRow = ids.as<int64_t>() + row * 100;
    rows += std::count(ofRow + 98, ofRow + 100, 2) == 2;
    EXPECT_LT(std::count(ofRow, ofRow + 50, 2), 5);
  }
  EXPECT_GT(rows, 4);
}

TEST(Inputs, have_rows_of_one_large_value_that_the_storage_holds) {
  int64_t dims[] = {50, 40};
  hova_tensor_info info[] = {{"x", HOVA_F32, 2, dims, 0, 0, HOVA_FIXED}};
  hova_program program = {};
  program.num_inputs = 1;
  program.inputs = info;
  for (auto [storage, largest] :
       {std::pair(Storage::F32, 1e18), std::pair(Storage::F16, 1e4)}) {
    HostTensor rows = makeInputs(program, 7, 3, storage)[0];
    double seen = 0;
    for (int64_t row = 0; row < 50; ++row) {
      const float *values = rows.as<float>() + row * 40;
      EXPECT_EQ(std::count(values, values + 40, 0.0f), 39);
      for (int64_t i = 0; i < 40; ++i) {
        seen = std::max(seen, std::abs(static_cast<double>(values[i])));
      }
    }
    EXPECT_NEAR(seen, largest, largest * 1e-6);
  }
}

} // namespace
