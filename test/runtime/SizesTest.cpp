//===- SizesTest.cpp - The sizes of one run -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/hova_runtime.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

extern "C" {
#include "runtime/Arguments.h"
}

namespace {

const int64_t tokenDims[] = {4, 10}, rowDims[] = {4, 10, 3},
              itemDims[] = {4, 3};
const hova_tensor_info inputInfos[] = {
    {"ids", HOVA_I32, 2, tokenDims, 0, 9, HOVA_TOKENS},
    {"x", HOVA_F32, 3, rowDims, 0, 0, HOVA_TOKENS}};
const hova_tensor_info outputInfos[] = {
    {"y", HOVA_F32, 3, rowDims, 0, 0, HOVA_TOKENS},
    {"z", HOVA_F32, 2, itemDims, 0, 0, HOVA_ITEMS}};
const hova_ranges ranges = {1, 4, 2, 10, 0, 0, 0, "batch", "length", nullptr};

hova_program makeProgram() {
  hova_program program = {};
  program.abi = HOVA_ABI_VERSION;
  program.name = "m";
  program.num_inputs = 2;
  program.num_outputs = 2;
  program.inputs = inputInfos;
  program.outputs = outputInfos;
  program.ranges = &ranges;
  return program;
}

using Shape = std::vector<int64_t>;

/// A call with tensors of these shapes, or with lengths.
struct Call {
  std::vector<Shape> shapes;
  std::vector<std::vector<char>> memory;
  std::vector<hova_tensor> tensors;
  hova_program program = makeProgram();
  hova_sizes sizes = {};
  hova_error error = {};

  explicit Call(std::vector<Shape> given) : shapes(std::move(given)) {
    const hova_dtype types[] = {HOVA_I32, HOVA_F32, HOVA_F32, HOVA_F32};
    for (size_t i = 0; i < shapes.size(); ++i) {
      memory.emplace_back(4096);
      tensors.push_back(hova_make_tensor(
          nullptr, types[i], static_cast<int32_t>(shapes[i].size()),
          shapes[i].data(), memory.back().data()));
    }
  }

