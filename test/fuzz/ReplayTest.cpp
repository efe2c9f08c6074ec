//===- ReplayTest.cpp - The targets on inputs that once meant something ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Fuzzing takes time and luck; this takes neither. Every seed, what fuzzing
// found, and every shortened or doubled form of the small ones.
//
//===----------------------------------------------------------------------===//

#include "Targets.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <vector>

using namespace hova::fuzz;

namespace {

std::vector<std::string> seeds(const std::string &target) {
  std::vector<std::string> inputs;
  std::filesystem::path folder =
      std::filesystem::path(HOVA_FUZZ_SEEDS) / target;
  for (const auto &file : std::filesystem::directory_iterator(folder)) {
    std::ostringstream content;
    content << std::ifstream(file.path(), std::ios::binary).rdbuf();
    inputs.push_back(content.str());
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

class Replay : public testing::TestWithParam<std::pair<const char *, Target>> {
};

TEST_P(Replay, survives_the_seeds) {
  auto [name, target] = GetParam();
  std::vector<std::string> inputs = seeds(name);
  ASSERT_FALSE(inputs.empty());
  for (const std::string &input : inputs) {
    target(input);
    size_t step = std::max<size_t>(1, input.size() / 40);
    for (size_t cut = 0; cut < input.size(); cut += step) {
      target(std::string_view(input).substr(0, cut));
      target(input.substr(0, cut) +
             input.substr(std::min(cut + step, input.size())));
      target(input.substr(0, cut) + input.substr(cut / 2));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Replay, testing::ValuesIn(targets),
                         [](const auto &info) { return info.param.first; });

} // namespace
