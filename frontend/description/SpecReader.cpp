//===- SpecReader.cpp - Leaves of a description ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Messages, and the small things that every section is made of: names, numbers
// that may be expressions, names of values.
//
//===----------------------------------------------------------------------===//

#include "frontend/description/SpecReader.h"
#include "frontend/reader/Suggest.h"

#include <algorithm>

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;
using reader::Range;

Diagnostic &SpecReader::error(const Node &node, const std::string &message) {
  return errorAt(node.range, node, message);
}

Diagnostic &SpecReader::errorAt(Range range, const Node &node,
                                const std::string &message) {
  // Nobody sees the pointer of an error that is only counted.
  return diagnostics.error(range, message,
                           diagnostics.isFull() ? "" : node.pointer());
}

Diagnostic &SpecReader::errorInside(const Node &node, const TextError &inner) {
  const reader::Source &source = diagnostics.source();
  Range range{source.offsetInString(node.range, inner.begin),
              source.offsetInString(node.range, inner.end)};
  return errorAt(range, node, inner.message);
}

void SpecReader::suggestFor(Diagnostic &diagnostic, std::string_view word,
                            const std::vector<std::string> &candidates) {
  if (diagnostics.isFull()) {
    return;
  }
  std::string canonical(canonicalWord(word));
  bool offered = std::find(candidates.begin(), candidates.end(), canonical) !=
                 candidates.end();
  if (offered) {
    diagnostics.suggest(diagnostic, canonical);
  } else {
    diagnostics.suggestFrom(diagnostic, word, candidates);
  }
}

void SpecReader::suggestNearest(Diagnostic &diagnostic, std::string_view word,
                                const std::vector<std::string> &candidates) {
  size_t notes = diagnostic.notes.size();
  suggestFor(diagnostic, word, candidates);
  if (diagnostic.fixIts.empty()) {
    diagnostic.notes.resize(notes);
  }
}

void SpecReader::missing(const Node &node, const std::string &key,
                         const std::string &message) {
  if (!misspelt.count({&node, key})) {
    errorAt({node.range.begin, node.range.begin + 1}, node, message);
  }
}

bool SpecReader::expect(const Node &node, Node::Kind kind, const char *what) {
  if (node.is(kind)) {
    return true;
  }
  error(node, std::string(what) + " must be " + reader::describe(kind) +
                  ", got " + reader::describe(node.kind));
  return false;
}

std::vector<const reader::Member *>
SpecReader::uniqueMembers(const Node &object) {
  std::vector<const Member *> members;
  for (const Member &member : object.members) {
    if (!member.repeated) {
      members.push_back(&member);
    }
  }
  return members;
}

void SpecReader::checkKeys(const Node &object,
                           const std::vector<std::string> &known,
                           const std::string &what) {
  for (const Member *member : uniqueMembers(object)) {
    if (std::find(known.begin(), known.end(), member->key) == known.end()) {
      Diagnostic &unknown =
          errorAt(member->keyRange, *member->value,
                  "unknown key " + inQuotes(member->key) + " in " + what);
      suggestFor(unknown, member->key, known);
      for (const reader::FixIt &fix : unknown.fixIts) {
        // The replacement has its quotes.
        misspelt.emplace(&object,
                         fix.replacement.substr(1, fix.replacement.size() - 2));
      }
    }
  }
}

bool SpecReader::checkCount(const Node &node, size_t count, size_t limit,
                            const char *what) {
  if (count <= limit) {
    return true;
  }
  error(node, std::to_string(count) + " " + what + ", more than the limit of " +
                  std::to_string(limit));
  return false;
}

bool SpecReader::countTerms(const Node &node, size_t more) {
  termCount += more;
  if (!hasManyTerms()) {
    return true;
  }
  error(node, "the expressions of this file have more than " +
                  std::to_string(SpecLimits::terms) +
                  " numbers, names and operators");
  return false;
}

