//===- Json.h - A JSON tree that knows its places -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// JSON libraries give positions for syntax errors only, take the last of two
// equal keys, and round numbers. So the tree is built here, from the callbacks
// of a streaming parser, in one pass that also enforces the limits: whoever
// reads a tree may rely on its size, its depth, and every integer being exact.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_READER_JSON_H
#define HOVA_FRONTEND_READER_JSON_H

#include "frontend/reader/Diagnostics.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hova::reader {

struct Node;

/// One `"key": value` of an object.
struct Member {
  std::string key;
  Range keyRange;
  Node *value = nullptr;
  /// An earlier member has the same key; that one counts.
  bool repeated = false;
};

/// One JSON value.
struct Node {
  enum class Kind : uint8_t {
    Null,
    Boolean,
    Integer,
    Real,
    String,
    Array,
    Object
  };

  Kind kind = Kind::Null;
  bool boolean = false;
  /// Position among the parent's elements or members.
  uint32_t index = 0;
  /// From the first to after the last byte of the value.
  Range range;
  int64_t integer = 0;
  /// Set for integers too.
  double real = 0;
  std::string text;
  std::vector<Node *> elements;
  std::vector<Member> members;

  Node *parent = nullptr;

  bool is(Kind other) const { return kind == other; }
  bool isNumber() const { return kind == Kind::Integer || kind == Kind::Real; }

  /// The member called `key`, or null.
  const Member *find(std::string_view key) const;

  /// The value of the member called `key`, or null.
  const Node *get(std::string_view key) const;

  /// The JSON pointer (RFC 6901) of this value in its tree.
  std::string pointer() const;
};

/// What a value is called in a message: "a string", "an object".
const char *describe(Node::Kind kind);

/// Sizes that no description needs and every attack does.
struct Limits {
  size_t bytes = size_t(16) << 20;
  size_t depth = 64;
  size_t nodes = 500000;
  size_t stringBytes = 4096;
  /// White space in a row: the parser keeps it for its messages.
  size_t blankBytes = size_t(1) << 20;
};

/// A tree; owns its nodes.
class Document {
public:
  const Node *root() const { return top; }

private:
  friend class TreeBuilder;
  std::deque<Node> nodes;
  Node *top = nullptr;
};

/// Parses the source of `diagnostics`. Returns null after a mistake that hides
/// the rest of the file; a repeated key is reported, and the first one kept.
std::unique_ptr<Document> parseJson(Diagnostics &diagnostics,
                                    const Limits &limits = Limits());

} // namespace hova::reader

#endif // HOVA_FRONTEND_READER_JSON_H
