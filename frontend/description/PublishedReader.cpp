//===- PublishedReader.cpp - The section of published figures -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Papers count in different ways and print few digits. A description says how
// each table was counted and what it prints, so that a reader of the paper can
// see that this is its model, without a line of C++ that knows the paper.
//
//===----------------------------------------------------------------------===//

#include "frontend/description/SpecReader.h"

#include <algorithm>

namespace hova::frontend {

using reader::inQuotes;
using reader::Node;

const std::vector<std::string> PublishedSpec::parameterWords = {"trainable",
                                                                "dense", "all"};
const std::vector<std::string> PublishedSpec::macWords = {"all", "linear",
                                                          "with_norms"};
const std::vector<std::string> PublishedSpec::unitWords = {"decimal", "binary"};
const char *const PublishedSpec::figurePattern =
    "^[0-9]{1,12}(\\.[0-9]{1,6})?[KMGB]?$";

void SpecReader::readPublished(const Node &node) {
  if (!expect(node, Node::Kind::Array, "\"published\"") ||
      !checkCount(node, node.elements.size(), SpecLimits::tables,
                  "published tables")) {
    return;
  }
  for (const Node *table : node.elements) {
    readTable(*table);
  }
}

void SpecReader::readTable(const Node &node) {
  if (!expect(node, Node::Kind::Object, "a published table")) {
    return;
  }
  checkKeys(node, {"source", "counts", "rows"}, "a published table");
  PublishedSpec table;
  const Node *source = node.get("source");
  if (!source) {
    missing(node, "source", "missing key \"source\" in a published table");
  } else if (auto text = stringOf(*source, "\"source\"")) {
    table.source = *text;
  }
  if (const Node *counts = node.get("counts")) {
    readCounts(*counts, table);
  }
  const Node *rows = node.get("rows");
  if (!rows) {
    missing(node, "rows", "missing key \"rows\" in a published table");
  } else if (expect(*rows, Node::Kind::Array, "\"rows\"") &&
             checkCount(*rows, rows->elements.size(), SpecLimits::rows,
                        "rows of a published table")) {
    for (const Node *row : rows->elements) {
      readRow(*row, table);
    }
  }
  spec.published.push_back(std::move(table));
}

/// The position of a word in its list.
template <typename Enumeration>
static Enumeration valueOf(const std::string &word,
                           const std::vector<std::string> &words) {
  return static_cast<Enumeration>(std::find(words.begin(), words.end(), word) -
                                  words.begin());
}

void SpecReader::readCounts(const Node &node, PublishedSpec &table) {
  if (!expect(node, Node::Kind::Object, "\"counts\"")) {
    return;
  }
  checkKeys(node, {"parameters", "macs", "units"}, "\"counts\"");
  if (const Node *word = node.get("parameters")) {
    if (auto known = wordOf(*word, PublishedSpec::parameterWords)) {
      table.parameters = valueOf<PublishedSpec::Parameters>(
          *known, PublishedSpec::parameterWords);
    }
  }
  if (const Node *word = node.get("macs")) {
    if (auto known = wordOf(*word, PublishedSpec::macWords)) {
      table.macs =
          valueOf<PublishedSpec::Macs>(*known, PublishedSpec::macWords);
    }
  }
  if (const Node *word = node.get("units")) {
    table.binary = wordOf(*word, PublishedSpec::unitWords) == "binary";
  }
}

void SpecReader::readRow(const Node &node, PublishedSpec &table) {
  if (!expect(node, Node::Kind::Object, "a row")) {
    return;
  }
  checkKeys(node, {"row", "when", "parameters", "macs"}, "a row");
  PublishedRowSpec row;
  const Node *name = node.get("row");
  if (!name) {
    missing(node, "row", "missing key \"row\" in a row: its name");
  } else if (auto text = stringOf(*name, "the name of a row")) {
    row.name = *text;
  }
  const Node *when = node.get("when");
  if (when && checkCount(*when, when->members.size(), SpecLimits::rowParameters,
                         "parameters of a row")) {
    row.when = readParameterValues(*when, "\"when\"");
    for (const auto &[parameter, value] : row.when) {
      std::string problem =
          spec.findParameter(parameter)->problemWith(*value.literal);
      if (!problem.empty()) {
        error(*value.node, problem);
      }
    }
  }
  const Node *parameters = node.get("parameters");
  const Node *macs = node.get("macs");
  if (!parameters && !macs) {
    error(node, "a row has \"parameters\", \"macs\" or both");
  }
  row.parameters = parameters ? readFigure(*parameters) : std::nullopt;
  row.macs = macs ? readFigure(*macs) : std::nullopt;
  table.rows.push_back(std::move(row));
}

std::optional<FigureSpec> SpecReader::readFigure(const Node &node) {
  if (!node.is(Node::Kind::Object)) {
    return parseFigure(node);
  }
  checkKeys(node, {"figure", "differs"}, "a figure");
  const Node *printed = node.get("figure");
  const Node *differs = node.get("differs");
  if (!printed || !differs) {
    error(node, "a figure that is an object has \"figure\" and \"differs\"");
    return std::nullopt;
  }
  std::optional<FigureSpec> figure = parseFigure(*printed);
  std::optional<std::string> reason = stringOf(*differs, "\"differs\"");
  if (reason && reason->empty()) {
    error(*differs, "\"differs\" says why another number is expected");
  }
  if (figure && reason) {
    figure->differs = std::move(*reason);
  }
  return figure;
}

std::optional<FigureSpec> SpecReader::parseFigure(const Node &node) {
  if (!expect(node, Node::Kind::String, "a figure")) {
    return std::nullopt;
  }
  // As PublishedSpec::figurePattern says.
  constexpr size_t mostDigits = 12, mostDecimals = 6;
  FigureSpec figure;
  figure.text = node.text;
  std::string_view rest = node.text;
  auto takeDigits = [&] {
    size_t count = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(count);
    return count;
  };
  size_t whole = takeDigits();
  bool valid = whole >= 1 && whole <= mostDigits;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    size_t decimals = takeDigits();
    figure.decimals = static_cast<int>(decimals);
    valid &= decimals >= 1 && decimals <= mostDecimals;
  }
  if (!rest.empty()) {
    constexpr std::string_view letters = "KMGB";
    size_t letter = letters.find(rest[0]);
    valid &= rest.size() == 1 && letter != std::string_view::npos;
    // A billion, B, is G.
    figure.thousands = static_cast<int>(std::min<size_t>(letter, 2)) + 1;
  }
  if (valid) {
    return figure;
  }
  error(node, "expected a figure as it is printed, digits with a letter of "
              "K, M, G and B, such as \"46.7M\", got " +
                  inQuotes(node.text));
  return std::nullopt;
}

} // namespace hova::frontend
