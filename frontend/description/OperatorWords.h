//===- OperatorWords.h - What the vocabularies of families share -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A family of operators is a file that lists what its layers may say; it begins
// `using namespace words`. Vocabulary.cpp joins the lists.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_DESCRIPTION_OPERATORWORDS_H
#define HOVA_FRONTEND_DESCRIPTION_OPERATORWORDS_H

#include "frontend/description/Vocabulary.h"

namespace hova::frontend {

std::vector<OperatorInfo> denseOperators();
std::vector<OperatorInfo> tokenOperators();
std::vector<OperatorInfo> attentionOperators();

namespace words {

using namespace attributes;
using Kind = AttributeInfo::Kind;
using Attributes = std::vector<AttributeInfo>;
using Roles = std::vector<RoleInfo>;

/// The element-wise functions.
const std::vector<std::string> &activations();

AttributeInfo axis();
AttributeInfo gridHeight();
RoleInfo input(std::string summary);

/// An attribute that may be one of some words instead.
AttributeInfo orWord(AttributeInfo info, std::vector<std::string> words);

/// An operator whose fusion can be demanded.
OperatorInfo fusable(OperatorInfo op, std::string site = "");

template <typename T>
std::vector<T> joined(std::vector<T> a, const std::vector<T> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

} // namespace words

} // namespace hova::frontend

#endif // HOVA_FRONTEND_DESCRIPTION_OPERATORWORDS_H
