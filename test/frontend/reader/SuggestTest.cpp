//===- SuggestTest.cpp - The word that was probably meant -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/reader/Suggest.h"
#include "frontend/description/ForeignWords.h"
#include "frontend/description/Vocabulary.h"

#include <gtest/gtest.h>
#include <random>

using namespace hova;

namespace {

std::vector<std::string> words() {
  std::vector<std::string> all;
  for (const frontend::OperatorInfo &info : frontend::vocabulary()) {
    all.push_back(info.name);
  }
  return all;
}

TEST(Suggest, counts_single_edits_and_swaps_as_one) {
  EXPECT_EQ(reader::editDistance("width", "width", 3), 0u);
  EXPECT_EQ(reader::editDistance("widht", "width", 3), 1u);
  EXPECT_EQ(reader::editDistance("wdth", "width", 3), 1u);
  EXPECT_EQ(reader::editDistance("wiidth", "width", 3), 1u);
  EXPECT_EQ(reader::editDistance("wodth", "width", 3), 1u);
  EXPECT_EQ(reader::editDistance("width", "heads", 3), 4u);
  EXPECT_EQ(reader::editDistance("", "abcdef", 3), 4u);
}

TEST(Suggest, finds_nearly_every_word_after_a_single_edit) {
  std::vector<std::string> candidates = words();
  size_t tried = 0, found = 0;
  for (const std::string &word : candidates) {
    for (size_t i = 0; i < word.size(); ++i) {
      std::string dropped = word, replaced = word, swapped = word;
      dropped.erase(i, 1);
      replaced[i] = replaced[i] == 'q' ? 'z' : 'q';
      std::swap(swapped[i], swapped[i > 0 ? i - 1 : i]);
      for (const std::string &typo : {dropped, replaced, swapped}) {
        ++tried;
        found += reader::suggest(typo, candidates) == word;
      }
    }
  }
  EXPECT_GE(found, tried * 95 / 100) << found << " of " << tried;
}

TEST(Suggest, finds_nothing_for_random_words) {
  std::mt19937 random(0);
  for (int i = 0; i < 1000; ++i) {
    std::string word;
    for (size_t length = 6 + random() % 8; word.size() < length;) {
      word += static_cast<char>('a' + random() % 26);
    }
    EXPECT_EQ(reader::suggest(word, words()), std::nullopt) << word;
  }
}

TEST(Suggest, ignores_case_and_separators) {
  EXPECT_EQ(reader::suggest("Layer-Norm", words()), "layer_norm");
}

TEST(Suggest, knows_the_words_of_other_libraries) {
  EXPECT_EQ(frontend::canonicalWord("num_attention_heads"), "heads");
  EXPECT_EQ(frontend::canonicalWord("hidden_size"), "width");
  EXPECT_EQ(frontend::canonicalWord("nothing_like_this"), "");
}

} // namespace
