//===- ScoreReader.cpp - What an attention says of its scores -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names of parameters and values, as everywhere; what is wrong with types and
// indices is found where shapes are known.
//
//===----------------------------------------------------------------------===//

#include "frontend/description/SpecReader.h"
#include "frontend/expression/ScoreNames.h"
#include "frontend/reader/Suggest.h"

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;

/// Whether a name outside of indices means something: it is one of scores, or a
/// parameter.
bool SpecReader::checkScoreName(const Node &node, const NameUse &use,
                                const NameScope &scope) {
  if (findScoreName(use.name) || scope.hasScalar(use.name)) {
    return true;
  }
  TextError place{use.begin, use.begin + use.name.size(), ""};
  if (scope.values.count(use.name)) {
    place.message = inQuotes(use.name) +
                    " is a value, of which an element is read: " + use.name +
                    "[...], with an index for each axis";
    errorInside(node, place);
    return false;
  }
  bool isUnusual = scope.laterScalars.count(use.name) || use.name == "index";
  if (!knowsParameters || scope.lacksScalars || isUnusual) {
    return checkScalars(node, {use}, scope);
  }
  std::string known;
  for (const std::string &name : scoreNames()) {
    known += name + ", ";
  }
  place.message = "unknown name " + inQuotes(use.name) + "; scores know " +
                  known + "parameters, arguments and index";
  Diagnostic &unknown = errorInside(node, place);
  std::vector<std::string> candidates = scope.allScalars();
  candidates.insert(candidates.end(), scoreNames().begin(), scoreNames().end());
  suggestNearest(unknown, use.name, candidates);
  return false;
}

/// Whether a value that is read is an earlier one, and what chooses it among
/// several is the same for all scores.
bool SpecReader::checkRead(const Node &node, const Reference &reference,
                           const NameScope &scope) {
  bool isKnown = checkValue(node, reference, scope);
  for (const NameUse &use : reference.names()) {
    if (!findScoreName(use.name)) {
      isKnown &= checkScalars(node, {use}, scope);
      continue;
    }
    isKnown = false;
    errorInside(node, {use.begin, use.begin + use.name.size(),
                       inQuotes(use.name) +
                           " cannot choose a value: only the last brackets "
                           "have indices of elements"});
  }
  return isKnown;
}

void SpecReader::readScore(const Node &node, const std::string &name,
                           LayerSpec &layer, const NameScope &scope) {
  if (!expect(node, Node::Kind::String, inQuotes(name).c_str()) ||
      hasManyTerms()) {
    return;
  }
  TextError failure;
  std::optional<Expression> expression =
      Expression::parseScore(node.text, failure);
  if (!expression) {
    errorInside(node, failure);
    return;
  }
  bool isKnown = countTerms(node, expression->terms());
  for (const NameUse &use : expression->names()) {
    isKnown &= checkScoreName(node, use, scope);
  }
  for (const auto &read : expression->reads()) {
    isKnown &= checkRead(node, *read, scope);
  }
  if (isKnown) {
    layer.scores[name] = {&node, std::move(*expression)};
  }
}

} // namespace hova::frontend