bool SpecReader::checkName(std::string_view name, Range range, const Node &node,
                           const char *what) {
  if (name.size() > SpecLimits::nameBytes) {
    errorAt(range, node,
            std::string(what) + " " + inQuotes(name) + " has " +
                std::to_string(name.size()) +
                " letters, more than the limit of " +
                std::to_string(SpecLimits::nameBytes));
    return false;
  }
  if (isName(name)) {
    return true;
  }
  errorAt(range, node,
          std::string(what) + " " + inQuotes(name) +
              " must be letters, digits and underscores after a letter");
  return false;
}

std::optional<std::string> SpecReader::stringOf(const Node &node,
                                                const char *what) {
  if (!expect(node, Node::Kind::String, what)) {
    return std::nullopt;
  }
  return node.text;
}

/// Whether brackets follow at `at`: what is named in front of them is a list.
static bool isIndexed(std::string_view text, size_t at) {
  at = std::min(text.find_first_not_of(" \t", at), text.size());
  return at < text.size() && text[at] == '[';
}

bool SpecReader::checkScalars(const Node &node,
                              const std::vector<NameUse> &names,
                              const NameScope &scope, size_t shift) {
  bool known = true;
  for (const NameUse &use : names) {
    if (scope.hasScalar(use.name)) {
      continue;
    }
    known = false;
    if (!knowsParameters || scope.lacksScalars) {
      ++unsaid;
      continue;
    }
    TextError place{use.begin + shift, use.begin + shift + use.name.size(), ""};
    auto later = scope.laterScalars.find(use.name);
    if (later != scope.laterScalars.end()) {
      place.message = inQuotes(use.name) +
                      " is defined later; an expression knows what stands "
                      "before it";
      errorInside(node, place).notes.push_back({"defined here", later->second});
    } else if (use.name == "index") {
      place.message = "\"index\" counts repetitions: it is known in a layer "
                      "with \"repeat\", and inside of blocks";
      errorInside(node, place);
    } else if (isIndexed(node.text, place.end)) {
      place.message = "values cannot be read here, only in the \"score\" and "
                      "\"keep\" of an attention, and no parameter is a list " +
                      inQuotes(use.name);
      errorInside(node, place);
    } else {
      place.message = "unknown name " + inQuotes(use.name) +
                      "; expressions know parameters, arguments and index";
      Diagnostic &unknown = errorInside(node, place);
      std::vector<std::string> others = scope.allScalars();
      if (others.empty() && !diagnostics.isFull()) {
        unknown.notes.push_back({"a parameter is declared beside \"inputs\": "
                                 "\"parameters\": {" +
                                     inQuotes(use.name) + ": 8}",
                                 std::nullopt});
      } else if (!diagnostics.isFull()) {
        suggestFor(unknown, use.name, others);
      }
    }
  }
  return known;
}

std::optional<Setting> SpecReader::listSetting(const Node &node) {
  if (!checkCount(node, node.elements.size(), SpecLimits::values,
                  "elements of a list")) {
    return std::nullopt;
  }
  std::vector<Scalar> elements;
  for (const Node *element : node.elements) {
    std::optional<Scalar> value = plainScalar(*element);
    if (!value) {
      return std::nullopt;
    }
    elements.push_back(std::move(*value));
  }
  Setting setting;
  setting.node = &node;
  setting.literal = Scalar::ofList(std::move(elements));
  return setting;
}

/// The literal that `node` is, if it is one of the right kind.
static std::optional<Scalar> literalOf(const reader::Node &node,
                                       SettingKind kind) {
  using Kind = reader::Node::Kind;
  bool any = kind == SettingKind::Any;
  if (node.is(Kind::Integer) &&
      (any || kind == SettingKind::Integer || kind == SettingKind::Number)) {
    return Scalar::ofInteger(node.integer);
  }
  if (node.is(Kind::Real) && (any || kind == SettingKind::Number)) {
    return Scalar::ofReal(node.real);
  }
  if (node.is(Kind::Boolean) && (any || kind == SettingKind::Boolean)) {
    return Scalar::ofBoolean(node.boolean);
  }
  return std::nullopt;
}

