//===- Json.cpp - A JSON tree that knows its places -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The parser reads through an iterator that counts bytes. In a callback the
// count is the end of the token: exact for keys, strings, literals and
// brackets, one too many for numbers, which are scanned again. No callback
// tells a start: it is the first byte after the last token that is neither
// white space nor `,` nor `:`.
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Json.h"
#include "frontend/reader/NotJson.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

namespace hova::reader {

const Member *Node::find(std::string_view key) const {
  for (const Member &member : members) {
    if (member.key == key) {
      return &member;
    }
  }
  return nullptr;
}

const Node *Node::get(std::string_view key) const {
  const Member *member = find(key);
  return member ? member->value : nullptr;
}

std::string Node::pointer() const {
  if (!parent) {
    return "";
  }
  std::string part;
  if (parent->is(Kind::Array)) {
    part = std::to_string(index);
  } else {
    for (char c : parent->members[index].key) {
      part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
  }
  return parent->pointer() + "/" + part;
}

const char *describe(Node::Kind kind) {
  switch (kind) {
  case Node::Kind::Null:
    return "null";
  case Node::Kind::Boolean:
    return "a boolean";
  case Node::Kind::Integer:
    return "an integer";
  case Node::Kind::Real:
    return "a number";
  case Node::Kind::String:
    return "a string";
  case Node::Kind::Array:
    return "a list";
  case Node::Kind::Object:
    return "an object";
  }
  return "a value";
}

namespace {

/// An input iterator that counts what was read.
struct CountingIterator {
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char *;
  using reference = const char &;
  using iterator_category = std::input_iterator_tag;

  const char *at;
  size_t *count;

  reference operator*() const { return *at; }
  CountingIterator &operator++() {
    ++at;
    ++*count;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator &other) const {
    return at == other.at;
  }
  bool operator!=(const CountingIterator &other) const {
    return at != other.at;
  }
};

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Where `text` has more than `most` bytes of white space in a row, or its end.
size_t longBlank(std::string_view text, size_t most) {
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!isSpace(text[at])) {
      begin = at + 1;
    } else if (at - begin == most) {
      return begin;
    }
  }
  return text.size();
}

/// The end of the number that starts at `at`, by the grammar of JSON: `01` is
/// two numbers.
size_t numberEnd(std::string_view text, size_t at) {
  auto digits = [&] {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      ++at;
    }
  };
  auto skip = [&](std::string_view any) {
    bool found =
        at < text.size() && any.find(text[at]) != std::string_view::npos;
    at += found;
    return found;
  };
  skip("-");
  if (!skip("0")) {
    digits();
  }
  if (skip(".")) {
    digits();
  }
  if (skip("eE")) {
    skip("+-");
    digits();
  }
  return at;
}

} // namespace

/// Builds the tree from the parser's callbacks.
class TreeBuilder {
public:
  TreeBuilder(Diagnostics &diagnostics, const Limits &limits)
      : diagnostics(diagnostics), text(diagnostics.source().text()),
        limits(limits) {}

  bool parse();
  std::unique_ptr<Document> take() { return std::move(document); }

