//===- ShellWordTest.cpp - Words that a shell reads back ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/ShellWord.h"
#include "llvm/Support/Program.h"
#include <cstdio>
#include <gtest/gtest.h>

namespace {

/// What bash makes of `word`: the judge is the shell itself.
std::string readBack(const std::string &word) {
  std::string command =
      "exec bash -c " + hova::shellWord("printf '<%s>' " + word) + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c; (c = getc(pipe)) != EOF;) {
    text += static_cast<char>(c);
  }
  return pclose(pipe) == 0 ? text : "the shell failed: " + text;
}

TEST(ShellWord, is_read_back_as_it_was) {
  for (const char *word : {"",
                           "model.json",
                           "--dump-ir=a/b",
                           "a b",
                           "it's",
                           "\"x\"",
                           "$HOME",
                           "`id`",
                           "before-fuse(my-pass{a=1 b=2})",
                           "a;b|c&d",
                           "*?[x]",
                           "~",
                           "#x",
                           "!x",
                           "a\\b",
                           "{a,b}",
                           "a\nb",
                           "\t'\\",
                           "\033[31m",
                           "gr\u00f6\u00dfe"}) {
    EXPECT_EQ(readBack(hova::shellWord(word)), "<" + std::string(word) + ">");
  }
}

TEST(ShellWord, leaves_plain_words_alone_and_is_one_line) {
  EXPECT_EQ(hova::shellWord("--weights=a/b.c"), "--weights=a/b.c");
  EXPECT_EQ(hova::shellWord("gr\u00f6\u00dfe"), "gr\u00f6\u00dfe");
  EXPECT_EQ(hova::shellWord("a b"), "'a b'");
  EXPECT_EQ(hova::shellWord("a\nb"), "$'a\\012b'");
}

} // namespace