static std::string joined(const std::vector<std::string> &words) {
  // A longer list helps nobody.
  constexpr size_t mostListed = 40;
  std::string list;
  for (size_t i = 0; i < std::min(words.size(), mostListed); ++i) {
    list += (list.empty() ? "" : ", ") + words[i];
  }
  list += words.size() > mostListed ? ", ..." : "";
  return list;
}

/// "a number" and so on, with what a string may be.
static std::string wanted(SettingKind kind,
                          const std::vector<std::string> &words) {
  std::string otherwise = " or an expression";
  if (!words.empty()) {
    otherwise = ", an expression or " + joined(words);
  }
  switch (kind) {
  case SettingKind::Integer:
    return "an integer" + otherwise;
  case SettingKind::Number:
    return "a number" + otherwise;
  case SettingKind::Boolean:
    return "a boolean" + otherwise;
  default:
    return words.empty() ? "a word, a number or an expression"
                         : "one word of a list";
  }
}

std::optional<std::string>
SpecReader::wordOf(const Node &node, const std::vector<std::string> &words) {
  if (!node.is(Node::Kind::String)) {
    error(node, "expected one word of " + joined(words) + ", got " +
                    reader::describe(node.kind));
    return std::nullopt;
  }
  if (std::find(words.begin(), words.end(), node.text) != words.end()) {
    return node.text;
  }
  Diagnostic &unknown = error(node, "unknown word " + inQuotes(node.text) +
                                        "; expected " + joined(words));
  suggestNearest(unknown, node.text, words);
  return std::nullopt;
}

std::optional<Setting>
SpecReader::parameterValue(const Node &node, const NameScope &scope,
                           const std::vector<Scalar> &legal) {
  if (node.is(Node::Kind::Array)) {
    return listSetting(node);
  }
  std::vector<std::string> words;
  for (const Scalar &value : legal) {
    if (value.is(Scalar::Kind::Text)) {
      words.push_back(value.text);
    }
  }
  bool isWord = node.is(Node::Kind::String) && !words.empty();
  return setting(node, isWord ? SettingKind::Word : SettingKind::Any, scope,
                 words);
}

std::vector<std::pair<std::string, Setting>>
SpecReader::readParameterValues(const Node &node, const char *what) {
  std::vector<std::pair<std::string, Setting>> values;
  if (!expect(node, Node::Kind::Object, what)) {
    return values;
  }
  for (const Member *member : uniqueMembers(node)) {
    const ParameterSpec *parameter = parameterNames.count(member->key)
                                         ? spec.findParameter(member->key)
                                         : nullptr;
    if (!parameter) {
      Diagnostic &unknown = errorAt(member->keyRange, *member->value,
                                    "unknown key " + inQuotes(member->key) +
                                        " in " + std::string(what));
      if (!diagnostics.isFull()) {
        suggestFor(unknown, member->key, parameterScope().allScalars());
      }
      continue;
    }
    // Nothing has a name here: parameters come after these values.
    if (auto literal =
            parameterValue(*member->value, NameScope(), parameter->values)) {
      values.push_back({member->key, std::move(*literal)});
    }
  }
  return values;
}

/// Whether a value that needs no names is of the kind that is wanted; else an
/// error, even where no use of the layer ever evaluates it.
bool SpecReader::checkConstant(const Node &node, SettingKind kind,
                               const Scalar &value) {
  std::string got = describe(value.kind) + (" (" + value.str() + ")");
  if (kind == SettingKind::Integer && !value.is(Scalar::Kind::Integer)) {
    error(node, "expected an integer, got " + got);
    return false;
  }
  if (kind == SettingKind::Boolean && !value.is(Scalar::Kind::Boolean)) {
    error(node, "expected a boolean, got " + got);
    return false;
  }
  if (kind != SettingKind::Number) {
    return true;
  }
  std::string problem = value.isNumber() ? problemInF32(value.real)
                                         : "expected a number, got " + got;
  if (!problem.empty()) {
    error(node, problem);
  }
  return problem.empty();
}

