//===- TextTest.cpp - What of a text may be printed -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Text.h"

#include <gtest/gtest.h>

#include <string>

namespace {

std::string shown(const std::string &text, size_t size = 64) {
  std::string buffer(size, '#');
  hova_show(text.c_str(), buffer.data(), size);
  return buffer.c_str();
}

TEST(Text, any_script_stays) {
  EXPECT_EQ(shown("größe β 注意 🧠"), "größe β 注意 🧠");
  // The last code point of each length, but for what nobody has assigned.
  EXPECT_EQ(shown("\x7e \xdf\xbf \xef\xbf\xb0 \xf4\x8f\xbf\xbd"),
            "\x7e \xdf\xbf \xef\xbf\xb0 \xf4\x8f\xbf\xbd");
}

TEST(Text, what_a_terminal_obeys_is_escaped) {
  EXPECT_EQ(shown("a\x1b[2Jb\n\x7f"), "a\\u001b[2Jb\\u000a\\u007f");
  // CSI as one character, a right-to-left override, no width, a tag.
  EXPECT_EQ(shown("\xc2\x9b \xe2\x80\xae \xe2\x80\x8b \xf3\xa0\x81\x81"),
            "\\u009b \\u202e \\u200b \\ue0041");
}

TEST(Text, bytes_that_are_no_code_point_are_escaped_one_at_a_time) {
  EXPECT_EQ(shown("\xff"), "\\xff");
  EXPECT_EQ(shown("\xc3"), "\\xc3");
  EXPECT_EQ(shown("\xc3(\xe2\x80"), "\\xc3(\\xe2\\x80");
  // A slash of two bytes, half a surrogate pair, beyond the last code point.
  EXPECT_EQ(shown("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Text, no_code_point_and_no_escape_is_cut) {
  EXPECT_EQ(shown("aβ", 4), "aβ");
  EXPECT_EQ(shown("aβ", 3), "a");
  EXPECT_EQ(shown("a\n", 7), "a");
  EXPECT_EQ(shown("a\n", 8), "a\\u000a");
  EXPECT_EQ(shown("a", 1), "");
}

} // namespace
