//===- ConstantReader.cpp - The expression of a constant's elements -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names of parameters and values, as everywhere, and the indices of the
// element. Which of the values are constants, and what becomes of every
// element, is known where the program is made.
//
//===----------------------------------------------------------------------===//

#include "frontend/description/SpecReader.h"
#include "frontend/expression/ElementNames.h"

namespace hova::frontend {

using reader::inQuotes;

/// Whether a name outside of brackets means something: it is an index, or a
/// parameter.
bool SpecReader::checkElementName(const Node &node, const NameUse &use,
                                  size_t rank, const NameScope &scope) {
  constexpr size_t mostAxes = 9;
  bool isElsewhere = use.name == "row" || use.name == "column" ||
                     findElementIndex(use.name, /*rank=*/mostAxes).has_value();
  if (findElementIndex(use.name, rank) || scope.hasScalar(use.name)) {
    return true;
  }
  TextError place{use.begin, use.begin + use.name.size(), ""};
  if (isElsewhere) {
    place.message = inQuotes(use.name) +
                    " is no index of an element: of two axes they are row and "
                    "column, and of this shape index0" +
                    (rank > 1 ? " to index" + std::to_string(rank - 1) : "");
  } else if (scope.values.count(use.name)) {
    place.message = inQuotes(use.name) +
                    " is a value, of which an element is read: " + use.name +
                    "[...], with an index for each axis";
  } else {
    return checkScalars(node, {use}, scope);
  }
  errorInside(node, place);
  return false;
}

/// A number that is written down, or a string.
std::optional<Expression> SpecReader::parseElements(const Node &node,
                                                    const std::string &name) {
  std::string text = node.text;
  if (node.is(Node::Kind::Integer) || node.is(Node::Kind::Real)) {
    text = plainValue(node)->str();
  } else if (!expect(
                 node, Node::Kind::String,
                 (inQuotes(name) + ", a number or an expression,").c_str())) {
    return std::nullopt;
  }
  if (hasManyTerms()) {
    return std::nullopt;
  }
  TextError failure;
  std::optional<Expression> parsed = Expression::parseConstant(text, failure);
  if (!parsed) {
    errorInside(node, failure);
  }
  return parsed;
}

void SpecReader::readElements(const Node &node, const std::string &name,
                              LayerSpec &layer, const NameScope &scope) {
  std::optional<Expression> expression = parseElements(node, name);
  if (!expression) {
    return;
  }
  bool isKnown = countTerms(node, expression->terms());
  const Node *shape = layer.node->get("shape");
  size_t rank =
      shape && shape->is(Node::Kind::Array) ? shape->elements.size() : 0;
  for (const NameUse &use : expression->names()) {
    // Without a shape, that it is missing is said.
    isKnown &= rank > 0 && checkElementName(node, use, rank, scope);
  }
  for (const auto &read : expression->reads()) {
    // The element of a list is written as that of a value of one axis.
    bool isList = read->accessors.empty() && scope.hasScalar(read->base) &&
                  !scope.values.count(read->base);
    if (!isList) {
      isKnown &= checkValue(node, *read, scope) &&
                 checkScalars(node, read->names(), scope);
    }
  }
  if (isKnown) {
    layer.elements =
        std::make_shared<ScoreSpec>(ScoreSpec{&node, std::move(*expression)});
  }
}

} // namespace hova::frontend
