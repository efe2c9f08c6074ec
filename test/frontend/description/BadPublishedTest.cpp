//===- BadPublishedTest.cpp - Mistakes of published figures ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "test/frontend/BadDescriptions.h"

using namespace hova::test;

namespace {

/// A description with this section "published".
Bad published(const char *name, const std::string &section,
              const std::string &message) {
  return {
      name,
      whole(R"("parameters": {"n": 4, "kind": {"default": "a", )"
            R"("values": ["a", "b"]}, "heads": {"default": 2, "min": 1}}, )" +
            std::string(oneInput) + tail + ", \"published\": " + section),
      {message}};
}

/// A table with these rows.
Bad rows(const char *name, const std::string &rows,
         const std::string &message) {
  return published(name, R"([{"source": "s", "rows": [)" + rows + "]}]",
                   message);
}

/// A row of parameters with this figure.
Bad figure(const char *name, const std::string &figure) {
  return rows(name, R"({"row": "r", "parameters": @")" + figure + "\"}",
              "expected a figure as it is printed, digits with a letter of K, "
              "M, G and B, such as \"46.7M\", got \"" +
                  figure + "\"");
}

std::vector<Bad> all() {
  return {
      published("section_as_object", "@{}",
                "\"published\" must be a list, got an object"),
      published("table_as_string", R"([@"s"])",
                "a published table must be an object, got a string"),
      published("without_source", R"([@{"rows": []}])",
                "missing key \"source\" in a published table"),
      published("without_rows", R"([@{"source": "s"}])",
                "missing key \"rows\" in a published table"),
      published("unknown_key", R"([{"source": "s", "rows": [], @"url": "u"}])",
                "unknown key \"url\" in a published table"),
      published("counts_as_word",
                R"([{"source": "s", "rows": [], "counts": @"dense"}])",
                "\"counts\" must be an object, got a string"),
      published(
          "unknown_count",
          R"([{"source": "s", "rows": [], "counts": {"macs": @"dense"}}])",
          "unknown word \"dense\"; expected all, linear, with_norms"),
      published("unknown_unit",
                R"([{"source": "s", "rows": [], "counts": {"units": @"SI"}}])",
                "unknown word \"SI\"; expected decimal, binary"),
      rows("row_without_name", R"(@{"macs": "1G"})",
           "missing key \"row\" in a row: its name"),
      rows("row_without_figure", R"(@{"row": "r"})",
           "a row has \"parameters\", \"macs\" or both"),
      rows("unknown_parameter",
           R"({"row": "r", "macs": "1G", "when": {@"m": 1}})",
           "unknown key \"m\" in \"when\""),
      rows("parameter_of_another_kind",
           R"({"row": "r", "macs": "1G", "when": {"n": @true}})",
           "parameter \"n\" is an integer"),
      rows("word_that_is_not_legal",
           R"({"row": "r", "macs": "1G", "when": {"kind": @"c"}})",
           "unknown word \"c\"; expected a, b"),
      rows("value_below_the_minimum",
           R"({"row": "r", "macs": "1G", "when": {"heads": @0}})",
           "parameter \"heads\" must be at least 1, got 0"),
      rows("figure_as_number", R"({"row": "r", "parameters": @46.7})",
           "a figure must be a string, got a number"),
      rows("figure_that_differs_without_reason",
           R"({"row": "r", "macs": @{"figure": "1G"}})",
           "a figure that is an object has \"figure\" and \"differs\""),
      rows("empty_reason",
           R"({"row": "r", "macs": {"figure": "1G", "differs": @""}})",
           "\"differs\" says why another number is expected"),
      figure("empty_figure", ""),
      figure("figure_with_comma", "46,7M"),
      figure("figure_without_whole_digits", ".7M"),
      figure("figure_without_decimals", "46.M"),
      figure("figure_of_words", "about 50M"),
      figure("figure_of_unknown_unit", "46.7T"),
      figure("figure_of_two_letters", "46.7MB"),
      figure("figure_of_many_digits", "1234567890123"),
      figure("figure_of_many_decimals", "1.2345678"),
  };
}

class BadPublished : public BadDescriptions {};

TEST_P(BadPublished, are_rejected_at_the_place) { expectRejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BadPublished, testing::ValuesIn(all()),
                         [](const auto &info) { return info.param.name; });

} // namespace
