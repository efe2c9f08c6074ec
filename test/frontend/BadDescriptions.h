//===- BadDescriptions.h - Every mistake has its place --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each case is a description in which `@` stands before every place that must
// be complained about, and the messages, in that order. There must be no other
// error.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TEST_FRONTEND_BADDESCRIPTIONS_H
#define HOVA_TEST_FRONTEND_BADDESCRIPTIONS_H

#include "TestModel.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace hova::test {

struct Bad {
  const char *name;
  std::string text;
  std::vector<std::string> messages;
};

inline std::ostream &operator<<(std::ostream &out, const Bad &bad) {
  return out << bad.name;
}

/// Around one layer `y`.
inline Bad layer(const char *name, const std::string &layers,
                 const std::string &message) {
  return {name, around(layers), {message}};
}

/// Around blocks and layers.
inline Bad block(const char *name, const std::string &blocks,
                 const std::string &layers, const std::string &message) {
  return {name, around(layers, " \"blocks\": {" + blocks + "},\n"), {message}};
}

const char *const identity =
    R"("keep": {"inputs": ["a"], "layers": [{"name": "b", "op": "scale", "input": "a", "by": 1}], "output": "b"})";
const char *const last =
    R"(,{"name": "y", "op": "scale", "input": "x", "by": 1})";

/// A whole description with one section replaced.
inline std::string whole(const std::string &sections) {
  return R"({"hova": 1, "name": "m", )" + sections + "}";
}
const char *const tail =
    R"("layers": [{"name": "y", "op": "scale", "input": "x", "by": 1}], "outputs": {"o": "y"})";
const char *const oneInput = R"("inputs": {"x": {"shape": [2, 4]}}, )";

/// Reads the description without its marks and compares.
inline void expectRejected(const Bad &bad) {
  std::string text;
  std::vector<size_t> places;
  for (char c : bad.text) {
    if (c == '@') {
      places.push_back(text.size());
    } else {
      text += c;
    }
  }
  Read read(text);
  std::vector<reader::Diagnostic> errors = read.diagnostics.all();
  std::sort(errors.begin(), errors.end(), [](const auto &a, const auto &b) {
    return a.range.begin < b.range.begin;
  });
  EXPECT_EQ(read.program, nullptr);
  ASSERT_EQ(errors.size(), places.size()) << read.printed();
  for (size_t i = 0; i < errors.size(); ++i) {
    EXPECT_EQ(errors[i].range.begin, places[i]) << read.printed();
    if (i < bad.messages.size()) {
      EXPECT_NE(errors[i].message.find(bad.messages[i]), std::string::npos)
          << read.printed();
    }
  }
}

class BadDescriptions : public testing::TestWithParam<Bad> {};

} // namespace hova::test

#endif // HOVA_TEST_FRONTEND_BADDESCRIPTIONS_H
