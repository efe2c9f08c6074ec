//===- VocabularyTest.cpp - What cannot be added to the language ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/AttentionKind.h"

#include <algorithm>
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

/// A kind that could be added.
AttentionKind kind() {
  AttentionKind kind;
  kind.name = "mine";
  kind.attributes = {attributes::integer("rank", "4", "")};
  kind.build = [](LayerContext &, const AttentionInputs &) { return poison; };
  return kind;
}

/// What is wrong with a kind; nothing is added.
std::string wrongKind(const AttentionKind &kind) {
  size_t before = attentionKinds().size();
  size_t weights = findOperator("attention")->weights.size();
  std::string message = addAttentionKind(kind);
  EXPECT_EQ(attentionKinds().size(), before) << "it was added";
  EXPECT_EQ(findOperator("attention")->weights.size(), weights);
  return message;
}

TEST(AttentionKinds, refuses_a_name_that_no_word_can_be) {
  for (const char *name : {"", "my-kind", "2d", "a b"}) {
    AttentionKind wanted = kind();
    wanted.name = name;
    EXPECT_EQ(wrongKind(wanted),
              "a kind of attention is named by a letter, then letters, digits "
              "and underscores, got '" +
                  std::string(name) + "'");
  }
}

TEST(AttentionKinds, refuses_a_name_that_is_taken) {
  AttentionKind wanted = kind();
  wanted.name = "cosine";
  EXPECT_EQ(wrongKind(wanted), "there is a kind of attention 'cosine' already");
}

TEST(AttentionKinds, refuses_a_kind_without_a_builder) {
  AttentionKind wanted = kind();
  wanted.build = nullptr;
  EXPECT_EQ(wrongKind(wanted), "the kind of attention 'mine' has no builder");
}

TEST(AttentionKinds, refuses_an_attribute_that_has_a_meaning) {
  // Of every layer, of every attention, a value, and of another kind but no
  // integer there.
  for (const char *key : {"repeat", "scale", "key_valid", "kernel"}) {
    AttentionKind wanted = kind();
    wanted.attributes[0].name = key;
    EXPECT_EQ(wrongKind(wanted),
              "the kind of attention 'mine' gives the key '" +
                  std::string(key) + "' a second meaning");
  }
}

TEST(AttentionKinds, are_offered_where_their_attributes_have_room) {
  auto offers = [](const char *op, const std::string &kind) {
    const std::vector<std::string> &words =
        findOperator(op)->attribute("kind")->words;
    return std::find(words.begin(), words.end(), kind) != words.end();
  };
  for (const AttentionKind &kind : attentionKinds()) {
    EXPECT_TRUE(offers("attention", kind.name)) << kind.name;
    EXPECT_TRUE(offers("multi_head_attention", kind.name)) << kind.name;
    // "hidden" is the width of its feed-forward.
    EXPECT_EQ(offers("omni_attention", kind.name), kind.name != "additive");
  }
  const OperatorInfo &omni = *findOperator("omni_attention");
  EXPECT_EQ(omni.attribute("feature_eps")->defaultText, "1e-6; 1e-3 (relu)");
  EXPECT_EQ(omni.attribute("eps")->defaultText, "1e-6");
}

} // namespace