  // The callbacks, under the names that the parser calls.
  bool null() { return add(Node::Kind::Null) != nullptr; }
  bool boolean(bool value);
  bool number_integer(int64_t value);
  bool number_unsigned(uint64_t value);
  bool number_float(double value, const std::string &spelling);
  bool string(std::string &value);
  bool binary(nlohmann::json::binary_t &) { return false; }
  bool start_object(size_t) { return open(Node::Kind::Object); }
  bool start_array(size_t) { return open(Node::Kind::Array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string &name);
  bool parse_error(size_t read, const std::string &token,
                   const nlohmann::detail::exception &exception);

private:
  size_t tokenStart() const;
  Node *add(Node::Kind kind);
  Node *addNumber(Node::Kind kind);
  bool open(Node::Kind kind);
  bool close();
  bool fail(Range range, const std::string &message);
  bool checkString(Range range, const std::string &value);
  void markRepeated(Node &object);

  Diagnostics &diagnostics;
  std::string_view text;
  const Limits limits;
  std::unique_ptr<Document> document = std::make_unique<Document>();
  std::vector<Node *> open_;
  size_t count = 0;
  /// The end of the last token.
  size_t last = 0;
};

bool TreeBuilder::parse() {
  if (text.size() > limits.bytes) {
    return fail({0, 0}, "the file has more than " +
                            std::to_string(limits.bytes) +
                            " bytes, the limit of a description");
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") {
    return fail({0, 3}, "the file starts with a byte order mark; save it as "
                        "UTF-8 without one");
  }
  if (size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return fail({nul, nul + 1}, "the file contains a NUL byte");
  }
  if (size_t at = longBlank(text, limits.blankBytes); at < text.size()) {
    return fail({at, at + 1}, "more than " + std::to_string(limits.blankBytes) +
                                  " bytes of white space in a row");
  }
  CountingIterator first{text.data(), &count};
  CountingIterator end{text.data() + text.size(), &count};
  return nlohmann::json::sax_parse(first, end, this) && document->top;
}

bool TreeBuilder::fail(Range range, const std::string &message) {
  std::string pointer = open_.empty() ? "" : open_.back()->pointer();
  diagnostics.error(range, message, std::move(pointer));
  return false;
}

size_t TreeBuilder::tokenStart() const {
  size_t start = last;
  while (start < text.size() &&
         (isSpace(text[start]) || text[start] == ',' || text[start] == ':')) {
    ++start;
  }
  return start;
}

Node *TreeBuilder::add(Node::Kind kind) {
  Range range{tokenStart(), count};
  if (document->nodes.size() >= limits.nodes) {
    fail(range, "more than " + std::to_string(limits.nodes) + " values");
    return nullptr;
  }
  Node &node = document->nodes.emplace_back();
  node.kind = kind;
  node.range = range;
  last = count;
  if (open_.empty()) {
    document->top = &node;
    return &node;
  }
  Node *parent = open_.back();
  node.parent = parent;
  if (parent->is(Node::Kind::Array)) {
    node.index = static_cast<uint32_t>(parent->elements.size());
    parent->elements.push_back(&node);
  } else {
    node.index = static_cast<uint32_t>(parent->members.size() - 1);
    parent->members.back().value = &node;
  }
  return &node;
}

Node *TreeBuilder::addNumber(Node::Kind kind) {
  Node *node = add(kind);
  if (node) {
    node->range.end = last = numberEnd(text, node->range.begin);
  }
  return node;
}

bool TreeBuilder::boolean(bool value) {
  Node *node = add(Node::Kind::Boolean);
  if (node) {
    node->boolean = value;
  }
  return node != nullptr;
}

bool TreeBuilder::number_integer(int64_t value) {
  Node *node = addNumber(Node::Kind::Integer);
  if (node) {
    node->integer = value;
    node->real = static_cast<double>(value);
  }
  return node != nullptr;
}

bool TreeBuilder::number_unsigned(uint64_t value) {
  if (value > static_cast<uint64_t>(INT64_MAX)) {
    size_t start = tokenStart();
    return fail({start, count}, "the integer does not fit into 64 bits");
  }
  return number_integer(static_cast<int64_t>(value));
}

bool TreeBuilder::number_float(double value, const std::string &spelling) {
  // Integers beyond 64 bits arrive here as rounded numbers.
  if (spelling.find_first_of(".eE") == std::string::npos) {
    size_t start = tokenStart();
    return fail({start, start + spelling.size()},
                "the integer does not fit into 64 bits");
  }
  size_t mantissa = spelling.find_first_of("eE");
  bool written = spelling.substr(0, mantissa).find_first_of("123456789") !=
                 std::string::npos;
  if (value == 0 && written) {
    size_t start = tokenStart();
    return fail({start, start + spelling.size()},
                "the number is too small for a double");
  }
  Node *node = addNumber(Node::Kind::Real);
  if (node) {
    node->real = value;
  }
  return node != nullptr;
}

bool TreeBuilder::checkString(Range range, const std::string &value) {
  if (value.size() > limits.stringBytes) {
    return fail(range, "a string of " + std::to_string(value.size()) +
                           " bytes, more than the limit of " +
                           std::to_string(limits.stringBytes));
  }
  return true;
}

bool TreeBuilder::string(std::string &value) {
  Node *node = add(Node::Kind::String);
  if (!node || !checkString(node->range, value)) {
    return false;
  }
  node->text = std::move(value);
  return true;
}

bool TreeBuilder::open(Node::Kind kind) {
  if (open_.size() >= limits.depth) {
    size_t start = tokenStart();
    return fail({start, start + 1}, "nested deeper than " +
                                        std::to_string(limits.depth) +
                                        " levels");
  }
  Node *node = add(kind);
  if (node) {
    open_.push_back(node);
  }
  return node != nullptr;
}

bool TreeBuilder::close() {
  open_.back()->range.end = count;
  last = count;
  markRepeated(*open_.back());
  open_.pop_back();
  return true;
}

/// Sorted, equal keys are neighbours: that takes no memory while the object is
/// read, and most objects are small.
void TreeBuilder::markRepeated(Node &object) {
  std::vector<Member> &members = object.members;
  std::vector<uint32_t> order(members.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    int different = members[a].key.compare(members[b].key);
    return different != 0 ? different < 0 : a < b;
  });
  for (size_t i = 1, first = 0; i < order.size(); ++i) {
    Member &member = members[order[i]];
    const Member &known = members[order[first]];
    if (member.key != known.key) {
      first = i;
      continue;
    }
    member.repeated = true;
    diagnostics
        .error(member.keyRange,
               "the key " + inQuotes(member.key) + " is given twice",
               diagnostics.isFull() ? "" : object.pointer())
        .notes.push_back({"first given here", known.keyRange});
  }
}

