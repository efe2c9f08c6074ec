//===- ReadParser.cpp - Elements of values in scores ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `bias[head, query - key]`, `table.weight[key]`, `encoder[index].bias[head]`:
// the name of a value, whose last brackets have an index for each of its axes.
//
//===----------------------------------------------------------------------===//

#include "frontend/expression/ExpressionParser.h"

namespace hova::frontend {

bool ExpressionParser::namesValue() {
  skipSpace();
  return at < text.size() && (text[at] == '[' || text[at] == '.');
}

/// Makes brackets that are not the last ones what chooses one of the results of
/// a repetition, which nothing of a single score can do.
void ExpressionParser::choice(Reference::Accessor &accessor, NodePtr index,
                              size_t firstUse, size_t nodesBefore) {
  accessor.kind = Reference::Accessor::Kind::Index;
  Expression expression;
  expression.root = std::move(index);
  expression.nodes = nodes - nodesBefore;
  expression.uses.assign(uses.begin() + static_cast<std::ptrdiff_t>(firstUse),
                         uses.end());
  uses.resize(firstUse);
  accessor.first = std::move(expression);
}

ExpressionParser::NodePtr ExpressionParser::elementOf(std::string base,
                                                      size_t begin) {
  auto reference = std::make_shared<Reference>();
  reference->base = std::move(base);
  reference->begin = begin;
  reference->end = at;
  if (++depth > maxDepth) {
    return fail(tooDeep());
  }
  while (true) {
    Reference::Accessor accessor;
    skipSpace();
    accessor.begin = at;
    if (take('.')) {
      accessor.member = takeName();
      if (accessor.member.empty()) {
        return failHere("the name of a layer after '.'");
      }
      accessor.end = reference->end = at;
      reference->accessors.push_back(std::move(accessor));
      continue;
    }
    if (!take('[')) {
      return failHere("'[' and an index for each axis");
    }
    size_t firstUse = uses.size(), before = nodes, reads = references.size();
    std::vector<NodePtr> indices = list();
    if (indices.empty()) {
      return nullptr;
    }
    if (!take(']')) {
      return failHere("',' or ']'");
    }
    accessor.end = at;
    if (!namesValue()) {
      --depth;
      at = accessor.end;
      auto node = std::make_shared<Expression::Node>(
          *make(Expression::Node::Operator::Read, begin, std::move(indices)));
      node->reference = reference;
      references.push_back(std::move(reference));
      return node;
    }
    if (indices.size() != 1 || references.size() != reads) {
      error = {accessor.begin, accessor.end,
               "what chooses one of several results is one expression of "
               "parameters, arguments and index"};
      return nullptr;
    }
    choice(accessor, std::move(indices[0]), firstUse, before);
    reference->end = accessor.end;
    reference->accessors.push_back(std::move(accessor));
  }
}

} // namespace hova::frontend
