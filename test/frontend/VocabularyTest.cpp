//===- VocabularyTest.cpp - Operators that cannot be added ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/description/Vocabulary.h"

#include <gtest/gtest.h>

using namespace hova::frontend;

namespace {

/// An operator that could be added.
OperatorInfo mine() {
  OperatorInfo info;
  info.name = "mine";
  info.roles = {{"input", true, false, ""}};
  info.attributes.emplace_back();
  info.attributes.back().name = "factor";
  return info;
}

/// What is wrong with an operator; nothing is added.
std::string wrong(const OperatorInfo &info) {
  size_t before = vocabulary().size();
  std::string message = addToVocabulary(info);
  EXPECT_EQ(vocabulary().size(), before) << "it was added";
  return message;
}

TEST(Vocabulary, refuses_a_name_that_no_layer_can_have) {
  for (const char *name : {"", "my-op", "2d", "_x", "a b"}) {
    OperatorInfo info = mine();
    info.name = name;
    EXPECT_EQ(wrong(info), "an operator is named by a letter, then letters, "
                           "digits and underscores, got '" +
                               std::string(name) + "'");
  }
}

TEST(Vocabulary, refuses_a_name_that_is_taken) {
  OperatorInfo info = mine();
  info.name = "linear";
  EXPECT_EQ(wrong(info), "there is an operator 'linear' already");
}

TEST(Vocabulary, refuses_keys_that_every_layer_has) {
  for (const char *key : {"name", "op", "block", "repeat", "require", "init"}) {
    OperatorInfo info = mine();
    info.attributes[0].name = key;
    EXPECT_EQ(wrong(info), "operator 'mine' gives the key '" +
                               std::string(key) + "' a second meaning");
  }
}

TEST(Vocabulary, refuses_one_key_for_a_value_and_an_attribute) {
  OperatorInfo info = mine();
  info.attributes[0].name = "input";
  EXPECT_EQ(wrong(info),
            "operator 'mine' gives the key 'input' a second meaning");
}

} // namespace
