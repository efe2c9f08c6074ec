//===- CheckpointReader.cpp - The section of public checkpoints -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/description/SpecReader.h"

#include <algorithm>

namespace hova::frontend {

using reader::inQuotes;
using reader::Member;
using reader::Node;

void SpecReader::readCheckpoints(const Node &node) {
  if (!expect(node, Node::Kind::Object, "\"checkpoints\"")) {
    return;
  }
  if (!checkCount(node, node.members.size(), SpecLimits::sources,
                  "checkpoint sources")) {
    return;
  }
  for (const Member *member : uniqueMembers(node)) {
    readCheckpoint(*member);
  }
}

void SpecReader::readCheckpoint(const Member &member) {
  CheckpointSpec checkpoint;
  checkpoint.name = member.key;
  checkpoint.node = member.value;
  const Node &node = *member.value;
  if (!expect(node, Node::Kind::Object, "a checkpoint source")) {
    return;
  }
  checkKeys(node, {"config", "set", "ignore", "rules"}, "a checkpoint source");
  NameScope scope = parameterScope();
  if (const Node *set = node.get("set")) {
    checkpoint.set = readParameterValues(*set, "\"set\"");
  }
  if (const Node *ignore = node.get("ignore");
      ignore && expect(*ignore, Node::Kind::Array, "\"ignore\"")) {
    checkpoint.ignore = readPatterns(*ignore);
    checkBrackets(*ignore, checkpoint.ignore, /*mayList=*/false);
  }
  if (const Node *config = node.get("config")) {
    checkpoint.config = readConfig(*config);
  }
  const Node *rules = node.get("rules");
  if (!rules) {
    missing(node, "rules", "missing key \"rules\" in a checkpoint source");
  } else if (expect(*rules, Node::Kind::Array, "\"rules\"") &&
             checkCount(*rules, rules->elements.size(), SpecLimits::rules,
                        "rules")) {
    for (const Node *rule : rules->elements) {
      if (auto parsed = readRule(*rule, scope)) {
        checkpoint.rules.push_back(std::move(*parsed));
      }
    }
  }
  spec.checkpoints.push_back(std::move(checkpoint));
}

/// Whether the words of a list, `a|b`, are all there.
static bool isList(std::string_view words) {
  return words.front() != '|' && words.back() != '|' &&
         words.find("||") == std::string_view::npos;
}

/// Whether the brackets of a name hold prefixes that it begins with, as many as
/// there are, and, of a name that is looked for, one list of words.
static bool areBracketsRight(std::string_view pattern, bool mayList) {
  bool isStart = true;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == ']') {
      return false;
    }
    if (pattern[at] != '[') {
      isStart = false;
      continue;
    }
    size_t close = pattern.find_first_of("[]{}*", at + 1);
    if (close == std::string::npos || pattern[close] != ']' ||
        close == at + 1) {
      return false;
    }
    std::string_view inside = pattern.substr(at + 1, close - at - 1);
    bool isPrefix = inside.find('|') == std::string_view::npos;
    if (isPrefix ? !isStart : !mayList || !isList(inside)) {
      return false;
    }
    isStart &= isPrefix;
    mayList &= isPrefix;
    at = close;
  }
  return true;
}

void SpecReader::checkBrackets(const Node &node,
                               const std::vector<std::string> &patterns,
                               bool mayList) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!areBracketsRight(patterns[i], mayList)) {
      error(node.is(Node::Kind::Array) ? *node.elements[i] : node,
            "brackets hold a prefix that files may leave out, at the start of "
            "a name, such as [bert.]pooler.weight" +
                std::string(mayList ? ", or one list of words of which a file "
                                      "has one, such as norm.[weight|gamma]"
                                    : ""));
    }
  }
}

std::vector<std::string> SpecReader::readPatterns(const Node &node) {
  std::vector<std::string> patterns;
  if (node.is(Node::Kind::Array) &&
      !checkCount(node, node.elements.size(), SpecLimits::ruleEntries,
                  "names of tensors")) {
    return patterns;
  }
  if (!node.is(Node::Kind::Array)) {
    if (auto text = stringOf(node, "the name of a tensor")) {
      patterns.push_back(*text);
    }
    return patterns;
  }
  for (const Node *element : node.elements) {
    if (auto text = stringOf(*element, "the name of a tensor")) {
      patterns.push_back(*text);
    }
  }
  return patterns;
}

/// The names in braces of a pattern; false if a brace is alone.
static bool capturesOf(const std::string &pattern,
                       std::vector<std::string> &names) {
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '}') {
      return false;
    }
    if (pattern[at] == '{') {
      size_t close = pattern.find('}', at);
      if (close == std::string::npos) {
        return false;
      }
      names.push_back(pattern.substr(at + 1, close - at - 1));
      at = close;
    }
  }
  return true;
}

