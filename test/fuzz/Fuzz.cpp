//===- Fuzz.cpp - One target under libFuzzer ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Bytes changed at random rarely leave JSON behind. So half of the changes are
// of its structure: a value takes the place of another, is repeated, or goes.
//
//===----------------------------------------------------------------------===//

#include "Targets.h"
#include "frontend/reader/Json.h"

#include <cstring>
#include <random>

using namespace hova;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::HOVA_FUZZ_TARGET(
      std::string_view(reinterpret_cast<const char *>(data), size));
  return 0;
}

namespace {

void collect(const reader::Node &node,
             std::vector<const reader::Node *> &nodes) {
  nodes.push_back(&node);
  for (const reader::Node *element : node.elements) {
    collect(*element, nodes);
  }
  for (const reader::Member &member : node.members) {
    collect(*member.value, nodes);
  }
}

/// `text` with one value changed; empty if it is not JSON.
std::string changed(const std::string &text, std::minstd_rand &random) {
  reader::Diagnostics quiet(std::make_shared<reader::Source>("", text));
  std::unique_ptr<reader::Document> document = reader::parseJson(quiet);
  if (!document) {
    return "";
  }
  std::vector<const reader::Node *> nodes;
  collect(*document->root(), nodes);
  auto any = [&](size_t count) { return random() % count; };
  const reader::Node &victim = *nodes[any(nodes.size())];
  auto textOf = [&](const reader::Node &node) {
    return text.substr(node.range.begin, node.range.end - node.range.begin);
  };
  static const char *const values[] = {
      "0",     "-1",       "1",     "2147483647", "9223372036854775807",
      "1e308", "true",     "null",  "[]",         "{}",
      "\"\"",  "\"x\"",    "\"n\"", "0.5",        "false",
      "[0]",   "\"x[*]\"", "1e-45"};
  bool isElement =
      victim.parent && victim.parent->is(reader::Node::Kind::Array);
  std::string instead;
  switch (any(4)) {
  case 0:
    instead = values[any(std::size(values))];
    break;
  case 1:
    instead = textOf(*nodes[any(nodes.size())]);
    break;
  case 2:
    instead = isElement ? textOf(victim) + ", " + textOf(victim)
                        : "[" + textOf(victim) + "]";
    break;
  default:
    if (isElement && victim.parent->elements.size() > 1) {
      // With the comma beside it.
      bool first = victim.index == 0;
      const auto &all = victim.parent->elements;
      size_t begin =
          first ? victim.range.begin : all[victim.index - 1]->range.end;
      size_t end = first ? all[1]->range.begin : victim.range.end;
      return text.substr(0, begin) + text.substr(end);
    }
  }
  return text.substr(0, victim.range.begin) + instead +
         text.substr(victim.range.end);
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 2 == 0) {
    return LLVMFuzzerMutate(data, size, most);
  }
  std::string text(reinterpret_cast<const char *>(data), size);
  // Targets of two parts have them around a line.
  size_t split = text.find("\n---\n");
  bool second = split != text.npos && random() % 2 == 0;
  std::string part = second ? text.substr(split + 5) : text.substr(0, split);
  std::string other = split == text.npos ? ""
                      : second           ? text.substr(0, split + 5)
                                         : text.substr(split);
  part = changed(part, random);
  std::string result = second ? other + part : part + other;
  if (part.empty() || result.size() > most) {
    return LLVMFuzzerMutate(data, size, most);
  }
  std::memcpy(data, result.data(), result.size());
  return result.size();
}
