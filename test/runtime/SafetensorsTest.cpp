//===- SafetensorsTest.cpp - Good and bad safetensors files ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TestFiles.h"

#include "runtime/Safetensors.h"

#include <gtest/gtest.h>

using namespace hova::test;

namespace {

std::string file(const std::string &header, const std::string &data) {
  return bytesOf(header.size(), 8) + header + data;
}

std::string entry(const std::string &name, const std::string &dtype,
                  const std::string &shape, uint64_t begin, uint64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":[" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

const std::string eight(8, '\x02');
const std::string a = entry("a", "F32", "[2]", 0, 8);

hova_status parse(const std::string &contents, hova_error &error) {
  Bytes bytes(contents);
  hova_safetensors tensors;
  hova_status status =
      hova_safetensors_parse(bytes.getSpan(), "f", &tensors, &error);
  if (status == HOVA_OK) {
    hova_safetensors_close(&tensors);
  }
  return status;
}

TEST(Safetensors, entries_are_found_by_name) {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\",\"x\":\"\\n\"}, " +
                       entry("z.weight", "BF16", "[1, 3]", 8, 14) + " , " + a +
                       "," + entry("empty", "I64", "[0,4]", 8, 8) + "}   ";
  Bytes bytes(file(header, eight + std::string("abcdef")));
  hova_safetensors tensors;
  hova_error error = {};
  ASSERT_EQ(hova_safetensors_parse(bytes.getSpan(), "f", &tensors, &error),
            HOVA_OK)
      << error.text;
  EXPECT_EQ(tensors.count, 3u);
  const hova_safetensors_entry *z = hova_safetensors_find(&tensors, "z.weight");
  ASSERT_NE(z, nullptr);
  EXPECT_EQ(z->element, HOVA_ELEMENT_BF16);
  EXPECT_EQ(z->rank, 2);
  EXPECT_EQ(z->dims[1], 3);
  hova_span data = hova_safetensors_data(&tensors, z);
  EXPECT_EQ(std::string((const char *)data.data, data.size), "abcdef");
  EXPECT_NE(hova_safetensors_find(&tensors, "empty"), nullptr);
  EXPECT_EQ(hova_safetensors_find(&tensors, "b"), nullptr);
  EXPECT_EQ(hova_safetensors_find(&tensors, "__metadata__"), nullptr);
  hova_safetensors_close(&tensors);
}

TEST(Safetensors, a_file_without_tensors_is_read) {
  hova_error error = {};
  EXPECT_EQ(parse(file("{}", ""), error), HOVA_OK) << error.text;
}

TEST(Safetensors, tensors_of_types_that_nobody_reads_are_there) {
  // Bits of the eight bytes, by the number of elements.
  const std::pair<const char *, const char *> types[] = {
      {"F8_E4M3", "[8]"},     {"F8_E5M2", "[2,4]"},   {"F8_E8M0", "[8]"},
      {"F8_E4M3FNUZ", "[8]"}, {"F8_E5M2FNUZ", "[8]"}, {"F4", "[16]"},
      {"C64", "[1]"}};
  for (auto [dtype, shape] : types) {
    hova_error error = {};
    EXPECT_EQ(
        parse(file("{" + entry("a", dtype, shape, 0, 8) + "}", eight), error),
        HOVA_OK)
        << error.text;
  }
  for (const char *dtype : {"F6_E2M3", "F6_E3M2"}) {
    hova_error error = {};
    EXPECT_EQ(
        parse(file("{" + entry("a", dtype, "[8]", 0, 6) + "}", eight.substr(2)),
              error),
        HOVA_OK)
        << error.text;
  }
}

TEST(Safetensors, escapes_in_names_are_decoded) {
  std::string header =
      "{" + entry("\\u00e9\\ud83d\\ude00\\\"", "U8", "[8]", 0, 8) + "}";
  Bytes bytes(file(header, eight));
  hova_safetensors tensors;
  ASSERT_EQ(hova_safetensors_parse(bytes.getSpan(), "f", &tensors, nullptr),
            HOVA_OK);
  EXPECT_STREQ(tensors.entries[0].name, "\xc3\xa9\xf0\x9f\x98\x80\"");
  hova_safetensors_close(&tensors);
}

TEST(Safetensors, a_mapped_file_is_read) {
  Folder folder;
  std::string path = folder.write("w.safetensors", file("{" + a + "}", eight));
  hova_safetensors tensors;
  hova_error error = {};
  ASSERT_EQ(hova_safetensors_open(path.c_str(), &tensors, &error), HOVA_OK)
      << error.text;
  EXPECT_EQ(hova_safetensors_data(&tensors, &tensors.entries[0]).size, 8u);
  hova_safetensors_close(&tensors);
}

struct Bad {
  const char *name;
  std::string file;
  const char *message;
};

class BadSafetensors : public testing::TestWithParam<Bad> {};

TEST_P(BadSafetensors, is_rejected) {
  hova_error error = {};
  EXPECT_EQ(parse(GetParam().file, error), HOVA_REJECTED);
  EXPECT_NE(std::string(error.text).find(GetParam().message), std::string::npos)
      << error.text;
}

std::string one(const std::string &member) {
  return file("{" + member + "}", eight);
}

const std::string longName(257, 'n');
const char *const badName = "a name is not UTF-8 of at most 256 bytes";
const char *const badField = "unknown, repeated or malformed field";
const char *const badShape = "shape that is not at most 8 dims below 2^31";
const char *const badOffsets = "data_offsets that are not two integers";
const char *const badLength = "not as long as its shape and dtype say";

const Bad badFiles[] = {
    {"empty_file", "", "shorter than 8 bytes"},
    {"short_file", "1234567", "shorter than 8 bytes"},
    {"header_longer_than_file", bytesOf(100, 8) + "{}", "longer than the file"},
    {"header_length_wraps", bytesOf(~UINT64_C(0), 8) + "{}",
     "longer than the file"},
    {"header_above_limit", bytesOf(100000001, 8) + "{}", "100 MB"},
    {"empty_header", file("", ""), "does not start with '{'"},
    {"blank_before_brace", file(" {}", ""), "does not start with '{'"},
    {"byte_order_mark", file("\xef\xbb\xbf{}", ""), "does not start with '{'"},
    {"header_is_a_list", file("[]", ""), "does not start with '{'"},
    {"no_closing_brace", file("{" + a, eight), "not a JSON object"},
    {"comma_at_the_end", one(a + ","), badName},
    {"text_after_object", file("{" + a + "}x", eight), "goes on after"},
    {"nul_after_object", file("{" + a + "}" + std::string(1, 0), eight),
     "goes on after"},
    {"key_without_quotes", one("a:{}"), badName},
    {"control_in_name", one(entry("a\x01", "F32", "[2]", 0, 8)), badName},
    {"escaped_nul_in_name", one(entry("a\\u0000b", "F32", "[2]", 0, 8)),
     badName},
    {"escaped_newline_in_name", one(entry("a\\n", "F32", "[2]", 0, 8)),
     badName},
    {"delete_in_name", one(entry("a\x7f", "F32", "[2]", 0, 8)), badName},
    {"unpaired_surrogate", one(entry("\\ud83d", "F32", "[2]", 0, 8)), badName},
    {"low_surrogate_first", one(entry("\\ude00\\ud83d", "F32", "[2]", 0, 8)),
     badName},
    {"not_utf8", one(entry("\xff", "F32", "[2]", 0, 8)), badName},
    {"overlong_utf8", one(entry("\xc0\xaf", "F32", "[2]", 0, 8)), badName},
    {"surrogate_in_utf8", one(entry("\xed\xa0\x80", "F32", "[2]", 0, 8)),
     badName},
    {"utf8_cut_off", one("\"\xe2\x82"), badName},
    {"unknown_escape", one(entry("\\x61", "F32", "[2]", 0, 8)), badName},
    {"long_name", one(entry(longName, "F32", "[2]", 0, 8)), badName},
    {"duplicate_name",
     file("{" + a + "," + entry("a", "F32", "[2]", 8, 16) + "}", eight + eight),
     "is there twice"},
    {"duplicate_after_escape",
     file("{" + a + "," + entry("\\u0061", "F32", "[2]", 8, 16) + "}",
          eight + eight),
     "is there twice"},
    {"entry_is_a_number", one("\"a\":1"), "malformed entry"},
    {"entry_is_empty", one("\"a\":{}"), "malformed entry"},
    {"unknown_dtype", one(entry("a", "F33", "[2]", 0, 8)), "unknown dtype"},
    {"small_letter_dtype", one(entry("a", "f32", "[2]", 0, 8)),
     "unknown dtype"},
    {"unknown_field",
     one("\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"offset\":[0,8]}"), badField},
    {"repeated_field", one("\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}"),
     badField},
    {"missing_field", one("\"a\":{\"dtype\":\"F32\",\"shape\":[2]}"), "lacks"},
    {"shape_is_a_number", one(entry("a", "F32", "2", 0, 8)), badShape},
    {"negative_dim", one(entry("a", "F32", "[-2]", 0, 8)), badShape},
    {"fractional_dim", one(entry("a", "F32", "[2.0]", 0, 8)), badShape},
    {"exponent_dim", one(entry("a", "F32", "[2e0]", 0, 8)), badShape},
    {"leading_zero", one(entry("a", "F32", "[02]", 0, 8)), badShape},
    {"dim_of_31_bits", one(entry("a", "U8", "[2147483648]", 0, 8)), badShape},
    {"nine_dims", one(entry("a", "U8", "[1,1,1,1,1,1,1,1,8]", 0, 8)), badShape},
    {"shape_not_closed", one("\"a\":{\"shape\":[2"), badShape},
    {"one_offset",
     one("\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[8]}"),
     badOffsets},
    {"three_offsets",
     one("\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8,8]}"),
     badOffsets},
    {"offset_beyond_64_bits",
     one("\"a\":{\"data_offsets\":[0,18446744073709551616]}"), badOffsets},
    {"offset_wraps",
     one(entry("a", "U8", "[8]", ~UINT64_C(0) - 7, ~UINT64_C(0))),
     "outside of the file"},
    {"offsets_swapped", one(entry("a", "F32", "[2]", 8, 0)),
     "outside of the file"},
    {"end_beyond_file", one(entry("a", "F32", "[4]", 0, 16)),
     "outside of the file"},
    {"shape_too_small", one(entry("a", "F32", "[1]", 0, 8)), badLength},
    {"shape_too_large", one(entry("a", "F32", "[3]", 0, 8)), badLength},
    {"packed_elements_too_few", one(entry("a", "F4", "[8]", 0, 8)), badLength},
    {"packed_elements_end_inside_a_byte", one(entry("a", "F4", "[15]", 0, 8)),
     badLength},
    {"packed_elements_of_six_bits", one(entry("a", "F6_E2M3", "[11]", 0, 8)),
     badLength},
    {"complex_too_many", one(entry("a", "C64", "[2]", 0, 8)), badLength},
    {"product_wraps_to_eight",
     one(entry("a", "U8", "[2147483647,2147483647,2147483647]", 0, 8)),
     "size overflows"},
    {"zero_hides_overflow",
     file("{" + entry("a", "U8", "[0,2147483647,2147483647,2147483647]", 0, 0) +
              "}",
          ""),
     "size overflows"},
    {"hole_before_first",
     file("{" + entry("a", "F32", "[2]", 8, 16) + "}", eight + eight),
     "leaves a hole"},
    {"hole_between",
     file("{" + a + "," + entry("b", "F32", "[1]", 12, 16) + "}",
          eight + eight),
     "leaves a hole"},
    {"overlap",
     file("{" + a + "," + entry("b", "F32", "[2]", 4, 12) + "}",
          eight + "1234"),
     "overlaps"},
    {"same_bytes_twice",
     file("{" + a + "," + entry("b", "F32", "[2]", 0, 8) + "}", eight),
     "overlaps"},
    {"bytes_after_last", file("{" + a + "}", eight + "x"), "goes on after"},
    {"bytes_without_tensor", file("{}", "x"), "goes on after"},
    {"metadata_is_a_list", one("\"__metadata__\":[]"), "map of strings"},
    {"metadata_of_numbers", one("\"__metadata__\":{\"a\":1}"),
     "map of strings"},
    {"metadata_twice", file("{\"__metadata__\":{},\"__metadata__\":{}}", ""),
     "map of strings"},
};
INSTANTIATE_TEST_SUITE_P(Safetensors, BadSafetensors,
                         testing::ValuesIn(badFiles),
                         [](auto &info) { return info.param.name; });

TEST(Safetensors, every_prefix_of_a_file_is_rejected) {
  const std::string whole = file(
      "{" + a + "," + entry("b", "I8", "[4]", 8, 12) + "}", eight + "1234");
  for (size_t length = 0; length < whole.size(); ++length) {
    hova_error error = {};
    EXPECT_EQ(parse(whole.substr(0, length), error), HOVA_REJECTED) << length;
  }
}

TEST(Safetensors, a_header_full_of_empty_tensors_is_rejected) {
  std::string header = "{";
  for (int i = 0; i <= 262144; ++i) {
    header += (i == 0 ? "" : ",") +
              entry("t" + std::to_string(i), "F32", "[0]", 0, 0);
  }
  hova_error error = {};
  EXPECT_EQ(parse(file(header + "}", ""), error), HOVA_REJECTED);
  EXPECT_NE(std::string(error.text).find("more than 262,144 tensors"),
            std::string::npos)
      << error.text;
}

TEST(Safetensors, a_message_shows_names_of_any_script_and_no_controls) {
  hova_error error = {};
  // A name in Greek, and a mark that reorders what follows.
  std::string name = "\xce\xb2\xe2\x80\xae";
  EXPECT_EQ(parse(one(entry(name, "F33", "[2]", 0, 8)), error), HOVA_REJECTED);
  EXPECT_NE(std::string(error.text).find("\xce\xb2\\u202e"), std::string::npos)
      << error.text;
}

} // namespace
