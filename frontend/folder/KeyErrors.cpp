//===- KeyErrors.cpp - Mistakes of a description, told at its keys --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/KeyErrors.h"
#include "frontend/reader/Text.h"

#include <algorithm>
#include <set>

namespace hova::frontend {

using reader::Diagnostic;
using reader::inQuotes;
using reader::Node;
using reader::Range;

namespace {

using Names = std::vector<std::string>;

bool isInName(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

/// The words of expressions in `text`, but for those in their quotes.
void addNames(std::string_view text, Names &names) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      i = std::min(text.find('\'', i + 1), text.size());
      continue;
    }
    size_t begin = i;
    while (i < text.size() && isInName(text[i])) {
      ++i;
    }
    if (i > begin) {
      names.emplace_back(text.substr(begin, i - begin));
    }
  }
}

/// The words of the values of a node: a layer says by others what it is called
/// and what it reads.
void addNames(const Node &node, Names &names) {
  if (node.is(Node::Kind::String)) {
    addNames(node.text, names);
  }
  for (const Node *element : node.elements) {
    addNames(*element, names);
  }
  for (const reader::Member &member : node.members) {
    constexpr std::string_view idle[] = {"name", "op", "input", "inputs"};
    if (std::find(std::begin(idle), std::end(idle), member.key) ==
        std::end(idle)) {
      addNames(*member.value, names);
    }
  }
}

/// Nodes around `range`, the innermost last.
std::vector<const Node *> nodesAround(const Node &root, Range range) {
  std::vector<const Node *> path = {&root};
  for (bool isDeeper = true; isDeeper;) {
    isDeeper = false;
    std::vector<const Node *> inner(path.back()->elements.begin(),
                                    path.back()->elements.end());
    for (const reader::Member &member : path.back()->members) {
      inner.push_back(member.value);
    }
    for (const Node *node : inner) {
      if (node->range.begin <= range.begin && range.end <= node->range.end) {
        path.push_back(node);
        isDeeper = true;
        break;
      }
    }
  }
  return path;
}

class Search {
public:
  Search(const ModelSpec &spec, const DecidingKeys &keys,
         const std::vector<ParameterOverride> &overrides)
      : spec(spec), keys(keys) {
    for (const ParameterOverride &value : overrides) {
      overridden.insert(value.name);
    }
    addMeanings(*spec.document->root());
  }

  /// The keys that a mistake is about, the likeliest first; none: it is about
  /// the description, or about what the command line says.
  std::vector<const DecidingKey *> keysOf(const Diagnostic &error) const;

private:
  void addMeanings(const Node &node);
  std::vector<const DecidingKey *> keysBehind(Names names) const;
  std::vector<const DecidingKey *> allKeysOf(const Diagnostic &error) const;

  const ModelSpec &spec;
  const DecidingKeys &keys;
  std::set<std::string> overridden;
  /// What names that are no parameters may stand for: values of layers that
  /// are constants, and arguments of blocks, wherever one is used.
  std::multimap<std::string, const Node *> meanings;
};

void Search::addMeanings(const Node &node) {
  const Node *name = node.get("name"), *value = node.get("value");
  if (name && value) {
    meanings.emplace(name->text, value);
  }
  const Node *arguments = node.get("block") ? node.get("arguments") : nullptr;
  if (arguments) {
    for (const reader::Member &member : arguments->members) {
      meanings.emplace(member.key, member.value);
    }
  }
  for (const Node *element : node.elements) {
    addMeanings(*element);
  }
  for (const reader::Member &member : node.members) {
    addMeanings(*member.value);
  }
}

/// The keys that decide parameters called `names`; where none does, those that
/// what these are made of is made of.
std::vector<const DecidingKey *> Search::keysBehind(Names names) const {
  std::set<std::string> seen;
  std::vector<const DecidingKey *> found;
  while (!names.empty() && found.empty()) {
    Names next;
    for (const std::string &name : names) {
      if (overridden.count(name)) {
        return {};
      }
      if (!seen.insert(name).second) {
        continue;
      }
      for (const DecidingKey &key : keys.keys) {
        if (key.parameter == name) {
          found.push_back(&key);
        }
      }
      const ParameterSpec *parameter = spec.findParameter(name);
      if (parameter && parameter->value.node) {
        addNames(*parameter->value.node, next);
      }
      auto [first, last] = meanings.equal_range(name);
      for (; first != last; ++first) {
        addNames(*first->second, next);
      }
    }
    names = std::move(next);
  }
  return found;
}

