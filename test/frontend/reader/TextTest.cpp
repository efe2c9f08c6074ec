//===- TextTest.cpp - Text of files, fit for a terminal -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Text.h"
#include "frontend/reader/FileKind.h"

#include <gtest/gtest.h>

using namespace hova::reader;
using namespace std::string_literals;

namespace {

TEST(Text, keeps_what_people_write) {
  EXPECT_EQ(escaped("plain \"text\" \\ 100 %"), "plain \"text\" \\ 100 %");
  EXPECT_EQ(escaped("é漢字 Ωμέγα 🙂"), "é漢字 Ωμέγα 🙂");
}

TEST(Text, escapes_controls_and_marks_that_reorder) {
  EXPECT_EQ(escaped("\033[31m\a\r\n\x7f"),
            "\\u001b[31m\\u0007\\u000d\\u000a\\u007f");
  EXPECT_EQ(escaped("a\xc2\x9b"
                    "b\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xef\xbb\xbf"),
            "a\\u009bb\\u202e\\u2066\\u061c\\ufeff");
  EXPECT_EQ(escaped("\0x"s), "\\u0000x");
  EXPECT_EQ(escaped("\xf3\xa0\x81\x81"), "\\ue0041");
}

TEST(Text, escapes_what_is_not_utf8_byte_by_byte) {
  EXPECT_EQ(escaped("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(escaped("\xe2\x80"), "\\xe2\\x80");
  // Overlong, half of a pair, beyond the last code point.
  EXPECT_EQ(escaped("\xc1\x81"), "\\xc1\\x81");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Text, is_its_own_escaped_form) {
  std::string once = escaped("\033\xff\xe2\x80\xae");
  EXPECT_EQ(escaped(once), once);
}

TEST(Text, keeps_line_breaks_of_messages) {
  EXPECT_EQ(escapedLines("a\nb\033\n"), "a\nb\\u001b\n");
}

TEST(Text, cuts_long_names) {
  std::string shown = printable(std::string(5000, 'a'));
  EXPECT_LT(shown.size(), 130u);
  EXPECT_EQ(shown.substr(shown.size() - 3), "...");
}

TEST(Text, is_escaped_in_json_by_its_own_rules) {
  EXPECT_EQ(jsonEscaped("\"\\é\033\xe2\x80\xae\xff\xf3\xa0\x81\x81"),
            "\\\"\\\\é\\u001b\\u202e\\ufffd\\udb40\\udc41");
}

std::string kindOf(const std::string &head) {
  std::optional<FileKind> kind = recognizeFile(head);
  return kind ? kind->what : "nothing";
}

TEST(FileKind, names_what_people_mix_up) {
  std::string zip = "PK\3\4"s + std::string(26, '\0');
  EXPECT_EQ(kindOf(zip + "archive/data.pklFB"), "a PyTorch file");
  EXPECT_EQ(kindOf(zip + "arr_0.npy"), "an npz archive of NumPy");
  EXPECT_EQ(kindOf(zip + "metadata.json"), "a zip archive");
  EXPECT_EQ(kindOf("\x80\x02}q"), "a pickle, as PyTorch writes it");
  EXPECT_EQ(kindOf("\x08\x07\x12\x07pytorch"), "an ONNX model");
  EXPECT_EQ(kindOf("GGUF\3\0\0\0"s), "a GGUF model");
  EXPECT_EQ(kindOf("\x89HDF\r\n\x1a\n"), "an HDF5 file, as Keras writes it");
  EXPECT_EQ(kindOf("\x1f\x8b\x08\0"s), "compressed by gzip");
  EXPECT_EQ(kindOf("version https://git-lfs.github.com/spec/v1\noid"),
            "a pointer of git-lfs");
  EXPECT_EQ(kindOf("<!DOCTYPE html><html>"), "a page of HTML");
  EXPECT_EQ(kindOf("\xef\xbb\xbf\r\n <HTML lang=en>"), "a page of HTML");
  EXPECT_EQ(kindOf("\xff\xfe{\0"s), "UTF-16 text");
  EXPECT_EQ(kindOf("\xfe\xff\0{"s), "UTF-16 text");
  EXPECT_EQ(kindOf("{\0\"\0"s), "UTF-16 text");
  EXPECT_EQ(kindOf("\x40\0\0\0\0\0\0\0{\""s), "a safetensors file");
  EXPECT_EQ(kindOf("\x08\0\0\0\0\0\0\0{}"s), "a safetensors file");
}

TEST(FileKind, says_nothing_of_json) {
  for (const char *text :
       {"", "{", "{\"hova\": 1}", "  {", "[]", "text", "<", "<!doctype xml>"}) {
    EXPECT_EQ(kindOf(text), "nothing") << text;
  }
}

TEST(FileKind, tells_a_text_by_its_bytes) {
  for (const std::string &text : {"text"s, "{\"a\":\t1}\r\n"s, "h\xc3\xa9"s}) {
    EXPECT_TRUE(recognizeText(text)) << text;
  }
  for (const std::string &bytes :
       {""s, "\0"s, "a\0b"s, "a\x1b[2J"s, "a\x7f"s}) {
    EXPECT_FALSE(recognizeText(bytes)) << bytes;
  }
}

} // namespace