std::optional<Setting>
SpecReader::setting(const Node &node, SettingKind kind, const NameScope &scope,
                    const std::vector<std::string> &words) {
  Setting setting;
  setting.node = &node;
  if (std::optional<Scalar> literal = literalOf(node, kind)) {
    if (!checkConstant(node, kind, *literal)) {
      return std::nullopt;
    }
    setting.literal = std::move(literal);
    return setting;
  }
  if (!node.is(Node::Kind::String)) {
    error(node, "expected " + wanted(kind, words) + ", got " +
                    reader::describe(node.kind));
    return std::nullopt;
  }
  if (std::find(words.begin(), words.end(), node.text) != words.end()) {
    setting.literal = Scalar::ofText(node.text);
    return setting;
  }
  bool isWord = kind == SettingKind::Word;
  bool isBoolean = node.text == "true" || node.text == "false";
  bool isBareWord = isName(node.text) && !scope.hasScalar(node.text);
  if (isBareWord && (isWord || (!words.empty() && !isBoolean))) {
    if (!knowsParameters || scope.lacksScalars) {
      ++unsaid;
      return std::nullopt;
    }
    std::string list = words.empty() ? "a parameter" : joined(words);
    Diagnostic &unknown =
        error(node, "unknown word " + inQuotes(node.text) + "; expected " +
                        (isWord ? list : wanted(kind, words)));
    if (!diagnostics.isFull()) {
      std::vector<std::string> candidates = scope.allScalars();
      candidates.insert(candidates.end(), words.begin(), words.end());
      suggestNearest(unknown, node.text, candidates);
    }
    return std::nullopt;
  }
  if (hasManyTerms()) {
    return std::nullopt;
  }
  TextError failure;
  setting.expression = Expression::parse(node.text, failure);
  if (!setting.expression) {
    errorInside(node, failure);
    return std::nullopt;
  }
  if (!countTerms(node, setting.expression->terms()) ||
      !checkScalars(node, setting.expression->names(), scope)) {
    return std::nullopt;
  }
  if (!setting.expression->names().empty()) {
    return setting;
  }
  setting.literal = setting.expression->evaluate(
      [](std::string_view) { return nullptr; }, failure);
  if (!setting.literal) {
    errorInside(node, failure);
    return std::nullopt;
  }
  bool isWordOfList = setting.literal->is(Scalar::Kind::Text) &&
                      std::find(words.begin(), words.end(),
                                setting.literal->text) != words.end();
  return isWordOfList || checkConstant(node, kind, *setting.literal)
             ? std::optional<Setting>(std::move(setting))
             : std::nullopt;
}

/// Whether what `reference` names is an input or an earlier layer.
bool SpecReader::checkValue(const Node &node, const Reference &reference,
                            const NameScope &scope) {
  const std::string &base = reference.base;
  if (scope.values.count(base)) {
    return true;
  }
  TextError place{reference.begin, reference.begin + base.size(), ""};
  auto later = scope.later.find(base);
  if (later != scope.later.end()) {
    place.message =
        "value " + inQuotes(base) + " is read before it is computed";
    errorInside(node, place).notes.push_back({"computed here", later->second});
    return false;
  }
  if (!knowsInputs || scope.lacksNames) {
    ++unsaid;
    return false;
  }
  place.message = "unknown value " + inQuotes(base);
  Diagnostic &unknown = errorInside(node, place);
  std::vector<std::string> candidates;
  if (scope.values.size() <= reader::mostCandidates) {
    for (const auto &value : scope.values) {
      candidates.push_back(value.first);
    }
  }
  suggestFor(unknown, base, candidates);
  return false;
}