std::vector<const DecidingKey *>
Search::allKeysOf(const Diagnostic &error) const {
  if (!error.placed) {
    return {};
  }
  std::vector<const Node *> path =
      nodesAround(*spec.document->root(), error.range);
  // What `/parameters/heads` is about is `heads`.
  Names names;
  if (path.size() > 2 && path[1] == path[0]->get("parameters")) {
    names.push_back(path[1]->members[path[2]->index].key);
  }
  // A part of an expression, or else whatever the mistake is at.
  if (path.back()->is(Node::Kind::String)) {
    addNames(spec.source->text().substr(error.range.begin,
                                        error.range.end - error.range.begin),
             names);
  }
  std::vector<const DecidingKey *> found = keysBehind(std::move(names));
  // The rest of a layer, but not all layers.
  while (found.empty() && path.size() > 2 && !path.back()->get("layers") &&
         path.back() != path[path.size() - 2]->get("layers")) {
    Names around;
    addNames(*path.back(), around);
    found = keysBehind(std::move(around));
    path.pop_back();
  }
  return found;
}

std::vector<const DecidingKey *> Search::keysOf(const Diagnostic &error) const {
  std::vector<const DecidingKey *> found = allKeysOf(error);
  // The value of the message is that of a key, perhaps. If not, what is nothing
  // is what most mistakes are made of, and what the file has is likelier to be
  // wrong than what the library takes without it.
  auto rank = [&](const DecidingKey &key) {
    std::string got = "got " + key.value;
    bool isSaid =
        error.message.size() >= got.size() &&
        error.message.substr(error.message.size() - got.size()) == got;
    return isSaid ? 0 : (key.isNothing ? 1 : 3) + key.isMissing;
  };
  std::vector<const DecidingKey *> sorted;
  for (int i = 0; i <= 4; ++i) {
    for (const DecidingKey *key : found) {
      if (rank(*key) == i) {
        sorted.push_back(key);
      }
    }
  }
  return sorted;
}

/// `key "heads" is 0`, and what follows from it.
std::string told(const DecidingKey &key, bool isFirst) {
  const std::string parameter = "parameter " + inQuotes(key.parameter);
  std::string text = "key " + inQuotes(key.key) + " is ";
  if (key.isMissing) {
    return text + (isFirst ? "missing, and " : "missing: ") + parameter +
           " is " + key.value + " without it";
  }
  return text + key.value + (isFirst ? ", which decides " : " and decides ") +
         parameter;
}

} // namespace

KeyErrors tellAtKeys(const reader::Diagnostics &errors, const ModelSpec &spec,
                     const DecidingKeys &keys,
                     const std::vector<ParameterOverride> &overrides) {
  constexpr size_t mostNoted = 4;
  KeyErrors result{reader::Diagnostics(keys.source),
                   reader::Diagnostics(errors.sharedSource())};
  Search search(spec, keys, overrides);
  std::set<std::pair<std::string, size_t>> told;
  for (const Diagnostic &error : errors.all()) {
    std::vector<const DecidingKey *> found = search.keysOf(error);
    if (found.empty()) {
      result.others.add(error);
      continue;
    }
    const DecidingKey &key = *found[0];
    // What follows from one key is one mistake.
    if (!told.insert({key.key, key.range.begin}).second) {
      continue;
    }
    std::string message = frontend::told(key, true) + ": " + error.message;
    Diagnostic &added =
        key.hasPlace ? result.atKeys.error(key.range, message, key.pointer)
                     : result.atKeys.errorElsewhere(message);
    for (size_t i = 1; i < std::min(found.size(), mostNoted); ++i) {
      added.notes.push_back({frontend::told(*found[i], false), std::nullopt});
    }
    reader::Position place = errors.source().position(error.range.begin);
    added.notes.push_back(
        {"this is said at " + reader::printable(errors.source().name()) + ":" +
             std::to_string(place.line) + ":" + std::to_string(place.column),
         std::nullopt});
  }
  return result;
}

} // namespace hova::frontend
