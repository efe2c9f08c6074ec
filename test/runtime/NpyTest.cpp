//===- NpyTest.cpp - Good and bad .npy files ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TestFiles.h"

#include "runtime/Npy.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace hova::test;

namespace {

std::string npy(const std::string &header, const std::string &data,
                int version = 1) {
  return "\x93NUMPY" + bytesOf(version, 1) + bytesOf(0, 1) +
         bytesOf(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string dictionary(const std::string &descr, const std::string &shape) {
  return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape +
         ", }";
}

hova_status parse(const std::string &contents, hova_npy &tensor,
                  hova_error &error) {
  Bytes bytes(contents);
  hova_status status = hova_npy_parse(bytes.getSpan(), "f", &tensor, &error);
  tensor.data = {nullptr, 0};
  return status;
}

const std::string six(24, '\x01');

struct Good {
  const char *name;
  std::string file;
  hova_element element;
  int32_t rank;
  uint64_t count;
};

class GoodNpy : public testing::TestWithParam<Good> {};

TEST_P(GoodNpy, is_read) {
  hova_npy tensor;
  hova_error error = {};
  ASSERT_EQ(parse(GetParam().file, tensor, error), HOVA_OK) << error.text;
  EXPECT_EQ(tensor.element, GetParam().element);
  EXPECT_EQ(tensor.rank, GetParam().rank);
  EXPECT_EQ(tensor.count, GetParam().count);
}

const Good goodFiles[] = {
    {"version_1", npy(dictionary("'<f4'", "(2, 3)"), six), HOVA_ELEMENT_F32, 2,
     6},
    {"version_2", npy(dictionary("'<f4'", "(2, 3)"), six, 2), HOVA_ELEMENT_F32,
     2, 6},
    {"version_3", npy(dictionary("'<f4'", "(2, 3)"), six, 3), HOVA_ELEMENT_F32,
     2, 6},
    {"scalar", npy(dictionary("'<f8'", "()"), std::string(8, 0)),
     HOVA_ELEMENT_F64, 0, 1},
    {"vector", npy(dictionary("'<i8'", "(3,)"), six), HOVA_ELEMENT_I64, 1, 3},
    {"empty", npy(dictionary("'<i4'", "(0, 5)"), ""), HOVA_ELEMENT_I32, 2, 0},
    {"booleans", npy(dictionary("'|b1'", "(24,)"), six), HOVA_ELEMENT_BOOL, 1,
     24},
    {"any_order_of_single_bytes", npy(dictionary("'<u1'", "(24,)"), six),
     HOVA_ELEMENT_U8, 1, 24},
    {"half", npy(dictionary("'<f2'", "(12,)"), six), HOVA_ELEMENT_F16, 1, 12},
    {"other_key_order_quotes_and_blanks",
     npy(" {\"shape\" :( 2 ,3, ) ,'fortran_order':False,'descr':\"<f4\"}\n",
         six),
     HOVA_ELEMENT_F32, 2, 6},
    {"column_major_vector",
     npy("{'descr': '<f4', 'fortran_order': True, 'shape': (6,)}", six),
     HOVA_ELEMENT_F32, 1, 6},
};
INSTANTIATE_TEST_SUITE_P(Npy, GoodNpy, testing::ValuesIn(goodFiles),
                         [](auto &info) { return info.param.name; });

struct Bad {
  const char *name;
  std::string file;
  const char *message;
};

class BadNpy : public testing::TestWithParam<Bad> {};

TEST_P(BadNpy, is_rejected) {
  hova_npy tensor;
  hova_error error = {};
  EXPECT_EQ(parse(GetParam().file, tensor, error), HOVA_REJECTED);
  EXPECT_NE(std::string(error.text).find(GetParam().message), std::string::npos)
      << error.text;
}

const char *const notADictionary = "header is not a dictionary";
const char *const badShape = "shape is not a tuple of at most 8 dims";
const char *const badType = "type is not a little-endian number or bool";
const std::string f4 = dictionary("'<f4'", "(2, 3)");

const Bad badFiles[] = {
    {"empty_file", "", "does not start as one"},
    {"other_magic", "\x93NUMPX\x01", "does not start as one"},
    {"magic_only", "\x93NUMPY", "format version"},
    {"version_0", npy(f4, six, 0), "format version"},
    {"version_4", npy(f4, six, 4), "format version"},
    {"minor_version", "\x93NUMPY\x01\x01", "format version"},
    {"no_header_length", npy(f4, six).substr(0, 9), "cut off"},
    {"header_cut_off", npy(f4, six).substr(0, 30), "cut off"},
    {"header_length_beyond_file",
     "\x93NUMPY" + bytesOf(2, 1) + bytesOf(0, 1) + bytesOf(~0u, 4) + f4,
     "cut off"},
    {"header_above_limit", npy(f4 + std::string(10000, ' '), six, 2),
     "above 10,000 bytes"},
    {"empty_header", npy("", six), notADictionary},
    {"header_is_a_list", npy("['descr']", six), notADictionary},
    {"no_closing_brace", npy("{'descr': '<f4'", six), notADictionary},
    {"no_colon", npy("{'descr' '<f4'}", six), notADictionary},
    {"no_comma",
     npy("{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}", six),
     notADictionary},
    {"key_without_quotes", npy("{descr: '<f4'}", six), notADictionary},
    {"key_with_escape", npy("{'des\\x63r': '<f4'}", six), notADictionary},
    {"nul_in_key", npy(std::string("{'des\0r': '<f4'}", 16), six),
     notADictionary},
    {"unknown_key", npy("{'dtype': '<f4'}", six), "unknown or repeated key"},
    {"repeated_key", npy("{'descr': '<f4', 'descr': '<f8'}", six),
     "unknown or repeated key"},
    {"missing_key", npy("{'descr': '<f4', 'shape': (6,)}", six), "lacks"},
    {"text_after_dictionary", npy(f4 + "x", six), "goes on"},
    {"big_endian", npy(dictionary("'>f4'", "(2, 3)"), six), badType},
    {"pickled_objects", npy(dictionary("'|O'", "(2, 3)"), six), badType},
    {"structure", npy(dictionary("[('a', '<f4')]", "(2, 3)"), six), badType},
    {"complex", npy(dictionary("'<c8'", "(3,)"), six), badType},
    {"text_type", npy(dictionary("'<U6'", "(1,)"), six), badType},
    {"void_type", npy(dictionary("'|V2'", "(12,)"), six), badType},
    {"order_is_a_number",
     npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", six),
     "fortran_order is not a bool"},
    {"column_major_matrix",
     npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", six),
     "column-major"},
    {"shape_is_a_number", npy(dictionary("'<f4'", "(6)"), six), badShape},
    {"shape_is_a_list", npy(dictionary("'<f4'", "[6]"), six), badShape},
    {"negative_dim", npy(dictionary("'<f4'", "(-6,)"), six), badShape},
    {"fractional_dim", npy(dictionary("'<f4'", "(6.0,)"), six), badShape},
    {"leading_zero", npy(dictionary("'<f4'", "(06,)"), six), badShape},
    {"long_suffix", npy(dictionary("'<f4'", "(6L,)"), six), badShape},
    {"nine_dims", npy(dictionary("'<f4'", "(1,1,1,1,1,1,1,1,6)"), six),
     badShape},
    {"dim_of_31_bits", npy(dictionary("'<f4'", "(2147483648,)"), six),
     badShape},
    {"dim_beyond_64_bits",
     npy(dictionary("'<f4'", "(99999999999999999999,)"), six), badShape},
    {"product_overflows",
     npy(dictionary("'<f4'", "(2147483647, 2147483647, 2147483647)"), six),
     "shape is too large"},
    {"product_wraps_to_zero",
     npy(dictionary("'<f4'", "(1073741824, 1073741824, 16)"), ""),
     "shape is too large"},
    {"zero_hides_overflow",
     npy(dictionary("'<f4'", "(0, 2147483647, 2147483647, 2147483647)"), ""),
     "shape is too large"},
    {"data_cut_off", npy(f4, six.substr(1)), "data is cut off"},
    {"no_data", npy(f4, ""), "data is cut off"},
    {"data_goes_on", npy(f4, six + "x"), "goes on after its data"},
};
INSTANTIATE_TEST_SUITE_P(Npy, BadNpy, testing::ValuesIn(badFiles),
                         [](auto &info) { return info.param.name; });

TEST(Npy, every_prefix_of_a_file_is_rejected) {
  const std::string whole = npy(f4, six);
  for (size_t length = 0; length < whole.size(); ++length) {
    hova_npy tensor;
    hova_error error = {};
    EXPECT_EQ(parse(whole.substr(0, length), tensor, error), HOVA_REJECTED)
        << length;
  }
}

TEST(Npy, a_written_file_is_read_back) {
  Folder folder;
  const float values[] = {1.5f, -0.0f, NAN, INFINITY, 1e-42f, 3};
  const int64_t dims[] = {1, 3, 2};
  hova_error error = {};
  std::string path = folder.file("out.npy");
  ASSERT_EQ(
      hova_npy_write(path.c_str(), HOVA_ELEMENT_F32, 3, dims, values, &error),
      HOVA_OK)
      << error.text;
  hova_npy tensor;
  ASSERT_EQ(hova_npy_open(path.c_str(), &tensor, &error), HOVA_OK);
  EXPECT_EQ(tensor.rank, 3);
  EXPECT_EQ(tensor.dims[1], 3);
  EXPECT_EQ(tensor.count, 6u);
  EXPECT_EQ(std::memcmp(tensor.data.data, values, sizeof values), 0);
  EXPECT_EQ((tensor.data.data - tensor.file.data) % 64, 0);
  hova_npy_close(&tensor);
}

TEST(Npy, bf16_is_written_as_f32) {
  Folder folder;
  const uint16_t values[] = {0x3f80, 0xc000};
  const int64_t dims[] = {2};
  std::string path = folder.file("out.npy");
  ASSERT_EQ(
      hova_npy_write(path.c_str(), HOVA_ELEMENT_BF16, 1, dims, values, nullptr),
      HOVA_OK);
  hova_npy tensor;
  ASSERT_EQ(hova_npy_open(path.c_str(), &tensor, nullptr), HOVA_OK);
  EXPECT_EQ(tensor.element, HOVA_ELEMENT_F32);
  EXPECT_EQ(hova_element_value(tensor.element, tensor.data.data, 0), 1.0);
  EXPECT_EQ(hova_element_value(tensor.element, tensor.data.data, 1), -2.0);
  hova_npy_close(&tensor);
}

TEST(Npy, a_failed_write_says_where_and_leaves_nothing) {
  const int64_t dims[] = {1};
  const float value = 1;
  hova_error error = {};
  EXPECT_EQ(hova_npy_write("/nonexistent/out.npy", HOVA_ELEMENT_F32, 1, dims,
                           &value, &error),
            HOVA_IO_ERROR);
  EXPECT_STREQ(error.text, "cannot write '/nonexistent/out.npy': No such file "
                           "or directory");
}

TEST(Npy, what_is_no_regular_file_is_rejected) {
  hova_npy tensor;
  EXPECT_EQ(hova_npy_open("/tmp", &tensor, nullptr), HOVA_REJECTED);
  EXPECT_EQ(hova_npy_open("/dev/zero", &tensor, nullptr), HOVA_REJECTED);
  EXPECT_EQ(hova_npy_open("/nonexistent", &tensor, nullptr), HOVA_IO_ERROR);
}

} // namespace
