//===- BadWindowsTest.cpp - Mistakes of windows and merged patches -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "test/frontend/BadDescriptions.h"

using namespace hova::test;

namespace {

/// One layer on 24 tokens, those of an image of 4 x 6 where it says so.
Bad window(const char *name, const std::string &keys,
           const std::string &message) {
  return {name,
          whole(R"("inputs": {"x": {"shape": [1, 24, 8]}, )"
                R"("m": {"shape": [1, 24], "dtype": "bool"}}, "layers": [)"
                R"({"name": "y", )" +
                keys + R"(}], "outputs": {"o": "y"})"),
          {message}};
}

/// One attention.
Bad attention(const char *name, const std::string &keys,
              const std::string &message) {
  return window(name, R"("op": "multi_head_attention", "heads": 2, )" + keys,
                message);
}

std::vector<Bad> all() {
  return {
      attention("shift_without_window", R"("input": "x", "shift": @1)",
                "\"shift\" has no meaning without \"window\""),
      attention("relative_bias_without_window",
                R"("input": "x", "relative_bias": @true)",
                "\"relative_bias\" has no meaning without \"window\""),
      attention("pretrained_window_without_window",
                R"("input": "x", "pretrained_window": @8)",
                "\"pretrained_window\" has no meaning without \"window\""),
      attention("pretrained_window_of_a_table",
                R"("input": "x", "window": 2, "relative_bias": true, )"
                R"("pretrained_window": @8, "grid_height": 4)",
                "\"pretrained_window\" has no meaning where \"relative_bias\" "
                "is not continuous"),
      attention("relative_bias_misspelt",
                R"("input": "x", "window": 2, "relative_bias": @"continous")",
                "unknown word \"continous\"; expected a boolean, an expression "
                "or continuous"),
      attention("relative_bias_of_a_number",
                R"("input": "x", "window": 2, "relative_bias": @3)",
                "expected a boolean, an expression or continuous, got an "
                "integer"),
      attention("relative_bias_of_text",
                R"("input": "x", "window": 2, "grid_height": 4, )"
                R"("relative_bias": @"'table'")",
                "expected a boolean, got text (table)"),
      attention("mask_value_without_end",
                R"("input": "x", "window": 2, "shift": 1, "grid_height": 4, )"
                R"("mask_value": @"inf")",
                "unknown word \"inf\"; expected a number, an expression or "
                "-inf"),
      attention("continuous_bias_of_a_performer",
                R"("input": "x", "window": 2, "relative_bias": @"continuous", )"
                R"("kind": "performer", "grid_height": 4)",
                "kind performer has no scores"),
      attention("no_image", R"("input": @"x", "window": 2)",
                "needs the height of the image that its 24 tokens are of: "
                "give \"grid_height\""),
      attention("image_of_other_height",
                R"("input": "x", "window": 2, "grid_height": @5)",
                "24 tokens are no image of height 5"),
      attention("window_does_not_divide",
                R"("input": "x", "window": @3, "grid_height": 4)",
                "windows of 3 x 3 do not divide an image of 4 x 6"),
      attention("shift_of_a_window",
                R"("input": "x", "window": 2, "shift": @2, "grid_height": 4)",
                "\"shift\" must be less than the window of 2, got 2"),
      attention("shift_negative",
                R"("input": "x", "window": 2, "shift": @-1, "grid_height": 4)",
                "\"shift\" must be at least 0, got -1"),
      attention("causal_in_windows",
                R"("input": "x", "window": 2, "causal": @true, )"
                R"("grid_height": 4)",
                "\"causal\" has no meaning inside windows"),
      attention("mask_in_windows",
                R"("input": "x", "window": 2, "key_valid": @"m", )"
                R"("grid_height": 4)",
                "has windows of its input alone, where key_valid has no "
                "meaning"),
      attention("bias_of_a_performer",
                R"("input": "x", "window": 2, "relative_bias": @true, )"
                R"("kind": "performer", "grid_height": 4)",
                "kind performer has no scores"),
      attention("shift_of_a_performer",
                R"("input": "x", "window": 2, "shift": @1, )"
                R"("kind": "performer", "grid_height": 4)",
                "kind performer has no scores"),
      attention("clamp_misspelt",
                R"("input": "x", "window": 2, "clamp": @"bot", )"
                R"("grid_height": 4)",
                "unknown word \"bot\""),
      window("merge_without_image", R"("op": "merge_patches", "input": @"x")",
             "give \"grid_height\""),
      window("merge_of_odd_image",
             R"("op": "merge_patches", "input": @"x", "grid_height": 3)",
             "merges blocks of 2 x 2, which do not divide an image of 3 x 8"),
      window("unfold_without_image",
             R"("op": "unfold", "input": @"x", "kernel": 2)",
             "give \"grid_height\""),
      window("unfold_kernel_of_an_image",
             R"("op": "unfold", "input": "x", "kernel": @7, )"
             R"("padding": 1, "grid_height": 4)",
             "a kernel of 7 x 7 is larger than an image of 4 x 6 with a "
             "padding of 1"),
      window("unfold_squares_do_not_divide",
             R"("op": "unfold", "input": "x", "kernel": 2, )"
             R"("within": @3, "grid_height": 4)",
             "squares of 3 x 3 do not divide an image of 4 x 6"),
      window("unfold_kernel_of_a_square",
             R"("op": "unfold", "input": "x", "kernel": @3, )"
             R"("within": 2, "grid_height": 4)",
             "a kernel of 3 x 3 is larger than a square of 2 x 2 with a "
             "padding of 0"),
      window("sequences_do_not_divide",
             R"("op": "windows", "input": "x", "window": @4, "grid_height": 4)",
             "windows of 4 x 4 do not divide an image of 4 x 6"),
  };
}

class BadWindows : public BadDescriptions {};

TEST_P(BadWindows, are_rejected_at_the_place) { expectRejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BadWindows, testing::ValuesIn(all()),
                         [](const auto &info) { return info.param.name; });

} // namespace
