//===- Config.h - The configuration of a model's folder -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A `config.json` as libraries save it: keys, each with its value and its place
// for messages. It comes from anywhere, so it has the limits of a description.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_CONFIG_H
#define HOVA_FRONTEND_FOLDER_CONFIG_H

#include "frontend/expression/Expression.h"
#include "frontend/reader/Json.h"

#include <map>

namespace hova::frontend {

class Config {
public:
  /// Check `isRead` before anything else: of a file that is no JSON, or of
  /// another kind, there are messages alone.
  explicit Config(std::shared_ptr<const reader::Source> source,
                  reader::Node::Kind kind = reader::Node::Kind::Object);

  bool isRead() const { return isWhole; }
  const reader::Node &root() const { return *document->root(); }

  /// The value of `key`, which may be one of an object, `rope.theta`; null if
  /// there is none. A key without a value has that of its alias.
  const reader::Node *find(std::string_view key) const;

  /// Lets the key `other`, if it is an object, take the place of the object
  /// `key`: what is in it is then found by the names of what was there.
  void replace(const std::string &key, const std::string &other);
  /// The name in the file of what is found as `key`.
  std::string nameOf(std::string_view key) const;
  /// From now on the key `alias`, and those of the object that it may be, are
  /// found by the name `key`.
  void addAlias(std::string alias, std::string key) {
    aliases.push_back({std::move(alias), std::move(key)});
  }
  /// `rope.theta` for its alias `positions.theta`; other keys as they are.
  std::string meantBy(std::string_view key) const;

  /// Adds a key that stands in another file of the folder. It has a value and
  /// no place.
  void add(std::string key, Scalar value) {
    added.emplace(std::move(key), std::move(value));
  }
  const std::map<std::string, Scalar, std::less<>> &addedKeys() const {
    return added;
  }
  /// The value of an added key; null if there is none.
  const Scalar *findAdded(std::string_view key) const {
    auto found = added.find(key);
    return found == added.end() ? nullptr : &found->second;
  }

  /// The word that `key` is; empty if it is none.
  std::string wordOf(std::string_view key) const;

  /// A value for expressions; of an object the list of its values. Nothing for
  /// null, and for what holds one.
  static std::optional<Scalar> scalarOf(const reader::Node &node);

  /// The value as it is written, on one line and cut where it is long.
  std::string textOf(const reader::Node &node) const;

  reader::Diagnostic &error(const reader::Node &node,
                            const std::string &message) {
    return messages.error(node.range, message, node.pointer());
  }
  /// An error about a key that is not there.
  reader::Diagnostic &errorAtStart(const std::string &message) {
    size_t begin = root().range.begin;
    return messages.error({begin, begin + 1}, message);
  }

  reader::Diagnostics &diagnostics() { return messages; }

private:
  reader::Diagnostics messages;
  std::unique_ptr<reader::Document> document;
  bool isWhole = false;
  std::map<std::string, Scalar, std::less<>> added;
  /// By the object, what took its place.
  std::map<std::string, std::string, std::less<>> replaced;
  std::vector<std::pair<std::string, std::string>> aliases;
};

/// Whether two values are the same, members of objects in any order.
bool areEqual(const reader::Node &a, const reader::Node &b);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_CONFIG_H