bool TreeBuilder::key(std::string &name) {
  Range range{tokenStart(), count};
  last = count;
  if (!checkString(range, name)) {
    return false;
  }
  for (char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return fail(range, "a control character in a key");
    }
  }
  Node *object = open_.back();
  object->members.push_back({std::move(name), range, nullptr, false});
  return true;
}

/// The readable part of the library's message: "unexpected ']'; expected ...".
static std::string readable(std::string message) {
  if (size_t dash = message.find(" - "); dash != std::string::npos) {
    message = message.substr(dash + 3);
  }
  size_t read = message.find("; last read: ");
  size_t expected = message.rfind("; expected ");
  std::string tail;
  if (expected != std::string::npos && expected > read) {
    tail = message.substr(expected);
  }
  if (read != std::string::npos) {
    message = message.substr(0, read) + tail;
  }
  // A value ended, so that a comma would do as well.
  for (const char *end : {"expected '}'", "expected ']'"}) {
    size_t size = std::string_view(end).size();
    if (message.size() >= size &&
        message.compare(message.size() - size, size, end) == 0) {
      message.insert(message.size() - 3, "',' or ");
    }
  }
  return printable(message);
}

bool TreeBuilder::parse_error(size_t read, const std::string &token,
                              const nlohmann::detail::exception &exception) {
  std::string what = exception.what();
  size_t start = tokenStart();
  if (exception.id == 406) {
    return fail({start, start + token.size()},
                "the number is too large for a double");
  }
  if (read > text.size() && what.find("last read") == std::string::npos) {
    return fail({text.size(), text.size()}, "the file ends too early");
  }
  if (what.find("unexpected end of input") != std::string::npos) {
    return fail({text.size(), text.size()},
                "the file ends too early" +
                    (open_.empty()
                         ? std::string()
                         : std::string(open_.back()->is(Node::Kind::Object)
                                           ? "; an object is still open"
                                           : "; a list is still open")));
  }
  bool wantsKey = what.find("expected string literal") != std::string::npos;
  if (auto foreign = recognizeNotJson(text, start, wantsKey)) {
    Diagnostic &error =
        diagnostics.error(foreign->range, foreign->message,
                          open_.empty() ? "" : open_.back()->pointer());
    if (foreign->replacement) {
      error.fixIts.push_back({foreign->range, *foreign->replacement});
    }
    return false;
  }
  size_t at = read > 0 ? std::min(read - 1, text.size()) : 0;
  // A misplaced string, literal or number was read to its end: point at its
  // start. A misplaced `,` or `:` is the byte just read.
  bool isToken = what.find("unexpected") != std::string::npos;
  bool isSeparator = at < text.size() && (text[at] == ',' || text[at] == ':');
  Range range{at, at + 1};
  if (isToken &&
      !(isSeparator && what.find("unexpected ','") != std::string::npos) &&
      !(isSeparator && what.find("unexpected ':'") != std::string::npos)) {
    range = {start, std::max(start + 1, std::min(read, text.size()))};
  }
  return fail(range, readable(std::move(what)));
}

std::unique_ptr<Document> parseJson(Diagnostics &diagnostics,
                                    const Limits &limits) {
  TreeBuilder builder(diagnostics, limits);
  if (!builder.parse()) {
    return nullptr;
  }
  return builder.take();
}

} // namespace hova::reader