std::optional<ValueUse> SpecReader::valueUse(const Node &node,
                                             const NameScope &scope) {
  if (!expect(node, Node::Kind::String, "the name of a value")) {
    return std::nullopt;
  }
  if (hasManyTerms()) {
    return std::nullopt;
  }
  TextError failure;
  std::optional<Reference> reference = Reference::parse(node.text, failure);
  if (!reference) {
    errorInside(node, failure);
    return std::nullopt;
  }
  if (!checkValue(node, *reference, scope) ||
      !countTerms(node, reference->terms()) ||
      !checkScalars(node, reference->names(), scope)) {
    return std::nullopt;
  }
  return ValueUse{&node, std::move(*reference)};
}

std::vector<ValueUse> SpecReader::valueUses(const Node &node,
                                            const NameScope &scope) {
  std::vector<ValueUse> uses;
  if (!node.is(Node::Kind::Array)) {
    if (std::optional<ValueUse> use = valueUse(node, scope)) {
      uses.push_back(std::move(*use));
    }
    return uses;
  }
  if (node.elements.empty()) {
    error(node, "an empty list of values");
  }
  for (const Node *element : node.elements) {
    if (std::optional<ValueUse> use = valueUse(*element, scope)) {
      uses.push_back(std::move(*use));
    }
  }
  return uses;
}

/// Why a list can be written into no description; empty: it can.
static std::string problemWithList(const Scalar &given) {
  const std::vector<Scalar> &elements = *given.elements;
  if (elements.size() > SpecLimits::values) {
    return " has at most " + std::to_string(SpecLimits::values) +
           " elements, got " + std::to_string(elements.size());
  }
  bool isNested =
      std::any_of(elements.begin(), elements.end(), [](const Scalar &element) {
        return element.is(Scalar::Kind::List);
      });
  return isNested ? " is a list without lists in it, got " +
                        reader::printable(given.str())
                  : "";
}

std::string ParameterSpec::problemWith(const Scalar &given) const {
  if (given.is(Scalar::Kind::List)) {
    std::string problem = problemWithList(given);
    if (!problem.empty()) {
      return "parameter " + inQuotes(name) + problem;
    }
  }
  // The default tells the kind, unless it is an expression.
  const std::optional<Scalar> &initial = value.literal;
  bool number = initial && initial->isNumber() && given.isNumber();
  bool whole = !initial || !initial->is(Scalar::Kind::Integer) ||
               given.is(Scalar::Kind::Integer);
  if (initial && given.kind != initial->kind && !(number && whole)) {
    return "parameter " + inQuotes(name) + " is " + describe(initial->kind);
  }
  std::string problem;
  bool listed = values.empty() ||
                std::find(values.begin(), values.end(), given) != values.end();
  if (!listed) {
    for (const Scalar &legal : values) {
      problem += (problem.empty() ? " must be one of " : ", ") + legal.str();
    }
  } else if ((minimum || maximum) && !given.isNumber()) {
    problem = " must be a number";
  } else if (minimum && given.real < *minimum) {
    problem = " must be at least " + Scalar::ofReal(*minimum).str();
  } else if (maximum && given.real > *maximum) {
    problem = " must be at most " + Scalar::ofReal(*maximum).str();
  }
  return problem.empty() ? ""
                         : "parameter " + inQuotes(name) + problem + ", got " +
                               reader::printable(given.str());
}

const BlockSpec *ModelSpec::findBlock(std::string_view name) const {
  auto found = blockIndex.find(name);
  return found == blockIndex.end() ? nullptr : &blocks[found->second];
}

const ParameterSpec *ModelSpec::findParameter(std::string_view name) const {
  auto found = parameterIndex.find(name);
  return found == parameterIndex.end() ? nullptr : &parameters[found->second];
}

const CheckpointSpec *ModelSpec::findCheckpoint(std::string_view name) const {
  for (const CheckpointSpec &checkpoint : checkpoints) {
    if (checkpoint.name == name) {
      return &checkpoint;
    }
  }
  return nullptr;
}

} // namespace hova::frontend