  /// What the call fails with; empty where it does not.
  std::string check(const int32_t *lengths = nullptr, int64_t items = 0) {
    void *inputs[2], *outputs[2];
    hova_status status = hova_find_sizes(&program, tensors.data(), lengths,
                                         items, &sizes, &error);
    if (status == HOVA_OK) {
      status = hova_check_arguments(&program, &sizes, HOVA_CPU_MEMORY,
                                    tensors.data(), tensors.data() + 2, inputs,
                                    outputs, &error);
    }
    if (status == HOVA_OK) {
      status = hova_check_contents(&program, &sizes, inputs, &error);
    }
    return status == HOVA_OK ? "" : error.text;
  }
};

TEST(Sizes, are_those_of_the_first_input) {
  Call call({{2, 5}, {2, 5, 3}, {2, 5, 3}, {2, 3}});
  EXPECT_EQ(call.check(), "");
  EXPECT_EQ(call.sizes.items, 2);
  EXPECT_EQ(call.sizes.tokens, 5);
  EXPECT_EQ(call.sizes.rows, 10);
}

TEST(Sizes, are_those_of_columns_beside_a_fixed_number_of_tokens) {
  const hova_tensor_info column = {"c", HOVA_F32, 2,         itemDims,
                                   0,   0,        HOVA_ITEMS};
  const hova_ranges fixed = {1, 4, 3, 3, 0, 0, 0, "batch", nullptr, nullptr};
  hova_program program = makeProgram();
  program.inputs = &column;
  program.num_inputs = 1;
  program.ranges = &fixed;
  Shape shape = {2, 3};
  hova_tensor tensor =
      hova_make_tensor(nullptr, HOVA_F32, 2, shape.data(), nullptr);
  hova_sizes sizes = {};
  hova_error error = {};
  EXPECT_EQ(hova_find_sizes(&program, &tensor, nullptr, 0, &sizes, &error),
            HOVA_OK);
  EXPECT_EQ(sizes.items, 2);
  EXPECT_EQ(sizes.tokens, 3);
  EXPECT_EQ(sizes.rows, 6);
  shape[0] = 5;
  EXPECT_EQ(hova_find_sizes(&program, &tensor, nullptr, 0, &sizes, &error),
            HOVA_REJECTED);
}

TEST(Sizes, are_those_of_packed_items) {
  const int32_t lengths[] = {2, 10, 3};
  Call call({{15}, {15, 3}, {15, 3}, {3, 3}});
  EXPECT_EQ(call.check(lengths, 3), "");
  EXPECT_EQ(call.sizes.rows, 15);
  EXPECT_EQ(call.sizes.tokens, 10);
}

TEST(Sizes, out_of_range_are_refused) {
  auto ofAll = [](int64_t items, int64_t tokens) {
    return Call({{items, tokens},
                 {items, tokens, 3},
                 {items, tokens, 3},
                 {items, 3}})
        .check();
  };
  EXPECT_EQ(ofAll(4, 10), "");
  EXPECT_EQ(ofAll(1, 2), "");
  EXPECT_EQ(ofAll(5, 3), "input 'ids' expects 1 to 4 items ('batch'), got 5");
  EXPECT_EQ(ofAll(0, 3), "input 'ids' expects 1 to 4 items ('batch'), got 0");
  EXPECT_EQ(ofAll(-1, 3), "input 'ids' expects 1 to 4 items ('batch'), got -1");
  EXPECT_EQ(ofAll(2, 1),
            "input 'ids' expects 2 to 10 tokens in an item ('length'), got 1");
  EXPECT_EQ(ofAll(2, 11),
            "input 'ids' expects 2 to 10 tokens in an item ('length'), got 11");
  EXPECT_NE(ofAll(2, INT64_MAX), "");
  EXPECT_NE(ofAll(INT64_MAX, 2), "");
}

TEST(Sizes, that_do_not_agree_are_refused) {
  EXPECT_EQ(Call({{2, 5}, {2, 6, 3}, {2, 5, 3}, {2, 3}}).check(),
            "input 'x' expects shape [2, 5, 3], got [2, 6, 3]");
  EXPECT_EQ(Call({{2, 5}, {2, 5, 3}, {1, 5, 3}, {2, 3}}).check(),
            "output 'y' expects shape [2, 5, 3], got [1, 5, 3]");
  EXPECT_EQ(Call({{2, 5}, {2, 5, 3}, {2, 5, 3}, {4, 3}}).check(),
            "output 'z' expects shape [2, 3], got [4, 3]");
  EXPECT_EQ(Call({{10}, {10, 3}, {10, 3}, {2, 3}}).check(),
            "input 'ids' expects shape [4, 10], got [10]");
}

TEST(Sizes, of_packed_items_are_refused_where_they_are_wrong) {
  const int32_t lengths[] = {2, 10, 3, 4, 2}, shorter[] = {2, 1},
                longer[] = {11}, negative[] = {2, INT32_MIN};
  auto packed = [] { return Call({{15}, {15, 3}, {15, 3}, {3, 3}}); };
  EXPECT_EQ(packed().check(lengths, 5),
            "expects 1 to 4 items ('batch'), got 5");
  EXPECT_EQ(packed().check(lengths, 0),
            "expects 1 to 4 items ('batch'), got 0");
  EXPECT_EQ(packed().check(lengths, INT64_MAX),
            "expects 1 to 4 items ('batch'), got 9223372036854775807");
  EXPECT_EQ(packed().check(shorter, 2),
            "expects 2 to 10 tokens in an item ('length'), got 1");
  EXPECT_EQ(packed().check(longer, 1),
            "expects 2 to 10 tokens in an item ('length'), got 11");
  EXPECT_EQ(packed().check(negative, 2),
            "expects 2 to 10 tokens in an item ('length'), got -2147483648");
  EXPECT_EQ(packed().check(lengths, 2),
            "input 'ids' expects shape [12], got [15]");
  Call fixed({{15}, {15, 3}, {15, 3}, {3, 3}});
  fixed.program.ranges = nullptr;
  EXPECT_EQ(fixed.check(lengths, 3),
            "program 'm' takes no lengths: its shapes are fixed");
}

TEST(Sizes, say_how_many_integers_are_checked) {
  // What lies behind those of the run is nobody's.
  Call call({{1, 2}, {1, 2, 3}, {1, 2, 3}, {1, 3}});
  auto *ids = reinterpret_cast<int32_t *>(call.memory[0].data());
  ids[2] = 100;
  EXPECT_EQ(call.check(), "");
  ids[1] = 9;
  EXPECT_EQ(call.check(),
            "input 'ids' expects values from 0 to 8, got 9 at element 1");
}

TEST(Sizes, are_written_as_a_table) {
  const int32_t lengths[] = {2, 4};
  hova_sizes sizes = {2, 4, 6, lengths, 0, 0, nullptr};
  const hova_ranges small = {1, 3, 1, 4, 0, 0, 0, nullptr, nullptr, nullptr};
  std::vector<int32_t> table(hova_sequence_words(&small), -1);
  ASSERT_EQ(table.size(), 2u + 4 + 12);
  hova_write_sequences(&small, &sizes, table.data());
  EXPECT_EQ(table, (std::vector<int32_t>{2, 6, 0, 2, 6, 6, 0, 1, 0, 1, 2, 3, -1,
                                         -1, -1, -1, -1, -1}));
}

TEST(Sizes, of_malformed_programs_are_refused) {
  for (hova_ranges wrong :
       {hova_ranges{0, 4, 1, 4, 0, 0, 0, nullptr, nullptr, nullptr},
        hova_ranges{1, 4, 5, 4, 0, 0, 0, nullptr, nullptr, nullptr},
        hova_ranges{1, 1 << 20, 1, 1 << 12, 0, 0, 0, nullptr, nullptr, nullptr},
        hova_ranges{1, 4, 1, 4, 5, 4, 0, nullptr, nullptr, nullptr},
        hova_ranges{1, 4, 1, 4, 0, 4, 0, nullptr, nullptr, nullptr},
        hova_ranges{1, 4, 1, 4, -5, -4, 0, nullptr, nullptr, nullptr},
        hova_ranges{1, 1 << 20, 1, 1, 1, 1 << 12, 0, nullptr, nullptr, nullptr},
        hova_ranges{1, 4, 1, 4, 0, 0, -1, nullptr, nullptr, nullptr},
        hova_ranges{1, 4, 1, 4, 1, 4, 2, nullptr, nullptr, nullptr},
        hova_ranges{1, 1 << 10, 1, 1 << 10, 0, 0, 1 << 12, nullptr, nullptr,
                    nullptr}}) {
    hova_program program = makeProgram();
    program.ranges = &wrong;
    hova_error error = {};
    EXPECT_EQ(hova_check_program(&program, &error), HOVA_REJECTED);
    EXPECT_STREQ(error.text, "the ranges of program 'm' are malformed");
  }
}

//===----------------------------------------------------------------------===//
// Rows of several layers
//===----------------------------------------------------------------------===//

TEST(RowsOfLayers, follow_from_the_tokens) {
  const hova_ranges ofLayers = {1, 4, 2,       10,       0,
                                0, 3, "batch", "length", nullptr};
  Call padded({{2, 5}, {2, 5, 3}, {2, 5, 3}, {2, 3}});
  padded.program.ranges = &ofLayers;
  EXPECT_EQ(padded.check(), "");
  EXPECT_EQ(padded.sizes.other_tokens, 15);
  EXPECT_EQ(padded.sizes.other_rows, 30);
  const int32_t lengths[] = {2, 4};
  Call packed({{6}, {6, 3}, {6, 3}, {2, 3}});
  packed.program.ranges = &ofLayers;
  EXPECT_EQ(packed.check(lengths, 2), "");
  EXPECT_EQ(packed.sizes.other_tokens, 12);
  EXPECT_EQ(packed.sizes.other_rows, 18);
}

TEST(RowsOfLayers, have_a_table_of_their_own) {
  const int32_t lengths[] = {1, 2};
  hova_sizes sizes = {2, 2, 3, lengths, 6, 9, nullptr};
  const hova_ranges small = {1, 2, 1, 2, 0, 0, 3, nullptr, nullptr, nullptr};
  std::vector<int32_t> table(hova_sequence_words(&small), -1);
  ASSERT_EQ(table.size(), 2u + 3 + 4 + 2 + 3 + 12);
  hova_write_sequences(&small, &sizes, table.data());
  EXPECT_EQ(table, (std::vector<int32_t>{2, 3, 0, 1, 3, 0,  0,  1, -1, //
                                         2, 9, 0, 3, 9, 0,  1,  2, 0,
                                         1, 2, 3, 4, 5, -1, -1, -1}));
}

//===----------------------------------------------------------------------===//
// Second sequences
//===----------------------------------------------------------------------===//

const int64_t otherDims[] = {4, 6, 3};
const hova_tensor_info twoInputs[] = {
    {"x", HOVA_F32, 3, rowDims, 0, 0, HOVA_TOKENS},
    {"t", HOVA_F32, 3, otherDims, 0, 0, HOVA_OTHER_TOKENS}};
const hova_tensor_info twoOutputs[] = {
    {"y", HOVA_F32, 3, otherDims, 0, 0, HOVA_OTHER_TOKENS},
    {"z", HOVA_F32, 2, itemDims, 0, 0, HOVA_ITEMS}};
const hova_ranges twoRanges = {1, 4, 2, 10, 1, 6, 0, "batch", "src", "tgt"};

/// A call of a program with both.
struct CallOfTwo : Call {
  explicit CallOfTwo(std::vector<Shape> given) : Call(std::move(given)) {
    tensors[0].dtype = tensors[1].dtype;
    program.inputs = twoInputs;
    program.outputs = twoOutputs;
    program.ranges = &twoRanges;
  }
};

TEST(SecondSequences, have_a_length_of_their_own) {
  CallOfTwo call({{2, 9, 3}, {2, 5, 3}, {2, 5, 3}, {2, 3}});
  EXPECT_EQ(call.check(), "");
  EXPECT_EQ(call.sizes.tokens, 9);
  EXPECT_EQ(call.sizes.rows, 18);
  EXPECT_EQ(call.sizes.other_tokens, 5);
  EXPECT_EQ(call.sizes.other_rows, 10);
}

TEST(SecondSequences, are_packed_beside_the_first) {
  const int32_t lengths[] = {2, 10, 3, 6, 1, 5};
  CallOfTwo call({{15, 3}, {12, 3}, {12, 3}, {3, 3}});
  EXPECT_EQ(call.check(lengths, 3), "");
  EXPECT_EQ(call.sizes.tokens, 10);
  EXPECT_EQ(call.sizes.rows, 15);
  EXPECT_EQ(call.sizes.other_tokens, 6);
  EXPECT_EQ(call.sizes.other_rows, 12);
  EXPECT_EQ(call.sizes.other_lengths, lengths + 3);
}

TEST(SecondSequences, of_wrong_sizes_are_refused) {
  EXPECT_EQ(CallOfTwo({{2, 9, 3}, {2, 7, 3}, {2, 7, 3}, {2, 3}}).check(),
            "input 't' expects 1 to 6 tokens in the second sequence of an item "
            "('tgt'), got 7");
  EXPECT_EQ(CallOfTwo({{2, 11, 3}, {2, 6, 3}, {2, 6, 3}, {2, 3}}).check(),
            "input 'x' expects 2 to 10 tokens in an item ('src'), got 11");
  // A shape of the one sequence is none of the other.
  EXPECT_EQ(CallOfTwo({{2, 5, 3}, {2, 6, 3}, {2, 5, 3}, {2, 3}}).check(),
            "output 'y' expects shape [2, 6, 3], got [2, 5, 3]");
  EXPECT_EQ(CallOfTwo({{2, 5, 3}, {3, 6, 3}, {2, 6, 3}, {2, 3}}).check(),
            "input 't' expects shape [2, 6, 3], got [3, 6, 3]");
  EXPECT_EQ(CallOfTwo({{2, 5, 3}, {12, 3}, {2, 6, 3}, {2, 3}}).check(),
            "input 'x' expects shape [4, 10, 3], got [2, 5, 3]");
  auto packed = [](std::vector<int32_t> lengths, int64_t items) {
    return CallOfTwo({{15, 3}, {12, 3}, {12, 3}, {3, 3}})
        .check(lengths.data(), items);
  };
  EXPECT_EQ(packed({2, 10, 3, 6, 0, 6}, 3),
            "expects 1 to 6 tokens in the second sequence of an item ('tgt'), "
            "got 0");
  EXPECT_EQ(packed({2, 10, 3, 6, 1, 4}, 3),
            "input 't' expects shape [11, 3], got [12, 3]");
  // No number is read where there are too many items.
  EXPECT_EQ(packed({2}, 5), "expects 1 to 4 items ('batch'), got 5");
}

TEST(SecondSequences, follow_in_the_table) {
  const int32_t lengths[] = {2, 3, 1, 2};
  hova_sizes sizes = {2, 3, 5, lengths, 2, 3, lengths + 2};
  const hova_ranges small = {1, 3, 1, 3, 1, 2, 0, nullptr, nullptr, nullptr};
  std::vector<int32_t> table(hova_sequence_words(&small), -1);
  ASSERT_EQ(table.size(), 2u + 4 + 9 + 2 + 4 + 6);
  hova_write_sequences(&small, &sizes, table.data());
  EXPECT_EQ(table,
            (std::vector<int32_t>{2,  5, 0, 2, 5, 5, 0, 1, 0, 1, 2,  -1, -1, -1,
                                  -1, 2, 3, 0, 1, 3, 3, 0, 0, 1, -1, -1, -1}));
}

TEST(SecondSequences, make_runs_differ) {
  const int32_t lengths[] = {1, 1};
  hova_sizes a = {1, 3, 3, nullptr, 2, 2, nullptr}, b = a;
  EXPECT_TRUE(hova_same_sizes(&a, &b));
  b.other_tokens = b.other_rows = 1;
  EXPECT_FALSE(hova_same_sizes(&a, &b));
  a.lengths = b.lengths = lengths;
  b.other_tokens = b.other_rows = 2;
  EXPECT_FALSE(hova_same_sizes(&a, &b));
}

TEST(Sizes, are_shown_as_ranges) {
  hova_program program = makeProgram();
  char text[64];
  hova_format_range_shape(text, sizeof text, &program, &inputInfos[1]);
  EXPECT_STREQ(text, "[1 to 4, 2 to 10, 3]");
  hova_format_range_shape(text, sizeof text, &program, &outputInfos[1]);
  EXPECT_STREQ(text, "[1 to 4, 3]");
  program.ranges = &twoRanges;
  hova_format_range_shape(text, sizeof text, &program, &twoInputs[1]);
  EXPECT_STREQ(text, "[1 to 4, 1 to 6, 3]");
  // Cut, and ended.
  hova_format_range_shape(text, 7, &program, &inputInfos[1]);
  EXPECT_EQ(std::string(text).size(), 6u);
}

} // namespace
