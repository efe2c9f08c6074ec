//===- Config.cpp - The configuration of a model's folder -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/Config.h"
#include "frontend/description/ModelSpec.h"

namespace hova::frontend {

using reader::Member;
using reader::Node;

Config::Config(std::shared_ptr<const reader::Source> source, Node::Kind kind)
    : messages(std::move(source)) {
  document = reader::parseJson(messages);
  if (!document || messages.hasErrors()) {
    return;
  }
  isWhole = root().is(kind);
  if (!isWhole) {
    error(root(), std::string("expected ") + reader::describe(kind) + ", got " +
                      reader::describe(root().kind));
  }
}

/// `key` in `object`: a key may have dots itself, so the longest name counts.
static const Node *findIn(const Node &object, std::string_view key) {
  if (const Node *value = object.get(key)) {
    return value;
  }
  for (size_t dot = key.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = key.rfind('.', dot - 1)) {
    const Node *inner = object.get(key.substr(0, dot));
    const Node *found = inner && inner->is(Node::Kind::Object)
                            ? findIn(*inner, key.substr(dot + 1))
                            : nullptr;
    if (found) {
      return found;
    }
  }
  return nullptr;
}

/// `key` with `to` in the place of `from`, if it is that key or one below it.
static std::optional<std::string>
renamed(std::string_view key, std::string_view from, std::string_view to) {
  std::string_view rest = key.substr(std::min(from.size(), key.size()));
  bool isBelow = rest.empty() || rest[0] == '.';
  if (key.substr(0, from.size()) != from || !isBelow) {
    return std::nullopt;
  }
  return std::string(to) + std::string(rest);
}

const Node *Config::find(std::string_view key) const {
  const Node *value = findIn(root(), nameOf(key));
  for (const auto &[alias, meant] : aliases) {
    bool isOpen = !value || value->is(Node::Kind::Null);
    std::optional<std::string> other = renamed(key, meant, alias);
    const Node *found = isOpen && other ? findIn(root(), *other) : nullptr;
    value = found ? found : value;
  }
  return value;
}

void Config::replace(const std::string &key, const std::string &other) {
  const Node *value = find(other);
  if (value && value->is(Node::Kind::Object)) {
    replaced.emplace(key, other);
  }
}

std::string Config::nameOf(std::string_view key) const {
  for (const auto &[object, other] : replaced) {
    std::optional<std::string> name = renamed(key, object, other);
    if (name && key != object) {
      return *name;
    }
  }
  return std::string(key);
}

std::string Config::meantBy(std::string_view key) const {
  for (const auto &[alias, meant] : aliases) {
    if (std::optional<std::string> other = renamed(key, alias, meant)) {
      return *other;
    }
  }
  return std::string(key);
}

std::string Config::wordOf(std::string_view key) const {
  const Node *value = find(key);
  return value && value->is(Node::Kind::String) ? value->text : "";
}

std::optional<Scalar> Config::scalarOf(const Node &node) {
  if (!node.is(Node::Kind::Array) && !node.is(Node::Kind::Object)) {
    return plainValue(node);
  }
  std::vector<const Node *> nodes(node.elements.begin(), node.elements.end());
  for (const Member &member : node.members) {
    nodes.push_back(member.value);
  }
  std::vector<Scalar> elements;
  for (const Node *element : nodes) {
    std::optional<Scalar> value = scalarOf(*element);
    if (!value) {
      return std::nullopt;
    }
    elements.push_back(std::move(*value));
  }
  return Scalar::ofList(std::move(elements));
}

std::string Config::textOf(const Node &node) const {
  constexpr size_t mostShown = 60;
  std::string_view text = messages.source().text().substr(
      node.range.begin, node.range.end - node.range.begin);
  std::string shown;
  for (char c : text.substr(0, mostShown)) {
    bool isBlank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!isBlank || (!shown.empty() && shown.back() != ' ')) {
      shown += isBlank ? ' ' : c;
    }
  }
  return reader::escaped(shown) + (text.size() > mostShown ? "..." : "");
}

bool areEqual(const Node &a, const Node &b) {
  if (a.isNumber() && b.isNumber()) {
    return a.is(Node::Kind::Integer) && b.is(Node::Kind::Integer)
               ? a.integer == b.integer
               : a.real == b.real;
  }
  if (a.kind != b.kind || a.boolean != b.boolean || a.text != b.text ||
      a.elements.size() != b.elements.size() ||
      a.members.size() != b.members.size()) {
    return false;
  }
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!areEqual(*a.elements[i], *b.elements[i])) {
      return false;
    }
  }
  for (const Member &member : a.members) {
    const Node *other = b.get(member.key);
    if (!other || !areEqual(*member.value, *other)) {
      return false;
    }
  }
  return true;
}

} // namespace hova::frontend
