//===- SettledText.cpp - A description with its parameters set ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/SettledText.h"
#include "frontend/reader/Text.h"

#include <algorithm>

namespace hova::frontend {

using reader::Member;
using reader::Node;

namespace {

struct Edit {
  reader::Range range;
  std::string text;
};

/// A value as the default of a parameter: where no words are listed, text is an
/// expression.
std::string asJson(const Scalar &value, bool isWord) {
  if (!value.is(Scalar::Kind::Text)) {
    return value.str();
  }
  std::string text = reader::jsonEscaped(value.text);
  return isWord ? '"' + text + '"' : "\"'" + text + "'\"";
}

bool isSettled(const Member &member) {
  return member.key == "config" || member.key == "set";
}

/// Takes the settled members out of a source, which has rules beside them, and
/// the commas that are then too many.
void removeSettled(const Node &source, std::vector<Edit> &edits) {
  const std::vector<Member> &members = source.members;
  size_t count = members.size();
  while (count > 0 && isSettled(members[count - 1])) {
    --count;
  }
  if (count > 0 && count < members.size()) {
    edits.push_back(
        {{members[count - 1].value->range.end, members.back().value->range.end},
         ""});
  }
  for (size_t i = 0; i + 1 < count; ++i) {
    if (isSettled(members[i])) {
      edits.push_back(
          {{members[i].keyRange.begin, members[i + 1].keyRange.begin}, ""});
    }
  }
}

} // namespace

std::string
settledText(const ModelSpec &spec, const CheckpointSpec &source,
            const std::vector<std::pair<std::string, Scalar>> &parameters) {
  std::vector<Edit> edits;
  auto settle = [&](const std::string &name, const Scalar &value) {
    const ParameterSpec &parameter = *spec.findParameter(name);
    edits.push_back({parameter.value.node->range,
                     asJson(value, !parameter.values.empty())});
  };
  for (const auto &[name, value] : parameters) {
    settle(name, value);
  }
  for (const auto &[name, value] : source.set) {
    bool isGiven = std::any_of(
        parameters.begin(), parameters.end(),
        [&, &name = name](const auto &other) { return other.first == name; });
    if (!isGiven && value.literal) {
      settle(name, *value.literal);
    }
  }
  removeSettled(*source.node, edits);
  std::sort(edits.begin(), edits.end(), [](const Edit &a, const Edit &b) {
    return a.range.begin > b.range.begin;
  });
  std::string text(spec.source->text());
  for (const Edit &edit : edits) {
    text.replace(edit.range.begin, edit.range.end - edit.range.begin,
                 edit.text);
  }
  return text;
}

} // namespace hova::frontend