std::optional<RuleSpec> SpecReader::readRule(const Node &node,
                                             const NameScope &scope) {
  if (!expect(node, Node::Kind::Object, "a rule")) {
    return std::nullopt;
  }
  checkKeys(node, {"to", "from", "apply", "constant"}, "a rule");
  RuleSpec rule;
  rule.node = &node;
  const Node *to = node.get("to");
  const Node *from = node.get("from");
  const Node *constant = node.get("constant");
  if (!to || !from == !constant) {
    error(node, "a rule has \"to\", and either \"from\" or \"constant\"");
    return std::nullopt;
  }
  for (const Node *list : {to, from}) {
    if (list && list->is(Node::Kind::Array) && list->elements.empty()) {
      error(*list, list == to ? "a rule makes at least one weight"
                              : "a rule reads at least one tensor");
      return std::nullopt;
    }
  }
  rule.to = readPatterns(*to);
  std::vector<std::string> captures;
  for (size_t i = 0; i < rule.to.size(); ++i) {
    std::vector<std::string> names;
    const Node &place = to->is(Node::Kind::Array) ? *to->elements[i] : *to;
    bool closed = capturesOf(rule.to[i], names);
    for (const std::string &name : names) {
      closed &= isName(name);
    }
    if (!closed) {
      error(place, "a pattern has names in braces, such as {i}");
      return std::nullopt;
    }
    std::sort(names.begin(), names.end());
    if (i == 0) {
      captures = names;
    } else if (names != captures) {
      error(place, "all patterns of one rule have the same names in braces");
    }
  }
  const Node *apply = node.get("apply");
  if (constant && apply) {
    error(*apply, "\"apply\" has no meaning for a constant");
  }
  if (constant) {
    rule.constant = setting(*constant, SettingKind::Number, scope);
    return rule;
  }
  rule.from = readPatterns(*from);
  checkBrackets(*from, rule.from, /*mayList=*/true);
  for (size_t i = 0; i < rule.from.size(); ++i) {
    std::vector<std::string> names;
    const Node &place =
        from->is(Node::Kind::Array) ? *from->elements[i] : *from;
    if (!capturesOf(rule.from[i], names)) {
      error(place, "a pattern has names in braces, such as {i}");
      continue;
    }
    for (const std::string &name : names) {
      if (std::find(captures.begin(), captures.end(), name) == captures.end()) {
        error(place, "unknown name " + inQuotes(name) +
                         " in braces; \"to\" does not have it");
      }
    }
  }
  if (apply && expect(*apply, Node::Kind::Array, "\"apply\"") &&
      checkCount(*apply, apply->elements.size(), SpecLimits::ruleEntries,
                 "steps")) {
    for (const Node *step : apply->elements) {
      if (auto parsed = readStep(*step, scope)) {
        rule.steps.push_back(std::move(*parsed));
      }
    }
  }
  return rule;
}

std::vector<Setting> SpecReader::readNumbers(const Node &node,
                                             const NameScope &scope,
                                             SettingKind kind) {
  std::vector<Setting> numbers;
  if (expect(node, Node::Kind::Array, "this step")) {
    for (const Node *element : node.elements) {
      if (auto value = setting(*element, kind, scope)) {
        numbers.push_back(std::move(*value));
      }
    }
  }
  return numbers;
}

void SpecReader::readSlice(const Node &node, StepSpec &step,
                           const NameScope &scope) {
  step.kind = StepSpec::Kind::Slice;
  if (!expect(node, Node::Kind::Object, "\"slice\"")) {
    return;
  }
  checkKeys(node, {"axis", "start", "end"}, "\"slice\"");
  for (auto [key, slot] :
       {std::pair("axis", &step.axis), std::pair("start", &step.start),
        std::pair("end", &step.end)}) {
    if (const Node *value = node.get(key)) {
      *slot = setting(*value, SettingKind::Integer, scope);
    }
  }
}

/// As many factors as summands.
void SpecReader::readAbsorb(const Node &node, StepSpec &step,
                            const NameScope &scope) {
  step.kind = StepSpec::Kind::Absorb;
  if (!expect(node, Node::Kind::Object, "\"absorb\"")) {
    return;
  }
  checkKeys(node, {"scale", "shift"}, "\"absorb\"");
  for (const char *key : {"scale", "shift"}) {
    const Node *value = node.get(key);
    if (!value) {
      missing(node, key, "missing key " + inQuotes(key) + " in \"absorb\"");
      return;
    }
    std::vector<Setting> numbers =
        readNumbers(*value, scope, SettingKind::Number);
    step.numbers.insert(step.numbers.end(), numbers.begin(), numbers.end());
  }
  const Node &scale = *node.get("scale"), &shift = *node.get("shift");
  if (scale.elements.size() != shift.elements.size() ||
      scale.elements.empty()) {
    error(node, "\"scale\" and \"shift\" have one number for each channel");
  }
}

std::optional<StepSpec> SpecReader::readStep(const Node &node,
                                             const NameScope &scope) {
  if (node.is(Node::Kind::Object)) {
    return readNamedStep(node, scope);
  }
  if (!wordOf(node, {"transpose"})) {
    return std::nullopt;
  }
  StepSpec step;
  step.node = &node;
  return step;
}

std::optional<StepSpec> SpecReader::readNamedStep(const Node &node,
                                                  const NameScope &scope) {
  checkKeys(node,
            {"transpose", "reshape", "slice", "concatenate", "split", "add",
             "multiply", "absorb"},
            "a step");
  if (node.members.size() != 1) {
    error(node, "a step has one key");
    return std::nullopt;
  }
  StepSpec step;
  step.node = &node;
  const std::string &key = node.members[0].key;
  const Node &value = *node.members[0].value;
  if (key == "transpose" || key == "reshape") {
    step.kind =
        key == "reshape" ? StepSpec::Kind::Reshape : StepSpec::Kind::Transpose;
    step.numbers = readNumbers(value, scope);
  } else if (key == "add" || key == "multiply") {
    step.kind = key == "add" ? StepSpec::Kind::Add : StepSpec::Kind::Multiply;
    auto number = setting(value, SettingKind::Number, scope);
    if (!number) {
      return std::nullopt;
    }
    step.numbers = {std::move(*number)};
  } else if (key == "slice") {
    readSlice(value, step, scope);
  } else if (key == "absorb") {
    readAbsorb(value, step, scope);
  } else {
    step.kind =
        key == "split" ? StepSpec::Kind::Split : StepSpec::Kind::Concatenate;
    step.axis = setting(value, SettingKind::Integer, scope);
  }
  return step;
}

} // namespace hova::frontend
