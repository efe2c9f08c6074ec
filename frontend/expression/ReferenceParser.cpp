//===- ReferenceParser.cpp - Names of values and paths of weights ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/expression/ExpressionParser.h"

namespace hova::frontend {

std::string ExpressionParser::takeName() {
  std::string name(peekWord());
  at += name.size();
  return name;
}

/// What stands between `[` and `]`.
bool ExpressionParser::range(Reference::Accessor &accessor) {
  accessor.kind = Reference::Accessor::Kind::Range;
  if (take('*')) {
    return true;
  }
  auto isStop = [&](char c) { return at < text.size() && text[at] == c; };
  std::optional<Expression> *slots[] = {&accessor.first, &accessor.last,
                                        &accessor.step};
  for (size_t i = 0; i < 3; ++i) {
    skipSpace();
    if (!isStop(':') && !isStop(']')) {
      *slots[i] = expression();
      if (!*slots[i]) {
        return false;
      }
    }
    skipSpace();
    if (i == 0 && isStop(']')) {
      accessor.kind = Reference::Accessor::Kind::Index;
      if (!accessor.first) {
        failHere("an index, a range or '*'");
        return false;
      }
    }
    if (!take(':')) {
      break;
    }
  }
  return true;
}

std::optional<Reference> ExpressionParser::reference() {
  Reference reference;
  reference.base = takeName();
  if (reference.base.empty()) {
    failHere("the name of a value");
    return std::nullopt;
  }
  while (!atEnd()) {
    Reference::Accessor accessor;
    accessor.begin = at;
    if (take('.')) {
      accessor.member = takeName();
      if (accessor.member.empty()) {
        failHere("the name of a layer after '.'");
        return std::nullopt;
      }
    } else if (!take('[')) {
      failHere("'[', '.' or the end");
      return std::nullopt;
    } else if (!range(accessor)) {
      return std::nullopt;
    } else if (!take(']')) {
      failHere("']'");
      return std::nullopt;
    }
    accessor.end = at;
    reference.accessors.push_back(std::move(accessor));
  }
  reference.end = text.size();
  return reference;
}

std::optional<Reference> Reference::parse(std::string_view text,
                                          TextError &error) {
  return ExpressionParser(text, error).reference();
}

std::vector<NameUse> Reference::names() const {
  std::vector<NameUse> all;
  for (const Accessor &accessor : accessors) {
    for (const auto *slot : {&accessor.first, &accessor.last, &accessor.step}) {
      if (*slot) {
        all.insert(all.end(), (*slot)->names().begin(), (*slot)->names().end());
      }
    }
  }
  return all;
}

size_t Reference::terms() const {
  size_t count = accessors.size();
  for (const Accessor &accessor : accessors) {
    for (const auto *slot : {&accessor.first, &accessor.last, &accessor.step}) {
      count += *slot ? (*slot)->terms() : 0;
    }
  }
  return count;
}

size_t PathTemplate::terms() const {
  size_t count = parts.size();
  for (const Part &part : parts) {
    count += part.expression ? part.expression->terms() : 0;
  }
  return count;
}

std::optional<PathTemplate> PathTemplate::parse(std::string_view text,
                                                TextError &error) {
  PathTemplate path;
  size_t at = 0;
  while (at < text.size()) {
    size_t brace = text.find('{', at);
    if (brace != at) {
      std::string literal(text.substr(at, brace - at));
      for (size_t i = 0; i < literal.size(); ++i) {
        if (!isNamePart(literal[i]) && literal[i] != '.') {
          error = {at + i, at + i + 1,
                   "a path has letters, digits, underscores and dots only"};
          return std::nullopt;
        }
      }
      path.parts.push_back({std::move(literal), std::nullopt, at});
    }
    if (brace == std::string_view::npos) {
      break;
    }
    size_t close = text.find('}', brace);
    if (close == std::string_view::npos) {
      error = {brace, text.size(), "missing '}'"};
      return std::nullopt;
    }
    std::optional<Expression> expression =
        Expression::parse(text.substr(brace + 1, close - brace - 1), error);
    if (!expression) {
      error.begin += brace + 1;
      error.end += brace + 1;
      return std::nullopt;
    }
    path.parts.push_back({"", std::move(expression), brace + 1});
    at = close + 1;
  }
  if (path.parts.empty()) {
    error = {0, text.size(), "the path is empty"};
    return std::nullopt;
  }
  return path;
}

std::optional<std::string> PathTemplate::evaluate(const Lookup &lookup,
                                                  TextError &error) const {
  std::string path;
  for (const Part &part : parts) {
    if (!part.expression) {
      path += part.text;
      continue;
    }
    std::optional<Scalar> value = part.expression->evaluate(lookup, error);
    if (value && value->is(Scalar::Kind::Real)) {
      error = {0, 0, "expected an integer, got " + value->str()};
      value.reset();
    }
    if (!value) {
      error.begin += part.begin;
      error.end += part.begin;
      return std::nullopt;
    }
    path += value->str();
  }
  return path;
}

std::vector<NameUse> PathTemplate::names() const {
  std::vector<NameUse> all;
  for (const Part &part : parts) {
    if (part.expression) {
      for (const NameUse &use : part.expression->names()) {
        all.push_back({use.name, use.begin + part.begin});
      }
    }
  }
  return all;
}

} // namespace hova::frontend
